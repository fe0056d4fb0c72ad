"""Spread: a value that was found once is covered wherever else it stands in that
patient's notes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.languages.vocabulary import is_ordinary
from deid_assets.pipeline.batch import Batch
from deid_assets.pipeline.values import Extent, Occurrence, Values, values_by_note

SPREAD = "spread"
"""Source of the spans that are spread; no detector may have this name."""

MIN_PART_SCORE = 0.75
"""Least score of a name whose words are spread one by one."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A value that was found once is covered wherever else it stands in the patient's notes."""

    name: ClassVar[str] = "spread"

    def __str__(self) -> str:
        return "what is found once, over the notes of its patient"

    def run(self, batch: Batch) -> Batch:
        """Return the batch with more spans in its notes."""
        return replace(batch, spans=spread(batch.notes, batch.spans))


def spread(notes: Sequence[Note], spans: Mapping[str, DisjointSpans]) -> dict[str, DisjointSpans]:
    """Return the spans of every note, with those that follow from the note itself and the patient's
    other notes.

    A value that the survival check would find in the text is covered: identifiers, names,
    addresses, dates of birth. A word of a longer name ("Long" of "Jane Long") is covered where it
    has a capital and is no ordinary word of the note's language or of medicine. A spread span has
    the category and the score of the span it comes from, ``SPREAD`` as its source, and that span's
    source as its native label.

    Args:
        notes: All notes of each patient together; a note without an entry in ``spans`` is passed
            over.
        spans: Note id to what was found there. Spans that were spread before are no source of
            others.
    """
    known = [(note, spans[note.note_id]) for note in notes if note.note_id in spans]
    values = values_by_note(known, is_value=is_found)
    return {note.note_id: _spread_note(note, found, values[note.note_id]) for note, found in known}


def is_found(span: Span) -> bool:
    """Whether a span was found by a detector or a person, and not spread."""
    return span.source != SPREAD


def _spread_note(note: Note, found: DisjointSpans, values: Values) -> DisjointSpans:
    covered = [(span.start, span.end) for span in found]
    more = [
        _whole_words(note.text, occurrence, covered)
        for occurrence in values.occurrences(note.text, covered)
        if occurrence.how is Extent.WHOLE
        or (occurrence.how is Extent.PART and _is_telling_part(note, occurrence))
    ]
    return DisjointSpans(found.note_id, found.digest, (*found, *_disjoint(more))) if more else found


def _is_telling_part(note: Note, occurrence: Occurrence) -> bool:
    word = note.text[occurrence.start : occurrence.end]
    return (
        word[0].isupper()
        and occurrence.origin.score >= MIN_PART_SCORE
        and not is_ordinary(word, note.lang)
    )


def _whole_words(text: str, occurrence: Occurrence, covered: Sequence[tuple[int, int]]) -> Span:
    """Return the span of an occurrence, out to where its words end or are covered.

    A number may be part of a code.
    """
    start, end, origin = occurrence.start, occurrence.end, occurrence.origin
    after = bisect_left(covered, (start, start))
    first = covered[after - 1][1] if after else 0
    last = covered[after][0] if after < len(covered) else len(text)
    while start > first and text[start - 1].isalnum():
        start -= 1
    while end < last and text[end].isalnum():
        end += 1
    return Span(start, end, origin.label, origin.score, SPREAD, origin.source)


def _disjoint(spans: Sequence[Span]) -> list[Span]:
    """Return the spans without those that overlap a longer one."""
    kept: list[Span] = []  # disjoint and sorted, so only the two neighbours can overlap
    for span in sorted(spans, key=lambda one: (one.start - one.end, one.start, one.label.value)):
        at = bisect_left(kept, span)
        if not any(span.overlaps(other) for other in kept[max(0, at - 1) : at + 1]):
            kept.insert(at, span)
    return kept
