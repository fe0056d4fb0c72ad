"""Encoders of the BERT kind as taggers: trained, run and exported.

Importing this loads no PyTorch.
"""

from deid_transformers.detector import TransformersDetector
from deid_transformers.trainer import TransformersTrainer

__all__ = ["TransformersDetector", "TransformersTrainer"]
