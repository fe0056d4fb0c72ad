"""Audits: what a release, or a model trained on it, still tells; plugins do the attacks."""
