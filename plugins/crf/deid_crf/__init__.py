"""A linear-chain CRF as a tagger.

Trained on whole corpora at once with sparse matrices, run with NumPy.
"""

from deid_crf.batch import BatchCrfDetector, BatchCrfTrainer
from deid_crf.detector import CrfDetector, Marginals
from deid_crf.trainer import CrfTrainer

__all__ = ["BatchCrfDetector", "BatchCrfTrainer", "CrfDetector", "CrfTrainer", "Marginals"]
