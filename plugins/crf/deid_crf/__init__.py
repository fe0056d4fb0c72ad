"""A linear-chain CRF as a tagger: trained with CRFsuite, run with NumPy."""

from deid_crf.detector import CrfDetector, Marginals
from deid_crf.trainer import CrfTrainer

__all__ = ["CrfDetector", "CrfTrainer", "Marginals"]
