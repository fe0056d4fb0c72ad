"""Structured tables of the notes' patients: read, checked, and rewritten under a release's key."""
