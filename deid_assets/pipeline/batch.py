"""A batch of notes on its way through the pipeline: what each step leaves for the next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from deid_assets.core.detector import Failed
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy, Redacted
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.pipeline.sampling import SearchResult
from deid_assets.pipeline.values import Survival, patient_of

_T = TypeVar("_T")

Outcome = SpanSet | Failed
Predictions = Mapping[str, Mapping[str, Outcome]]
"""Detector name to note id to that detector's outcome."""


class Step(Protocol):
    """One step of the pipeline. Its text, as ``str`` gives it, says how it is set."""

    @property
    def name(self) -> str:
        """What it is called; failures name it."""
        ...

    def run(self, batch: Batch) -> Batch:
        """Return the batch with what the step adds to it."""
        ...


@dataclass(frozen=True, slots=True)
class Batch:
    """Notes, all of each patient together, with what is known of them so far.

    Args:
        notes: In order.
        predictions: Of every detector of the ensemble.
        spans: Note id to what the ensemble covers; stored spans enter here.
        annotated: Note id to what people marked, which must not be left either.
        hits: Note id to what was found in its redacted text, in offsets of the original.
        replaced: Note id to what was replaced in the end: spans and hits, and what people marked
            where the settings say so.
        redacted: Note id to its redaction, also of a note that a later step withholds.
        left: Note id to what is left of known values, for each redacted note.
        values: Number of known values that were sought.
        withheld: Note id to why the note may not leave.
        originals: Values that no surrogate may be; those of this batch where not given.
        search: What was found in redacted text.
        policy: What the notes were redacted with.
        redact: Redacts a batch as this one was, for what a search finds.
    """

    notes: Sequence[Note]
    spans: Mapping[str, DisjointSpans] = field(default_factory=dict)
    annotated: Mapping[str, SpanSet] = field(default_factory=dict)
    predictions: Predictions = field(default_factory=dict)
    hits: Mapping[str, Sequence[Span]] = field(default_factory=dict)
    replaced: Mapping[str, DisjointSpans] = field(default_factory=dict)
    redacted: Mapping[str, Redacted] = field(default_factory=dict)
    left: Mapping[str, Survival] = field(default_factory=dict)
    values: int = 0
    withheld: Mapping[str, Failed] = field(default_factory=dict)
    originals: Container[str] | None = field(default=None, repr=False)
    search: SearchResult | None = None
    policy: Policy | None = None
    redact: Callable[[Batch], Batch] | None = field(default=None, repr=False)

    @property
    def outcomes(self) -> list[Redacted | Failed]:
        """One per note, in order: the text that may leave, or why there is none."""
        return [self._outcome(note.note_id) for note in self.notes]

    @property
    def passed(self) -> list[tuple[Note, Redacted]]:
        """The notes that no step withheld, in order, as they were and as they are."""
        return [
            (note, outcome)
            for note, outcome in zip(self.notes, self.outcomes, strict=True)
            if isinstance(outcome, Redacted)
        ]

    def withholding(self, failures: Mapping[str, Failed]) -> Batch:
        """Return the batch with more notes withheld; the first reason stands."""
        return replace(self, withheld={**failures, **self.withheld})

    def with_hits(self, hits: Mapping[str, Sequence[Span]]) -> Batch:
        """Return the notes of the patients in whose notes something was found, to be redacted again."""
        patients = {patient_of(note) for note in self.notes if note.note_id in hits}
        notes = [
            note
            for note in self.notes
            if note.note_id in self.spans and patient_of(note) in patients
        ]
        return Batch(notes, self.spans, self.annotated, hits=hits, originals=self.originals)

    def updated(self, again: Batch) -> Batch:
        """Return the batch with what became of some of its notes the second time."""
        redone = {note.note_id for note in again.notes}
        return replace(
            self,
            hits=again.hits,
            replaced={**self.replaced, **again.replaced},
            redacted=_without(self.redacted, redone) | dict(again.redacted),
            left=_without(self.left, redone) | dict(again.left),
            withheld=_without(self.withheld, redone) | dict(again.withheld),
        )

    def _outcome(self, note_id: str) -> Redacted | Failed:
        if note_id in self.withheld:
            return self.withheld[note_id]
        return self.redacted.get(note_id) or Failed(note_id, "redact", "Missing")


def _without(by_note: Mapping[str, _T], note_ids: Collection[str]) -> dict[str, _T]:
    return {note_id: one for note_id, one in by_note.items() if note_id not in note_ids}
