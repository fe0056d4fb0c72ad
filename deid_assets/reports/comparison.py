"""Intervals by bootstrap and differences to a baseline, as the rows of a table."""

from __future__ import annotations

from deid_assets.evaluation.comparison import (
    BaselineDifference,
    Boundary,
    Comparison,
    Interval,
    Ratio,
)
from deid_assets.evaluation.numbers import UNDEFINED, ratio
from deid_assets.evaluation.score import Scheme

_MEASURES = (("Covered", Scheme.COVERED, Ratio.RECALL), ("Strict F1", Scheme.STRICT, Ratio.F1))
_MORE = (
    ("Strict P", Scheme.STRICT, Ratio.PRECISION),
    ("Strict R", Scheme.STRICT, Ratio.RECALL),
    ("Relaxed F1", Scheme.RELAXED, Ratio.F1),
    ("Characters covered", Scheme.CHARACTERS, Ratio.RECALL),
)
SEMEVAL = (
    ("strict", Scheme.STRICT),
    ("exact", Boundary.EXACT),
    ("partial", Boundary.PARTIAL),
    ("type", Scheme.RELAXED),
)
"""SemEval-2013's names of the four schemes."""
_FEW = 20
"""Units below which percentile intervals are known to be too narrow."""


def interval_table(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Return headings, and a row of intervals per detector in the order they were given."""
    shown = (*_MEASURES, *_MORE)
    headings = ["Detector", *(name for name, _, _ in shown)]
    rows = [
        [name, *(interval_of(comparison.interval(name, scheme, of)) for _, scheme, of in shown)]
        for name in comparison.intervals
    ]
    return headings, rows


def semeval_table(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Return headings, and a row per detector with its F1 under the four schemes
    of SemEval-2013.
    """
    headings = ["SemEval-2013", *(f"{name} F1" for name, _ in SEMEVAL)]
    rows = [
        [name, *(interval_of(comparison.interval(name, scheme, Ratio.F1)) for _, scheme in SEMEVAL)]
        for name in comparison.intervals
    ]
    return headings, rows


def difference_table(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Return headings, and a row per detector other than the baseline.

    No row where there is one detector.
    """
    headings = [f"Difference to {comparison.baseline}"]
    for name, _, _ in _MEASURES:
        headings += [name, "p"]
    rows = []
    for detector in comparison.differences:
        found = [comparison.difference(detector, scheme, of) for _, scheme, of in _MEASURES]
        rows.append(
            [detector, *(cell for gap in found for cell in (difference_of(gap), p_of(gap)))]
        )
    return headings, rows


def describe_draws(comparison: Comparison) -> str:
    """Return what the intervals were made of, as part of a sentence."""
    plural = "" if comparison.units == 1 else "s"
    caution = ", too few to rely on" if comparison.units < _FEW else ""
    return f"95 % bootstrap over {comparison.units:,} {comparison.unit}{plural}{caution}"


def interval_of(found: Interval | None) -> str:
    """Return ``0.981 [0.962, 0.991]``, or ``n/a``."""
    return f"{ratio(found.value)} [{ratio(found.low)}, {ratio(found.high)}]" if found else UNDEFINED


def difference_of(found: BaselineDifference | None) -> str:
    """Return ``+0.012 [-0.003, +0.027]``, or ``n/a``."""
    return f"{found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]" if found else UNDEFINED


def p_of(found: BaselineDifference | None) -> str:
    """Return three decimals, which a p of at least 1,000 draws never rounds to 0, or ``n/a``."""
    return f"{found.p:.3f}" if found else UNDEFINED
