"""The tables of a bake-off, for the screen, the page and the Dagster UI alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deid_assets.extending.scoring import (
    UNDEFINED,
    Evaluation,
    Interval,
    Ratio,
    Scheme,
    Titled,
    amount,
    describe_draws,
    interval_of,
    marginal_table,
    ratio,
)
from deid_evaluation.agreement import Agreement
from deid_evaluation.bench_entries import Bakeoff, BenchEntry, Missing

NOTHING_MISSING = "-"
BY_DESIGN = "†"
"""Stands beside a share where the detector declares no such category."""


def side_by_side(found: Bakeoff) -> Titled:
    """Return the one table of a bake-off.

    Scores where there is gold, costs, and what cannot be found by design.
    """
    scores = ["Covered [95 %]", "Strict F1 [95 %]", "P", "Within reach"] if found.gold else []
    headings = [
        "Detector",
        *scores,
        "Notes/s",
        "kChars/s",
        "Start s",
        "MiB",
        "Failed",
        "Cannot find by design",
    ]
    rows = []
    for entry in found.entries:
        if entry.fault:
            rows.append([entry.name, *[UNDEFINED] * (len(headings) - 2), entry.fault])
            continue
        rows.append(
            [
                entry.name,
                *(_scores(found, entry) if found.gold else []),
                *_costs(entry),
                blind_of(entry),
            ]
        )
    return headings, rows


def explain_columns(found: Bakeoff) -> str:
    """Return what the columns of ``side_by_side`` are, in two sentences."""
    costs = "Speed without start-up; MiB is the largest memory of the detector's own process."
    if not found.gold:
        return f"{found.notes:,} notes without annotations. {costs}"
    drawn = f"; intervals: {describe_draws(found.comparison)}" if found.comparison else ""
    return (
        f"{found.notes:,} notes; annotations: {found.gold}{drawn}. Within reach: annotated spans"
        f" covered of those that the detector can find by design, and their share of all. {costs}"
    )


def _scores(found: Bakeoff, entry: BenchEntry) -> list[str]:
    strict = entry.evaluation.micro(Scheme.STRICT) if entry.evaluation else None
    return [
        interval(found, entry, Scheme.COVERED, Ratio.RECALL),
        interval(found, entry, Scheme.STRICT, Ratio.F1),
        ratio(strict.precision if strict else None),
        (
            f"{ratio(entry.within.value)} of {entry.within_share:.1%}"
            if entry.within and entry.within_share is not None
            else UNDEFINED
        ),
    ]


def _costs(entry: BenchEntry) -> list[str]:
    spent = entry.expense
    if spent is None:
        return [*[UNDEFINED] * 4, amount(entry.failed)]
    memory = f"{spent.peak_bytes / 2**20:,.0f}" if spent.peak_bytes else UNDEFINED
    return [
        rate(spent.notes_per_s),
        rate(spent.chars_per_s / 1_000),
        f"{spent.start_s:,.1f}",
        memory,
        amount(entry.failed),
    ]


def rate(per_s: float) -> str:
    """Return whole numbers from 100 on, one decimal below: more would be noise."""
    return f"{per_s:,.0f}" if per_s >= 100 else f"{per_s:,.1f}"


def blind_of(entry: BenchEntry) -> str:
    """Return the labels that a detector cannot find by design, or a dash."""
    return ", ".join(entry.blind) or NOTHING_MISSING


def cost_table(found: Bakeoff) -> Titled:
    """Return what each detector takes, and what it cannot find by design."""
    headings = [
        "Detector",
        "Notes/s",
        "1,000 characters/s",
        "Start-up, s",
        "Memory, MiB",
        "Notes failed",
    ]
    rows = [
        [entry.name, *_costs(entry), blind_of(entry)] for entry in found.entries if not entry.fault
    ]
    return [*headings, "Cannot find by design"], rows


def label_table(found: Bakeoff) -> Titled:
    """Return the share of gold spans covered by label and detector."""
    scored = [(entry, entry.evaluation) for entry in found.entries if entry.evaluation]
    labels = sorted({label for _, evaluation in scored for label in evaluation.labels})
    rows = []
    for label in labels:
        gold = scored[0][1].counts(label, Scheme.COVERED).gold
        if gold:
            cells = [_label_cell(entry, evaluation, label) for entry, evaluation in scored]
            rows.append([label, amount(gold), *cells])
    return ["Label", "Annotated spans", *(entry.name for entry, _ in scored)], rows


def _label_cell(entry: BenchEntry, evaluation: Evaluation, label: str) -> str:
    recall = ratio(evaluation.counts(label, Scheme.COVERED).recall)
    return f"{recall} {BY_DESIGN}" if label in entry.blind else recall


def tabulate_added(found: Bakeoff) -> Titled:
    """Return what each detector adds to all the others, and what it takes.

    No row for a single one.
    """
    seconds = {
        entry.name: 1_000 / entry.expense.notes_per_s
        for entry in found.entries
        if entry.expense and entry.expense.notes_per_s
    }
    return marginal_table(found.coverage, seconds)


def agreement_table(pairs: Mapping[tuple[str, str], Agreement]) -> Titled:
    """Return a row per two detectors."""
    headings = ["Detectors", "Both", "First alone", "Second alone", "F1, overlap", "F1, characters"]
    rows = [
        [
            f"{first} and {second}",
            *(amount(count) for count in (one.ranges.tp, one.ranges.fn, one.ranges.fp)),
            ratio(one.ranges.f1),
            ratio(one.characters.f1),
        ]
        for (first, second), one in pairs.items()
    ]
    return headings, rows


def tabulate_missing(missing: Sequence[Missing]) -> Titled:
    """Return a row per label with what was marked and what probably was not."""
    rows = [
        [
            one.label,
            amount(one.marked),
            f"{one.value:,.0f} [{one.low:,.0f}, {one.high:,.0f}]",
            one.method,
        ]
        for one in missing
    ]
    return ["Label", "Marked by any", "By none, if independent [95 %]", "Estimator"], rows


def interval(found: Bakeoff, entry: BenchEntry, scheme: Scheme, of: Ratio) -> str:
    """Return a ratio of a detector with its bootstrap interval, or ``n/a``."""
    measured: Interval | None = None
    if found.comparison and entry.name in found.comparison.intervals:
        measured = found.comparison.interval(entry.name, scheme, of)
    return interval_of(measured)
