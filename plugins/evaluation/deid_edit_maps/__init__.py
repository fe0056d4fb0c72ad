"""Annotations carried over to redacted notes, tags filled, and twins of a corpus."""
