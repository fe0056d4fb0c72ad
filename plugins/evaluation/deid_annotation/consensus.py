"""How far any number of annotators agree over many notes: by token, by span and in pairs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from deid_annotation.alpha import (
    NominalAgreement,
    UnitizingAgreement,
    nominal_alpha,
    unitizing_alpha,
)
from deid_assets.extending import InputError, Note, Phi, Profile, SpanSet
from deid_assets.extending.scoring import Range, union
from deid_evaluation.agreement import Agreement, agreement
from deid_evaluation.span_errors import places

_TOKEN = re.compile(r"[^\W_]+")
OUTSIDE = "O"
"""Label of a token that an annotator did not mark."""


@dataclass(frozen=True, slots=True)
class Consensus:
    """Agreement of annotators.

    Args:
        pairs: Names of two annotators to their agreement.
        spans: On the labels of spans that at least two marked with the same boundaries; ``None``
            where there is none.
        tokens: On the label of every token of the text, unmarked ones too; ``None`` without the
            text.
        unitizing: On where spans are, label by label; ``None`` without the text.
    """

    pairs: Mapping[tuple[str, str], Agreement]
    spans: NominalAgreement | None
    tokens: NominalAgreement | None
    unitizing: UnitizingAgreement | None


def consensus(
    annotators: Mapping[str, Mapping[str, SpanSet]], notes: Mapping[str, Note], *, profile: Profile
) -> Consensus:
    """Return how far annotators agree.

    Args:
        annotators: Name to note id to spans; all of the same notes.
        notes: Note id to note, of all these notes, or empty where the text is not known.
        profile: Labels to compare under.
    """
    names = list(annotators)
    note_ids = list(annotators[names[0]])
    seen = _View(profile)
    annotators = {
        name: {one: seen.of(spans) for one, spans in found.items()}
        for name, found in annotators.items()
    }
    lengths = {one: len(notes[one].text) if notes else 0 for one in note_ids}
    pairs = {
        (first, second): _agreement(annotators[first], annotators[second], lengths)
        for first, second in combinations(names, 2)
    }
    columns = [annotators[name] for name in names]
    return Consensus(
        pairs,
        _nominal(_span_labels(columns, note_ids, profile)),
        _nominal(_token_labels(columns, note_ids, notes, profile)) if notes else None,
        _unitizing(columns, note_ids, notes, profile) if notes else None,
    )


def _agreement(
    first: Mapping[str, SpanSet], second: Mapping[str, SpanSet], lengths: Mapping[str, int]
) -> Agreement:
    """Return how far two annotators agree on notes of these lengths."""
    of_notes = (agreement(first[one], second[one], length=n) for one, n in lengths.items())
    return sum(of_notes, Agreement())


class _View:
    """Shows spans as a profile does.

    One category for each of its labels, and none that it does not count.
    """

    def __init__(self, profile: Profile) -> None:
        first: dict[str, Phi] = {}
        for category, label in profile.labels.items():
            first.setdefault(label, category)
        self._shown = {category: first[label] for category, label in profile.labels.items()}

    def of(self, spans: SpanSet) -> SpanSet:
        shown = [
            replace(span, label=self._shown[span.label])
            for span in spans
            if span.label in self._shown
        ]
        return SpanSet(spans.note_id, spans.digest, tuple(shown))


def _nominal(units: Iterable[Sequence[str | None]]) -> NominalAgreement | None:
    try:
        return nominal_alpha(units)
    except InputError:
        return None  # no unit has two labels


def _span_labels(
    columns: Sequence[Mapping[str, SpanSet]], note_ids: Sequence[str], profile: Profile
) -> Iterator[list[str | None]]:
    for note_id in note_ids:
        marked = [
            {(start, end): label for start, end, label in places(of[note_id], profile)}
            for of in columns
        ]
        for place in sorted({place for labels in marked for place in labels}):
            yield [labels.get(place) for labels in marked]


def _token_labels(
    columns: Sequence[Mapping[str, SpanSet]],
    note_ids: Sequence[str],
    notes: Mapping[str, Note],
    profile: Profile,
) -> Iterator[list[str]]:
    for note_id in note_ids:
        cursors = [_Cursor(places(of[note_id], profile)) for of in columns]
        for token in _TOKEN.finditer(notes[note_id].text):
            yield [cursor.label(*token.span()) for cursor in cursors]


class _Cursor:
    """Gives the label of each token; called from left to right."""

    def __init__(self, marked: Sequence[tuple[int, int, str]]) -> None:
        self._marked, self._at = marked, 0

    def label(self, start: int, end: int) -> str:
        while self._at < len(self._marked) and self._marked[self._at][1] <= start:
            self._at += 1
        over = self._marked[self._at] if self._at < len(self._marked) else None
        return over[2] if over and over[0] < end else OUTSIDE


def _unitizing(
    columns: Sequence[Mapping[str, SpanSet]],
    note_ids: Sequence[str],
    notes: Mapping[str, Note],
    profile: Profile,
) -> UnitizingAgreement:
    """Return the agreement over all notes, joined end to end a character apart.

    No spans of two notes touch.
    """
    joined: list[dict[str, list[Range]]] = [{} for _ in columns]
    offset = 0
    for note_id in note_ids:
        for ranges, of in zip(joined, columns, strict=True):
            by_label: dict[str, list[Range]] = {}
            for start, end, label in places(of[note_id], profile):
                by_label.setdefault(label, []).append((start + offset, end + offset))
            for label, found in by_label.items():
                ranges.setdefault(label, []).extend(union(found))
        offset += len(notes[note_id].text) + 1
    return unitizing_alpha(joined, length=max(1, offset))
