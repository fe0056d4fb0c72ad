"""What each detector adds to the others, as a table and in words."""

from __future__ import annotations

from collections.abc import Mapping

from deid_assets.evaluation.marginal import Coverage, Subset, best_subset, marginals
from deid_assets.evaluation.numbers import UNDEFINED, ratio
from deid_assets.reports.tables import Titled


def marginal_table(found: Coverage | None, seconds: Mapping[str, float]) -> Titled:
    """Return what each detector adds to all the others, and what it takes; no row for a single one.

    Args:
        found: Who marks what.
        seconds: Detector to seconds for 1,000 notes, where known.
    """
    headings = [
        "Detector",
        "Recall gained",
        "Characters gained",
        "Precision lost",
        "Recall alone",
        "s per 1,000 notes",
    ]
    if found is None or len(found.detectors) < 2:
        return headings, []
    rows = []
    for one in marginals(found):
        lost, spent = one.precision_lost, seconds.get(one.detector)
        row = [
            one.detector,
            f"{one.recall_gained:+.3f}",
            f"{one.char_recall_gained:+.3f}",
            UNDEFINED if lost is None else f"{lost:+.3f}",
            ratio(one.alone.recall),
            UNDEFINED if spent is None else f"{spent:,.1f}",
        ]
        rows.append(row)
    return headings, rows


def best_subset_text(found: Coverage | None) -> str:
    """Return in words the smallest subset that covers most, and what all detectors
    together give.
    """
    if found is None or len(found.detectors) < 2:
        return ""
    best, everything = best_subset(found), found.value(found.detectors)
    return (
        f"Best subset: {' + '.join(best.detectors)}, which covers {_of(best)}. All"
        f" {len(found.detectors)} together cover {_of(everything)}. Chosen and measured on the same"
        " notes, so that it is somewhat too good."
    )


def _of(subset: Subset) -> str:
    return (
        f"{ratio(subset.recall)} of the annotated spans at a precision of {ratio(subset.precision)}"
        " by character"
    )
