"""What detectors say of a note, as suggestions with the reason why each is doubtful."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from deid_assets import Note, Phi, Span, SpanSet
from deid_assets.extending import SEVERITY

LOW = 0.6
"""Below this confidence a span is doubtful."""
_RAREST_FIRST = 1.0
_BY_KIND = 1.5
_DIRECT = 10
"""Ranks of severity below this identify a person by themselves."""


class Kind(StrEnum):
    """Reason why a suggestion is looked at."""

    NEAR_MISS = "near miss"
    DISAGREEMENT = "disagreement"
    LOW = "low confidence"
    AGREED = "agreed"


_WEIGHTS = {Kind.NEAR_MISS: 1.0, Kind.DISAGREEMENT: 0.7, Kind.LOW: 0.5, Kind.AGREED: 0.0}


@dataclass(frozen=True, slots=True)
class Said:
    """What one detector said.

    Args:
        detector: Its name.
        start: First code point.
        end: One past the last.
        label: Category; empty where it read the note and marked nothing here.
        score: Its confidence.
    """

    detector: str
    start: int = 0
    end: int = 0
    label: str = ""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A place that people decide on.

    Args:
        start: First code point.
        end: One past the last.
        label: Category.
        score: Highest confidence of a detector.
        kinds: Reasons why it is looked at.
        said: What each detector said of it.
        is_merged: Whether the ensemble marks it, so that it is redacted.
    """

    start: int
    end: int
    label: Phi
    score: float
    kinds: tuple[Kind, ...]
    said: tuple[Said, ...]
    is_merged: bool

    @property
    def is_doubtful(self) -> bool:
        """Whether something speaks against taking it as it is."""
        return self.kinds != (Kind.AGREED,)


def is_direct(label: Phi) -> bool:
    """Whether values of a category identify a person by themselves."""
    return SEVERITY[label] < _DIRECT


def labels_of(predictions: Mapping[str, Mapping[str, SpanSet]]) -> dict[str, frozenset[Phi]]:
    """Return the categories that each detector marks somewhere in a batch.

    Of no other one can its silence be told from its not knowing it.
    """
    return {
        name: frozenset(span.label for spans in found.values() for span in spans)
        for name, found in predictions.items()
    }


def suggestions_of(
    note: Note,
    merged: SpanSet,
    predictions: Mapping[str, SpanSet],
    known: Mapping[str, frozenset[Phi]],
) -> list[Suggestion]:
    """Return the suggestions of a note, in order of the text.

    Args:
        note: The note.
        merged: What the ensemble's detectors found together.
        predictions: Detectors that read the note, to what each found.
        known: Categories that each detector marks somewhere; see ``labels_of``.

    Raises:
        DigestError: Spans are of another text.
    """
    said = [SpansByPlace(found.check_against(note)) for found in predictions.values()]
    redacted = SpansByPlace(merged.check_against(note))
    joined = []
    for span in redacted.spans:
        mine = [one for found in said for one in found.overlapping(span)]
        joined.append(_join(span, mine, predictions, known))
    every = [span for found in said for span in found.spans]
    missed = [span for span in every if not redacted.overlapping(span)]
    apart = [_near_miss(group, predictions) for group in _groups(missed)]
    return sorted([*joined, *apart], key=lambda one: (one.start, one.end))


def priority(suggestion: Suggestion, patients: int) -> float:
    """Return how early a suggestion is looked at; more is earlier.

    Categories that identify by themselves come before others, values of few patients before those
    of many, and what nobody redacts yet before what is redacted.

    Args:
        suggestion: It.
        patients: Patients of the batch in whose notes the value stands; 1 or more.
    """
    severity = 1.0 - SEVERITY[suggestion.label] / len(SEVERITY)
    doubt = sum(_WEIGHTS[kind] for kind in suggestion.kinds)
    return severity * (1.0 + _RAREST_FIRST / max(1, patients)) + _BY_KIND * doubt


class SpansByPlace:
    """Spans that are asked for by what they overlap, in a tree of how far they reach.

    However long one of them is, asking takes time by what is found and the logarithm of the rest.

    Args:
        spans: Of a note.
    """

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = sorted(spans)
        self._starts = [span.start for span in self.spans]
        self._reaches = [[span.end for span in self.spans]]  # then those of pairs, of fours, …
        while len(self._reaches[-1]) > 1:
            below = self._reaches[-1]
            self._reaches.append([max(below[at : at + 2]) for at in range(0, len(below), 2)])

    def overlapping(self, span: Span) -> list[Span]:
        """Return the spans that share a character with one, in order."""
        stop = bisect_left(self._starts, span.end)
        found = []
        ahead = [(len(self._reaches) - 1, 0)]
        while ahead:
            level, at = ahead.pop()
            if at << level >= stop or self._reaches[level][at] <= span.start:
                continue
            if level == 0:
                found.append(self.spans[at])
                continue
            halves = (2 * at + 1, 2 * at)  # the left one is taken up first
            ahead += [(level - 1, one) for one in halves if one < len(self._reaches[level - 1])]
        return found


def _join(
    span: Span,
    mine: Sequence[Span],
    predictions: Mapping[str, SpanSet],
    known: Mapping[str, frozenset[Phi]],
) -> Suggestion:
    said = _list_said(mine, [name for name in predictions if span.label in known.get(name, ())])
    kinds = []
    if any(one.label != span.label.value for one in said):
        kinds.append(Kind.DISAGREEMENT)
    score = max((one.score for one in mine), default=span.score)
    if score < LOW:
        kinds.append(Kind.LOW)
    found = tuple(kinds) or (Kind.AGREED,)
    return Suggestion(span.start, span.end, span.label, score, found, said, is_merged=True)


def _near_miss(group: Sequence[Span], predictions: Mapping[str, SpanSet]) -> Suggestion:
    best = max(group, key=lambda one: (one.score, one.end - one.start))
    said = _list_said(group, list(predictions))
    return Suggestion(
        best.start, best.end, best.label, best.score, (Kind.NEAR_MISS,), said, is_merged=False
    )


def _list_said(spans: Sequence[Span], asked: Sequence[str]) -> tuple[Said, ...]:
    found = [Said(one.source, one.start, one.end, one.label.value, one.score) for one in spans]
    speakers = {one.detector for one in found}
    return (*found, *(Said(name) for name in asked if name not in speakers))


def _groups(spans: Sequence[Span]) -> list[list[Span]]:
    groups: list[list[Span]] = []
    end = -1
    for span in sorted(spans):
        if span.start < end:
            groups[-1].append(span)
        else:
            groups.append([span])
        end = max(end, span.end)
    return groups
