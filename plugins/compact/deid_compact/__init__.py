"""A small tagger that comes trained."""

from deid_compact.detector import CompactDetector
from deid_compact.trainer import CompactTrainer

__all__ = ["CompactDetector", "CompactTrainer"]
