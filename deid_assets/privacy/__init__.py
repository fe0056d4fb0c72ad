"""Audits of what de-identified text still tells. Nothing is imported here."""
