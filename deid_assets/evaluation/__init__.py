"""Statistics of evaluation: what chance alone may do to a score, and to the difference of two."""

from deid_assets.evaluation.resampling import compare

__all__ = ["compare"]
