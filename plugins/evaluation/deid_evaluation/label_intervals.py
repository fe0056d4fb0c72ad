"""What is left of each category, with an interval over whole notes or patients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending.scoring import (
    RESAMPLES,
    Interval,
    bounds,
    check_resamples,
    totals_of_draws,
    wilson,
)
from deid_evaluation.note_outcomes import NoteOutcome

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LabelMisses:
    """Gold spans of one label.

    Args:
        label: Profile label.
        gold: Gold spans.
        left: Those of which at least one code point is left.
        units: Notes or patients that have any.
        spans: Share left, its interval by Wilson over spans, which are taken as independent.
        by_unit: The same share, its interval by bootstrap over whole units; the honest one.
    """

    label: str
    gold: int
    left: int
    units: int
    spans: Interval
    by_unit: Interval


def measure_left_by_label(
    outcomes: Iterable[NoteOutcome],
    *,
    patients: Mapping[str, str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 1,
) -> list[LabelMisses]:
    """Return what is left of every label with gold, the worst first.

    Args:
        outcomes: What became of each note.
        patients: Note id to patient id, where patients are the units; a note without one is a unit
            by itself.
        resamples: Draws, at least 100.
        seed: The same seed and notes give the same figures, whatever the order of the notes.

    Raises:
        ConfigError: ``resamples`` is below 100.

    Source:
        Percentile bootstrap of Efron (1979); where the share is 0 or 1, Wilson (1927) over the
        units.
    """
    check_resamples(resamples)
    labels, gold, left = _tables(outcomes, patients or {})
    drawn = _draw(gold, left, resamples, seed)
    rows = [_row(label, gold[:, at], left[:, at], drawn[:, at]) for at, label in enumerate(labels)]
    return sorted(rows, key=lambda row: (-row.spans.value, -row.spans.low, row.label))


def _tables(
    outcomes: Iterable[NoteOutcome], patients: Mapping[str, str]
) -> tuple[Sequence[str], Floats, Floats]:
    """Return labels, and gold spans and those left, both (units, labels)."""
    by_unit: dict[tuple[int, str], list[NoteOutcome]] = {}
    for outcome in outcomes:
        known = outcome.note_id in patients
        key = (1, patients[outcome.note_id]) if known else (0, outcome.note_id)
        by_unit.setdefault(key, []).append(outcome)
    labels = sorted({label for notes in by_unit.values() for note in notes for label in note.gold})
    column = {label: at for at, label in enumerate(labels)}
    gold, left = (np.zeros((len(by_unit), len(labels))) for _ in range(2))
    for row, key in enumerate(sorted(by_unit)):
        for note in by_unit[key]:
            for table, spans in ((gold, note.gold), (left, note.left)):
                for label, count in spans.items():
                    table[row, column[label]] += count
    return labels, gold, left


def _draw(gold: Floats, left: Floats, resamples: int, seed: int) -> Floats:
    """Return the share left of every label in every draw, (resamples, labels).

    NaN where there is no gold.
    """
    labels = gold.shape[1]
    totals = totals_of_draws(np.hstack((gold, left)), resamples, [seed, 2])
    below = totals[:, :labels]
    found: Floats = np.full((resamples, labels), np.nan)
    np.divide(totals[:, labels:], below, out=found, where=below > 0)
    return found


def _row(label: str, gold: Floats, left: Floats, drawn: Floats) -> LabelMisses:
    total, hits = int(gold.sum()), int(left.sum())
    units, value = int(np.count_nonzero(gold)), hits / total
    resampled = Interval(value, *bounds(value, drawn, units))
    return LabelMisses(label, total, hits, units, Interval(value, *wilson(hits, total)), resampled)
