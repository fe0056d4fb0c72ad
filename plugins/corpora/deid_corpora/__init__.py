"""Commands for annotated corpora: counted, corrected, and what they train."""
