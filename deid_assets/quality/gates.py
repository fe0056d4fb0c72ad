"""Gates on what gold can show.

Lower confidence bounds, the worst group, and no step back from the last release.

A ratio of few spans says little: 20 of 20 found leaves room for a recall of 0.84. These gates ask
for the lower end of the 95 % interval, so that little gold cannot open them by luck.
"""

from __future__ import annotations

from collections.abc import Mapping

from deid_assets.evaluation.comparison import BaselineDifference
from deid_assets.evaluation.counts import Counts, NoteCounts
from deid_assets.evaluation.intervals import wilson
from deid_assets.quality.verdict import Verdict

ALL = "ALL"
"""Stands for every label together."""


def recall_lower_bound(
    counts: Mapping[str, Counts], floors: Mapping[str, float], *, min_gold: int
) -> Verdict:
    """Check that recall is not below its floor, by the lower end of its 95 % Wilson interval.

    Args:
        counts: Label to gold spans covered and left; ``ALL`` for every label together.
        floors: Label to the least lower bound that passes, in [0, 1].
        min_gold: A label with fewer gold spans is counted in ``too_few`` and not gated: even if all
            of them are covered its bound lies low.

    Returns:
        Counts ``labels`` that were gated, ``below``, ``too_few``, and ``lower_<label>`` and
        ``minimum_<label>`` of those that were gated. It is not applicable where none was.
    """
    found = {label: counts.get(label, Counts()) for label in sorted(floors)}
    gated = {
        label: wilson(one.tp, one.gold)[0]
        for label, one in found.items()
        if one.gold >= max(min_gold, 1)
    }
    below = sum(lower < floors[label] for label, lower in gated.items())
    return Verdict(
        "recall_lower_bound",
        passed=not below,
        blocking=True,
        counts={
            "labels": len(gated),
            "below": below,
            "too_few": len(found) - len(gated),
            **{
                f"{name}_{label}": round(value, 4)
                for label, lower in gated.items()
                for name, value in (("lower", lower), ("minimum", floors[label]))
            },
        },
        description="Share of annotated spans covered, lower end of its 95 % interval.",
    ).unless(not gated, f"no label has a minimum and {max(min_gold, 1):,} annotated spans")


def notes_covered_lower_bound(notes: NoteCounts, floor: float, *, min_notes: int) -> Verdict:
    """Check the share of notes with nothing left, by the lower end of its 95 % Wilson interval.

    Args:
        notes: Counts of whole notes.
        floor: The least lower bound that passes, in [0, 1].
        min_notes: With fewer notes with gold the share is reported and the check is not applicable.

    Returns:
        Counts ``notes`` with gold and how many are wanted, ``covered``, ``minimum``, and ``lower``
        where there is one.
    """
    lower = wilson(notes.covered, notes.with_phi)[0] if notes.with_phi else None
    return Verdict(
        "notes_covered_lower_bound",
        passed=lower is None or notes.with_phi < min_notes or lower >= floor,
        blocking=True,
        counts={
            "notes": notes.with_phi,
            "covered": notes.covered,
            "wanted_notes": min_notes,
            "minimum": floor,
            **({} if lower is None else {"lower": round(lower, 4)}),
        },
        description=(
            "Share of notes of which no annotated character is left, lower end of its 95 %"
            " interval."
        ),
    ).unless(
        lower is None or notes.with_phi < min_notes,
        f"fewer than {max(min_notes, 1):,} notes have an annotated span",
    )


def worst_group(groups: Mapping[str, Counts], floor: float, *, min_gold: int) -> Verdict:
    """Check that recall is not below the floor in any group, by the lower end of its 95 % Wilson
    interval.

    Groups are not named in the counts: a site or an origin may say too much beside a low figure.

    Args:
        groups: Group to gold spans covered and left.
        floor: The least lower bound that passes, in [0, 1].
        min_gold: A group with fewer gold spans is counted in ``too_few`` and not gated.

    Returns:
        Counts ``groups`` that were gated, ``below``, ``too_few``, ``minimum``, and ``lower`` and
        ``spans`` of the worst. It is not applicable where none was gated.
    """
    gated = [
        (wilson(one.tp, one.gold)[0], one.gold)
        for one in groups.values()
        if one.gold >= max(min_gold, 1)
    ]
    below = sum(lower < floor for lower, _ in gated)
    worst = dict(zip(("lower", "spans"), min(gated), strict=True)) if gated else {}
    return Verdict(
        "worst_group",
        passed=not below,
        blocking=True,
        counts={
            "groups": len(gated),
            "below": below,
            "too_few": len(groups) - len(gated),
            "wanted_spans": min_gold,
            "minimum": floor,
            **{name: round(value, 4) for name, value in worst.items()},
        },
        description=(
            "Share of annotated spans covered in the worst group, lower end of its 95 % interval."
        ),
    ).unless(
        not gated,
        (
            f"no group has {max(min_gold, 1):,} annotated spans"
            if groups
            else "no groups to compare; see gates.worst_group_by"
        ),
    )


def no_regression(
    change: BaselineDifference | None, *, notes: int, lost: int, tolerance: float
) -> Verdict:
    """Check that recall did not fall below that of the last release by more than chance and a
    tolerance.

    It fails where the whole 95 % interval of the difference lies below ``-tolerance``, and where
    notes that the last release was measured on are gone or have another text.

    Args:
        change: Recall now less recall then, paired by note; ``None`` where there was no release, or
            no gold span.
        notes: Notes with gold that were in the last release too.
        lost: Notes with gold at the last release that are not in the batch with the same text any
            more.
        tolerance: Fall that is accepted, in [0, 1].

    Returns:
        Counts ``notes``, ``lost``, ``tolerance``, and ``change``, ``low`` and ``high`` where there
        is one. It is not applicable where there is nothing to compare.
    """
    figures = (
        {} if change is None else {"change": change.value, "low": change.low, "high": change.high}
    )
    fell = change is not None and change.high < -tolerance
    return Verdict(
        "no_regression",
        passed=not fell and not lost,
        blocking=True,
        counts={
            "notes": notes,
            "lost": lost,
            "tolerance": tolerance,
            **{name: round(one, 4) for name, one in figures.items()},
        },
        description=(
            "Share of annotated spans covered, now and at the last release of the batch, on the"
            " same notes."
        ),
    ).unless(change is None, "no earlier release of the batch, or no annotated span in both")
