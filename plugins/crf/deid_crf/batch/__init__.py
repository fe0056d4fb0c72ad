"""A CRF that learns from another detector's labels on the very notes that it is to read, blended
with a given one.
"""

from deid_crf.batch.detector import BatchCrfDetector
from deid_crf.batch.trainer import BatchCrfTrainer

__all__ = ["BatchCrfDetector", "BatchCrfTrainer"]
