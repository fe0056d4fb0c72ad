"""The domain: notes, spans, categories, detection, resolution and redaction, on the standard
library alone.
"""
