"""Why a span was removed.

Each word around it is blanked in turn, and how far the detector's score falls is its weight.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from deid_assets import Note, Span, SpanSet
from deid_assets.extending import Detector, DetectorError, InputError

_WORD = re.compile(r"\w+")
REACH = 12
"""Words on each side that are tried."""


@dataclass(frozen=True, slots=True)
class Cue:
    """A word and what it does for a span.

    Args:
        start: First code point in the note.
        end: One past the last.
        drop: Score of the span less that without the word, in [-1, 1]; above 0 the word speaks for
            the span.
    """

    start: int
    end: int
    drop: float


def cues(detector: Detector, note: Note, span: Span, *, reach: int = REACH) -> list[Cue]:
    """Return the words around a span, the weightiest first, those next to it before others of the
    same weight.

    An occlusion, as Zeiler and Fergus (2014) do with pictures: a word is replaced by as many
    blanks, so that offsets stay. Nothing found where the span was counts as a score of 0, and so
    does a note that the detector fails on.

    Args:
        detector: Any; one whose scores are all alike tells only the words without which it finds
            nothing.
        note: The note.
        span: One that the detector finds in it.
        reach: Words on each side that are tried.

    Raises:
        InputError: The detector does not find the span.
    """
    words = [match.span() for match in _WORD.finditer(note.text)]
    before = [place for place in words if place[1] <= span.start][-reach:] if reach else []
    after = [place for place in words if place[0] >= span.end][:reach]
    base = _score(detector, note, span)
    if not base:
        raise InputError(
            f"{detector.name}: note {note.note_id!r}: nothing is found at {span.start} to"
            f" {span.end}"
        )
    found = [
        Cue(*place, round(base - _score(detector, _blank(note, place), span), 4))
        for place in [*before, *after]
    ]
    return sorted(
        found,
        key=lambda cue: (-cue.drop, min(abs(span.start - cue.end), abs(cue.start - span.end))),
    )


def _blank(note: Note, place: tuple[int, int]) -> Note:
    start, end = place
    text = note.text[:start] + " " * (end - start) + note.text[end:]
    return Note(f"without {start}", text, lang=note.lang)


def _score(detector: Detector, note: Note, span: Span) -> float:
    """Return the best score of what is found over at least half of a span."""
    try:
        (spans,) = detector.detect([note])
    except DetectorError:
        return 0.0
    return max((one.score for one in _select_overlapping(spans, span)), default=0.0)


def _select_overlapping(spans: SpanSet, span: Span) -> Sequence[Span]:
    half = (span.end - span.start) / 2
    return [one for one in spans if min(one.end, span.end) - max(one.start, span.start) >= half]
