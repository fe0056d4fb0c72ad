"""Commands for annotated corpora: counted, mended, and what they train."""
