"""Arithmetic on ranges of characters, and the measures of rewritten notes, which a detector's training watches."""

from deid_assets.evaluation.intervals import Range, is_touched, union
from deid_assets.evaluation.rewriting import Rewritten, StudyTable

__all__ = ["Range", "Rewritten", "StudyTable", "is_touched", "union"]
