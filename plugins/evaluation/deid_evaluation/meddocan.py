"""The three official scores of MEDDOCAN (Marimon et al. 2019).

Entities, spans, and spans merged over gaps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from deid_assets.extending import MEDDOCAN, Note, SpanSet
from deid_assets.extending.scoring import Counts, Range


@dataclass(frozen=True, slots=True)
class MeddocanCounts:
    """Counts of one note or many; ``MeddocanCounts()`` is the zero of ``+``.

    Args:
        ner: Sub-track 1: same boundaries and label.
        spans: Sub-track 2, strict: same boundaries, labels left aside.
        merged: Sub-track 2, merged: also right is what lies inside a run of spans, divided by no
            letter or digit, that has the same boundaries on both sides. A run counts once, and next
            to spans that are right by themselves, so that ``tp + fn`` is not the number of gold
            spans.
    """

    ner: Counts = field(default_factory=Counts)
    spans: Counts = field(default_factory=Counts)
    merged: Counts = field(default_factory=Counts)

    def __add__(self, other: MeddocanCounts) -> MeddocanCounts:
        return MeddocanCounts(
            self.ner + other.ner, self.spans + other.spans, self.merged + other.merged
        )


def meddocan_counts(note: Note, gold: SpanSet, pred: SpanSet) -> MeddocanCounts:
    """Return the official counts of one note.

    As in the official scorer there is no scope: a prediction counts as wrong where it meets no
    gold, whatever its label. A span that carries one of MEDDOCAN's labels is counted under it, on
    both sides, as the task does; a span without one under our profile's label of its category: a
    detector that knows names alone is right on patients' names and wrong on staff's.

    Args:
        note: Letters and digits are looked for between its spans.
        gold: What there is to find.
        pred: What was found.

    Raises:
        DigestError: A set of spans is of another note or another text.
        OffsetError: A span ends after the note does.
    """
    text = note.text
    gold_ner, pred_ner = (
        {
            (label, span.start, span.end)
            for span in side.check_against(note)
            if (label := MEDDOCAN.label_of(span.label, span.native_label)) is not None
        }
        for side in (gold, pred)
    )
    gold_spans, pred_spans = (
        {(start, end) for _, start, end in side} for side in (gold_ner, pred_ner)
    )
    right = (gold_spans & pred_spans) | (_merge(gold_spans, text) & _merge(pred_spans, text))
    wrong = sum(not _is_held(span, right) for span in pred_spans - gold_spans)
    missed = sum(not _is_held(span, right) for span in gold_spans - pred_spans)
    return MeddocanCounts(
        Counts.of(gold_ner, pred_ner),
        Counts.of(gold_spans, pred_spans),
        Counts(len(right), wrong, missed),
    )


def _merge(spans: set[Range], text: str) -> set[Range]:
    """Join neighbours in order.

    As in the official scorer a run ends where its last span does, not its longest.
    """
    runs: list[Range] = []
    for start, end in sorted(spans):
        if runs and not any(map(str.isalnum, text[runs[-1][1] : start])):
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return set(runs)


def _is_held(span: Range, right: Iterable[Range]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in right)
