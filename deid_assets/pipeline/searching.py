"""Verify, second part.

What the ensemble still finds in redacted text, and the redaction of what it finds.

A draw of the notes by key is searched, and all of them where the draw is not clean. What is found
in text that was kept of the original is covered too, and the note is searched again; one that stays
without an end is withheld.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from deid_assets.core.detector import Failed
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Edit, Policy, Redacted
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.pipeline.sampling import upper_bound

REDACTIONS = 4
"""How often a note with hits is redacted again before it is withheld."""
HIT = "residual-hit"
"""Reason for which a note is withheld: the ensemble finds something in its redacted text."""

Hits = Mapping[str, tuple[Span, ...] | Failed]
"""Note id to what was found in the text that was kept, in offsets of the original, or why there was no answer."""
Resolved = Callable[[Sequence[Note]], Sequence[DisjointSpans | Failed]]
"""Runs the ensemble and resolves its predictions: one outcome per note, in order."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Draw of the notes that are searched.

    Args:
        key: Which notes are drawn follows from it and their ids, and nobody without it knows.
        size: Notes drawn; 0 takes all.
        limit: Largest share of notes with a hit that the draw may leave likely; above it all are
            searched.
    """

    key: Key = field(repr=False)
    size: int = 1000
    limit: float = 0.01

    def of(self, note_ids: Iterable[str]) -> frozenset[str]:
        """Return the ids that are drawn."""
        ranked = sorted(
            note_ids, key=lambda note_id: (self.key.seed("residual sample", note_id), note_id)
        )
        return frozenset(ranked[: self.size or len(ranked)])


@dataclass(frozen=True, slots=True)
class Search:
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
    def bound(self) -> float:
        """Largest share of notes with a hit that the draw leaves likely, one-sided at 95 %."""
        return upper_bound(self.drawn_hits, self.drawn)

    @property
    def is_whole(self) -> bool:
        """Whether every note was searched."""
        return len(self.hits) == self.notes

    def hits_of(self, note_id: str) -> tuple[Span, ...] | Failed | None:
        """Return what the last look at a note found; ``None`` where it was not searched."""
        return self.again.get(note_id, self.hits.get(note_id))

    def withheld(self, stage: str) -> dict[str, Failed]:
        """Return the notes that are withheld, by id."""
        last = {**self.hits, **self.again}
        return {
            note_id: hit if isinstance(hit, Failed) else Failed(note_id, stage, HIT)
            for note_id, hit in last.items()
            if hit
        }


def verify(
    note_ids: Sequence[str],
    *,
    search: Callable[[Collection[str]], Hits],
    redo: Callable[[Mapping[str, tuple[Span, ...]]], Collection[str]],
    draw: Draw,
) -> Search:
    """Search redacted notes, have those with hits redacted again, and search these until nothing is found.

    A note in which something is found after ``REDACTIONS`` more redactions is withheld.

    Args:
        note_ids: Of the redacted notes.
        search: Searches the notes with these ids, as they stand.
        redo: Covers what was found, by note id, in the note and the patient's other notes, redacts
            these notes again, and returns their ids, without those that it withholds itself.
        draw: Which notes are searched.
    """
    chosen = draw.of(note_ids)
    hits = dict(search(chosen))
    drawn_hits = sum(map(bool, hits.values()))
    if len(chosen) < len(note_ids) and upper_bound(drawn_hits, len(chosen)) > draw.limit:
        hits |= search([note_id for note_id in note_ids if note_id not in chosen])
    again = _redacted_until_clean(hits, search, redo)
    return Search(hits, again, len(chosen), drawn_hits, len(note_ids))


def _redacted_until_clean(
    hits: Hits,
    search: Callable[[Collection[str]], Hits],
    redo: Callable[[Mapping[str, tuple[Span, ...]]], Collection[str]],
) -> Hits:
    """Return the last look at each note that was redacted again.

    A detector that learnt from context may find more where a neighbour is covered, so that one more
    redaction is not always the last.
    """
    covered: dict[str, tuple[Span, ...]] = {}
    last: dict[str, tuple[Span, ...] | Failed] = {}
    found = _spans(hits)
    for _ in range(REDACTIONS):
        if not found:
            break
        covered |= {note_id: covered.get(note_id, ()) + spans for note_id, spans in found.items()}
        looked = search(redo(covered))
        last |= looked
        found = _spans(looked)
    return last


def _spans(hits: Hits) -> dict[str, tuple[Span, ...]]:
    return {note_id: hit for note_id, hit in hits.items() if hit and not isinstance(hit, Failed)}


def hits_in(
    redacted: Sequence[tuple[Note, Redacted]], resolved: Resolved, policy: Policy
) -> dict[str, tuple[Span, ...] | Failed]:
    """Return what the ensemble finds in text that was kept of the original.

    Args:
        redacted: Each note with its redaction.
        resolved: The ensemble.
        policy: The notes were redacted with; what it keeps is no hit.
    """
    again = [Note(note.note_id, found.text, note.patient_id, note.lang) for note, found in redacted]
    return {
        found.note_id: (
            outcome if isinstance(outcome, Failed) else _kept_hits(outcome, found, policy)
        )
        for (_, found), outcome in zip(redacted, resolved(again), strict=True)
    }


def _kept_hits(outcome: DisjointSpans, found: Redacted, policy: Policy) -> tuple[Span, ...]:
    kept = [
        piece for piece in residual_hits(outcome, found.edits) if piece.label not in policy.keep
    ]
    starts = [found.to_redacted(piece.start) for piece in kept]
    texts = [
        found.text[start : start + piece.end - piece.start]
        for start, piece in zip(starts, kept, strict=True)
    ]
    return tuple(
        piece for piece, text in zip(kept, texts, strict=True) if any(map(str.isalnum, text))
    )


def residual_hits(hits: Iterable[Span], edits: Sequence[Edit]) -> list[Span]:
    """Return the parts of hits on a redacted text that lie in text kept from the original, in its offsets.

    A hit inside a replacement is a surrogate or a tag doing its work. A hit that reaches over the
    border of a replacement counts with its part outside.
    """
    kept: list[Span] = []
    for hit in hits:
        first = bisect_right(edits, hit.start, key=lambda edit: edit.new_end)
        cursor, shift = hit.start, edits[first - 1].end - edits[first - 1].new_end if first else 0
        for edit in islice(edits, first, None):
            if edit.new_end <= cursor:
                shift = edit.end - edit.new_end
            elif edit.new_start >= hit.end:
                break
            else:
                kept += _piece(hit, cursor, edit.new_start, shift)
                cursor, shift = max(cursor, edit.new_end), edit.end - edit.new_end
        kept += _piece(hit, cursor, hit.end, shift)
    return kept


def _piece(hit: Span, start: int, end: int, shift: int) -> list[Span]:
    if start >= end:
        return []
    return [Span(start + shift, end + shift, hit.label, hit.score, hit.source, hit.native_label)]
