"""Strict scores of a tagger under its own tag labels, which may be finer than the categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deid_assets.core.detector import Detector, Failed, detect
from deid_assets.core.errors import TrainingError
from deid_assets.core.span import SpanSet
from deid_assets.core.trainer import Document, tag_label
from deid_assets.evaluation.comparison import COLUMNS, Row
from deid_assets.evaluation.counts import Counts
from deid_assets.evaluation.intervals import wilson
from deid_assets.evaluation.resampling import percentiles, totals_of_draws
from deid_assets.evaluation.six_scores import Granularity, Level, six_scores

RESAMPLES = 1_000
MICRO = "ALL"


@dataclass(frozen=True, slots=True)
class TagScores:
    """Strict counts, same boundaries and tag label, per label and per note.

    Args:
        labels: Tag label to counts.
        notes: Counts of each note, in order, to resample from.
        failed: Notes that the tagger could not read; all their gold counts as missed.
    """

    labels: Mapping[str, Counts]
    notes: Sequence[Counts] = field(repr=False)
    failed: int = 0

    @property
    def micro(self) -> Counts:
        """All labels together."""
        return sum(self.labels.values(), Counts())

    def f1_interval(self, *, seed: int = 0) -> tuple[float, float]:
        """Return the 95 % percentile bootstrap interval of micro F1, resampling notes."""
        table = np.array([(one.tp, one.fp, one.fn) for one in self.notes], dtype=np.float64)
        tp, fp, fn = totals_of_draws(table, RESAMPLES, seed).T
        return percentiles(2 * tp / np.maximum(2 * tp + fp + fn, 1))

    def to_json(self) -> dict[str, Any]:
        """Return what a card keeps."""
        rows = {MICRO: self.micro, **self.labels}
        found: dict[str, Any] = {"notes": len(self.notes), "failed": self.failed}
        found["labels"] = {label: _row(counts) for label, counts in rows.items()}
        found["labels"][MICRO]["f1_interval"] = [round(bound, 4) for bound in self.f1_interval()]
        return found


def _row(counts: Counts) -> dict[str, Any]:
    row: dict[str, Any] = {"tp": counts.tp, "fp": counts.fp, "fn": counts.fn}
    for name in ("precision", "recall", "f1"):
        value = getattr(counts, name)
        row[name] = None if value is None else round(value, 4)
    if counts.gold:
        row["recall_interval"] = [round(bound, 4) for bound in wilson(counts.tp, counts.gold)]
    return row


def score(detector: Detector, documents: Sequence[Document], *, native: bool) -> TagScores:
    """Return the strict scores of a tagger.

    Args:
        detector: A trained one.
        documents: Annotated notes that it was not trained on.
        native: Whether to compare the corpus' own labels.

    Raises:
        TrainingError: There is no note, or the tagger could not read any.
    """
    return score_outcomes(
        detect(detector, [document.note for document in documents]), documents, native=native
    )


def six_f1(
    outcomes: Sequence[SpanSet | Failed], documents: Sequence[Document]
) -> dict[str, float | None]:
    """Return micro F1 by level and granularity of a tagger's answers, in the order of Catelli
    (2021), table 4.1.
    """
    found = six_scores(
        (
            document.note,
            document.spans,
            SpanSet.of(document.note, ()) if isinstance(outcome, Failed) else outcome,
        )
        for document, outcome in zip(documents, outcomes, strict=True)
    )
    return {
        f"{level.value} {granularity.value}": found.micro(level, granularity).f1
        for level in (Level.ENTITY, Level.TOKEN)
        for granularity in Granularity
    }


def score_outcomes(
    outcomes: Sequence[SpanSet | Failed], documents: Sequence[Document], *, native: bool
) -> TagScores:
    """Return the strict scores of a tagger's answers, one per document and in their order.

    As ``score``.
    """
    if not documents:
        raise TrainingError("there are no notes to score on; give annotated notes")
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    if len(failed) == len(documents):
        raise TrainingError(
            f"the tagger fails on every note with {failed[0].error}; train it again"
        )
    true: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    notes = []
    for document, outcome in zip(documents, outcomes, strict=True):
        spans = () if isinstance(outcome, Failed) else outcome.spans
        gold = {(span.start, span.end, tag_label(span, native=native)) for span in document.spans}
        found = {(span.start, span.end, tag_label(span, native=native)) for span in spans}
        true.update(label for _, _, label in gold & found)
        wrong.update(label for _, _, label in found - gold)
        missed.update(label for _, _, label in gold - found)
        notes.append(Counts.of(gold, found))
    names = sorted({*true, *wrong, *missed})
    labels = {name: Counts(true[name], wrong[name], missed[name]) for name in names}
    return TagScores(labels, notes, len(failed))


def strict_rows(scores: TagScores, documents: Sequence[Document]) -> dict[str, Row]:
    """Return strict counts of each note under the tag labels, to compare.

    Of the other schemes nothing is counted.
    """
    rest = (0,) * (3 * (len(COLUMNS) - 1))
    return {
        document.note.note_id: (counts.tp, counts.fp, counts.fn, *rest)
        for document, counts in zip(documents, scores.notes, strict=True)
    }
