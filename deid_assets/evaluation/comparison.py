"""Detectors side by side on the same notes.

Intervals, differences, and the counts of notes they are taken from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from deid_assets.evaluation.counts import Scheme

SCHEMES = tuple(Scheme)


class Boundary(StrEnum):
    """Schemes that ignore labels.

    With ``STRICT`` and ``RELAXED`` the four schemes of SemEval-2013.
    """

    EXACT = "exact"
    """A prediction is right when a gold span has its boundaries."""
    PARTIAL = "partial"
    """As ``EXACT``, and one that overlaps a gold span is half right.

    One to one, counted in halves.
    """


COLUMNS: tuple[Scheme | Boundary, ...] = (*SCHEMES, *Boundary)
"""The order of the counts in a ``Row``."""
Row = tuple[int, ...]
"""Micro counts of one note.

True positives, false positives and false negatives of each of ``COLUMNS``, in order.
"""


class Ratio(StrEnum):
    """Ratio of three counts."""

    PRECISION = "precision"
    RECALL = "recall"
    F1 = "f1"


RATIOS = tuple(Ratio)
Measure = tuple[Scheme | Boundary, Ratio]
"""A micro average."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A micro average with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class BaselineDifference:
    """Difference of a detector to the baseline.

    Args:
        value: Its ratio less that of the baseline, in [-1, 1].
        low: Lower bound of the 95 % interval.
        high: Upper bound.
        p: Two-sided, of detectors that could be exchanged in every unit; not corrected for several
            comparisons.
    """

    value: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Detectors on the same notes, with what chance alone may do.

    Args:
        unit: ``note`` or ``patient``: what was drawn as a whole.
        units: How many there are.
        resamples: Draws behind each interval and each p.
        seed: Seed of the draws.
        baseline: The detector that the others are compared with.
        intervals: Detector to measure to interval; a ratio that is not defined is absent.
        differences: Every other detector to measure to difference; one that is not defined is
            absent.
    """

    unit: str
    units: int
    resamples: int
    seed: int
    baseline: str
    intervals: Mapping[str, Mapping[Measure, Interval]]
    differences: Mapping[str, Mapping[Measure, BaselineDifference]]

    def interval(self, detector: str, scheme: Scheme | Boundary, ratio: Ratio) -> Interval | None:
        """``None`` where the ratio is not defined."""
        return self.intervals[detector].get((scheme, ratio))

    def difference(
        self, detector: str, scheme: Scheme | Boundary, ratio: Ratio
    ) -> BaselineDifference | None:
        """``None`` for the baseline, and where a ratio is not defined on one side."""
        return self.differences.get(detector, {}).get((scheme, ratio))

    def to_json(self, detector: str) -> dict[str, Any]:
        """Return intervals and differences of one detector by scheme and ratio, as ``json.dumps``
        takes them.
        """
        stored: dict[str, Any] = {"intervals": {}}
        for (scheme, ratio), found in self.intervals[detector].items():
            stored["intervals"].setdefault(str(scheme), {})[str(ratio)] = [found.low, found.high]
        if detector != self.baseline:
            stored["difference"] = {"to": self.baseline}
            for (scheme, ratio), gap in self.differences[detector].items():
                values = {"value": gap.value, "low": gap.low, "high": gap.high, "p": gap.p}
                stored["difference"].setdefault(str(scheme), {})[str(ratio)] = values
        return stored
