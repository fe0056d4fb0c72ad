"""A batch of notes on its way through the pipeline: what each step leaves for the next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, TypeVar

from deid_assets.core.detector import Failed
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy, Redacted
from deid_assets.core.span import DisjointSpans, Span, SpanSet

_T = TypeVar("_T")

Outcome = SpanSet | Failed
Predictions = Mapping[str, Mapping[str, Outcome]]
"""Detector name to note id to that detector's outcome."""

HIT = "residual-hit"
"""Reason for which a note is withheld: the ensemble finds something in its redacted text."""

Hits = Mapping[str, tuple[Span, ...] | Failed]
"""Note id to what was found in the text that was kept, in offsets of the original, or why there was
no answer.
"""

Patient = tuple[bool, str]
"""Whether the note names its patient, and the patient's id or the note's."""


class Step(Protocol):
    """One step of the pipeline. Its text, as ``str`` gives it, says how it is set."""

    @property
    def name(self) -> str:
        """What it is called; failures name it."""
        ...

    def run(self, batch: Batch) -> Batch:
        """Return the batch with what the step adds to it."""
        ...


class Survival(NamedTuple):
    """Values that survive in one note.

    Args:
        whole: Whole values; the note may not leave.
        lower_case: Single capitalised words that occur in lower case ("Will" and "will").
        name_parts: Words of a longer name on their own ("Lee" of "Jane Lee", but also "Prof" of
            "Prof Lee").
    """

    whole: int = 0
    lower_case: int = 0
    name_parts: int = 0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Result of a search of redacted notes.

    Args:
        hits: Of the first look, for the notes that were searched.
        again: Of the last look, for the notes that were redacted again.
        drawn: Notes that were drawn; all, where there was no draw.
        drawn_hits: Drawn notes with a hit or without an answer.
        notes: Notes there are.
    """

    hits: Hits
    again: Hits
    drawn: int
    drawn_hits: int
    notes: int

    @property
    def is_whole(self) -> bool:
        """Whether every note was searched."""
        return len(self.hits) == self.notes

    def hits_of(self, note_id: str) -> tuple[Span, ...] | Failed | None:
        """Return what the last look at a note found; ``None`` where it was not searched."""
        return self.again.get(note_id, self.hits.get(note_id))

    def withhold(self, stage: str) -> dict[str, Failed]:
        """Return the notes that are withheld, by id."""
        last = {**self.hits, **self.again}
        return {
            note_id: hit if isinstance(hit, Failed) else Failed(note_id, stage, HIT)
            for note_id, hit in last.items()
            if hit
        }


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

    def select_with_hits(self, hits: Mapping[str, Sequence[Span]]) -> Batch:
        """Return the notes of the patients in whose notes something was found, to redact again."""
        patients = {patient_of(note) for note in self.notes if note.note_id in hits}
        notes = [
            note
            for note in self.notes
            if note.note_id in self.spans and patient_of(note) in patients
        ]
        return Batch(notes, self.spans, self.annotated, hits=hits, originals=self.originals)

    def update(self, again: Batch) -> Batch:
        """Return the batch with what became of some of its notes the second time."""
        redone = {note.note_id for note in again.notes}
        return replace(
            self,
            hits=again.hits,
            replaced={**self.replaced, **again.replaced},
            redacted=_drop(self.redacted, redone) | dict(again.redacted),
            left=_drop(self.left, redone) | dict(again.left),
            withheld=_drop(self.withheld, redone) | dict(again.withheld),
        )

    def _outcome(self, note_id: str) -> Redacted | Failed:
        if note_id in self.withheld:
            return self.withheld[note_id]
        return self.redacted.get(note_id) or Failed(note_id, "redact", "Missing")


def _drop(by_note: Mapping[str, _T], note_ids: Collection[str]) -> dict[str, _T]:
    return {note_id: one for note_id, one in by_note.items() if note_id not in note_ids}


def patient_of(note: Note) -> Patient:
    """Return whose note it is; a note without ``patient_id`` has a patient of its own."""
    return (False, note.note_id) if note.patient_id is None else (True, note.patient_id)
