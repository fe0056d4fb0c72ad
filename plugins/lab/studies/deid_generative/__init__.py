"""Generative detector.

A causal language model rewrites the note, and its output is held to the note's own words.
"""

from deid_generative.detector import GenerativeDetector
from deid_generative.trainer import GenerativeTrainer

__all__ = ["GenerativeDetector", "GenerativeTrainer"]
