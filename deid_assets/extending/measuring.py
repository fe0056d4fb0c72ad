"""Ranges of characters, intervals of what is measured, and the measures of rewritten notes."""

from deid_assets.evaluation.folds import Alternative, MannWhitney, correct_p_values, mann_whitney
from deid_assets.evaluation.intervals import Range, is_touched, union, wilson
from deid_assets.evaluation.resampling import auc, percentiles, resample, totals_of_draws
from deid_assets.evaluation.rewriting import Rewritten, StudyTable, plateau

__all__ = [
    "Alternative",
    "MannWhitney",
    "Range",
    "Rewritten",
    "StudyTable",
    "auc",
    "correct_p_values",
    "is_touched",
    "mann_whitney",
    "percentiles",
    "plateau",
    "resample",
    "totals_of_draws",
    "union",
    "wilson",
]
