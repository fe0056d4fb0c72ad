"""Scores how guessable each word of a note is to a masked language model, and redacts what
is not.
"""

from deid_zero_shot.detector import ZeroShotDetector
from deid_zero_shot.trainer import ZeroShotTrainer

__all__ = ["ZeroShotDetector", "ZeroShotTrainer"]
