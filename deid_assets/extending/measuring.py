"""Ranges of characters, intervals of what is measured, and the measures of rewritten notes."""

from deid_assets.evaluation.folds import Alternative, MannWhitney, corrected, mann_whitney
from deid_assets.evaluation.intervals import Range, is_touched, union, wilson
from deid_assets.evaluation.resampling import auc, percentiles, resampled, totals_of_draws
from deid_assets.evaluation.rewriting import Rewritten, StudyTable, plateau

__all__ = [
    "Alternative",
    "MannWhitney",
    "Range",
    "Rewritten",
    "StudyTable",
    "auc",
    "corrected",
    "is_touched",
    "mann_whitney",
    "percentiles",
    "plateau",
    "resampled",
    "totals_of_draws",
    "union",
    "wilson",
]
