"""Pages and their tables."""
