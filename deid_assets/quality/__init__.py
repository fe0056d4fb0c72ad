"""Checks that gate a materialization.

Contracts over text-free frames, and checks that need the text.

``contracts`` and ``expectations`` run Great Expectations, which is imported when the first contract
runs; ``text_checks``, ``survival`` and ``duplicates`` read text and give back counts only.
"""

from deid_assets.core.verdicts import State
from deid_assets.quality.verdict import Verdict, check_share, fold_verdicts

__all__ = ["State", "Verdict", "check_share", "fold_verdicts"]
