"""Bi-LSTM-CRF tagger through Flair. Importing this loads neither Flair nor PyTorch."""

from deid_flair.detector import FlairDetector
from deid_flair.trainer import FlairTrainer

__all__ = ["FlairDetector", "FlairTrainer"]
