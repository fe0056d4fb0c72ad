"""Which notes to annotate next: where the detectors disagree, or where the tagger is unsure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet


class QueryStrategy(StrEnum):
    """How notes are chosen to be annotated."""

    RANDOM = "random"
    """By chance, patient by patient."""
    DISAGREEMENT = "disagreement"
    """Those of which tagger and detector cover different characters."""
    UNCERTAINTY = "uncertainty"
    """Those in which the tagger's spans are improbable (Lewis and Gale 1994)."""


@dataclass(frozen=True, slots=True)
class RankedNote:
    """A note to annotate.

    Args:
        note_id: Which.
        chars: Code points of it.
        disagreement: Characters that one of the two alone covers, for 1,000 of the note.
        uncertainty: Sum over the tagger's spans of what is missing to certainty, for 1,000
            characters of the note.
        tagger_alone: Spans of the tagger of which the detector covers nothing.
        detector_alone: Spans of the detector of which the tagger covers nothing.
    """

    note_id: str
    chars: int
    disagreement: float
    uncertainty: float
    tagger_alone: int
    detector_alone: int

    def by(self, choice: QueryStrategy) -> float:
        """Return what the note is ranked by, the most first."""
        return self.uncertainty if choice is QueryStrategy.UNCERTAINTY else self.disagreement


def rank(
    notes: Sequence[Note],
    detector: Sequence[SpanSet],
    tagger: Sequence[SpanSet],
    choice: QueryStrategy,
) -> list[RankedNote]:
    """Return the notes, the one that is most worth annotating first.

    Args:
        notes: Not annotated yet.
        detector: What is there already found in each.
        tagger: What the tagger finds, spans of any score.
        choice: Other than at random.
    """
    found = [_rank(note, *spans) for note, *spans in zip(notes, detector, tagger, strict=True)]
    return sorted(found, key=lambda one: (-one.by(choice), one.note_id))


def _rank(note: Note, detector: SpanSet, tagger: SpanSet) -> RankedNote:
    one, other = _characters(detector), _characters(tagger)
    share = 1_000 / max(len(note.text), 1)
    return RankedNote(
        note_id=note.note_id,
        chars=len(note.text),
        disagreement=share * len(one ^ other),
        uncertainty=share * sum(1.0 - span.score for span in tagger),
        tagger_alone=sum(one.isdisjoint(range(span.start, span.end)) for span in tagger),
        detector_alone=sum(other.isdisjoint(range(span.start, span.end)) for span in detector),
    )


def _characters(spans: SpanSet) -> set[int]:
    return {at for span in spans for at in range(span.start, span.end)}
