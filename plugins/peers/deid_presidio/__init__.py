"""Presidio's pattern recognizers as a detector: no model, no network, no silent timeout."""

from deid_presidio.detector import ENTITIES, PresidioDetector

__all__ = ["ENTITIES", "PresidioDetector"]
