"""A finding before arbitration."""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple

from deid_assets.extending import Phi


class Candidate(NamedTuple):
    """Candidate: the result of one rule on a range of code points.

    Args:
        start: First code point.
        end: One past the last.
        label: Category.
        score: Evidence in [0, 1]; see ``README.md`` for the scale.
        rule: Id of the rule, for tests and traces.
        native: A finer kind, or empty.
    """

    start: int
    end: int
    label: Phi
    score: float
    rule: str
    native: str = ""


START = attrgetter("start")
"""Key to sort candidates by, where the order of those that start alike does not matter."""
