"""Commands that measure what is missed."""
