"""The identifiers known of a patient, and every place where one of them is still readable."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span
from deid_assets.languages.vocabulary import is_ordinary

MIN_CHARS = 4
"""Letters and digits a value needs.

Shorter ones ("3", "M", "Li") are ordinary words and numbers elsewhere.
"""

MIN_DIGITS = 7
"""Digits from which a number is sought in every grouping, as 617-555-0143 in 6175550143."""

SHARED = frozenset({Phi.AGE, Phi.SEX, Phi.COUNTRY, Phi.REGION, Phi.PROFESSION, Phi.RELATIVE})
"""Categories whose values are ordinary words or numbers.

Their second occurrence identifies nobody.
"""

_BORDER = "\ud800"
"""Stands between kept segments.

No note holds it, since a lone surrogate is refused; it is part of no token.
"""

_TOKEN = re.compile(r"[^\W_]+")
_TOKEN_OR_BORDER = re.compile(rf"[^\W_]+|{_BORDER}")
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_NUMBER = re.compile(r"\d(?:[ .\-/()]{0,2}\d)+")

PLACES = frozenset({Phi.HOSPITAL, Phi.ORGANIZATION, Phi.LOCATION, Phi.STREET})
"""Categories of which one ordinary word ("Hospital", "Ward") tells no place from another."""

Tokens = tuple[str, ...]
Patient = tuple[bool, str]
"""Whether the note names its patient, and the patient's id or the note's."""


class Extent(Enum):
    """Extent of an occurrence of a value."""

    WHOLE = "whole"
    LOWER_CASE = "lower case"
    """A single capitalised word that occurs in lower case ("Will" and "will")."""
    PART = "part"
    """A word of a longer name on its own ("Lee" of "Jane Lee", but also "Prof" of "Prof Lee")."""


class Occurrence(NamedTuple):
    """A place where a value is readable.

    Args:
        start: First code point.
        end: One past the last.
        how: How much of the value it is.
        origin: A span that has the value.
    """

    start: int
    end: int
    how: Extent
    origin: Span


class Survival(NamedTuple):
    """Values that survive in one note.

    Args:
        survivors: Whole values; the note may not leave.
        lower_case: Single capitalised words that occur in lower case ("Will" and "will").
        name_parts: Words of a longer name on their own ("Lee" of "Jane Lee", but also "Prof" of
            "Prof Lee").
    """

    survivors: int = 0
    lower_case: int = 0
    name_parts: int = 0


class _Whole(NamedTuple):
    is_capitalised: bool
    origin: Span


@dataclass(slots=True)
class Values:
    """The identifiers of one patient.

    Long numbers as digits alone, all others as folded tokens by their first.

    Not among them, because they would raise false alarms: values with fewer than 4 letters and
    digits; the categories in ``SHARED``; one ordinary word for a place; dates without a digit
    ("Monday") and bare years.
    """

    whole: defaultdict[str, dict[Tokens, _Whole]] = field(
        default_factory=lambda: defaultdict(dict), repr=False
    )
    parts: dict[str, Span] = field(default_factory=dict, repr=False)
    numbers: dict[str, Span] = field(default_factory=dict, repr=False)

    def add(self, text: str, span: Span, lang: str | None) -> None:
        """Add the text that a span covers in a note of a language.

        Of two spans with one value the surer is its origin.
        """
        tokens = tuple(_TOKEN.findall(text))
        joined = "".join(tokens)
        if not _is_telling(tokens, joined, span.label, lang):
            return
        if joined.isdigit() and len(joined) >= MIN_DIGITS:
            self.numbers[joined] = _first(span, self.numbers.get(joined))
            return
        folded = tuple(map(str.casefold, tokens))
        is_capitalised = len(tokens) == 1 and joined.isalpha() and not joined.islower()
        known = self.whole[folded[0]].get(folded)
        self.whole[folded[0]][folded] = _Whole(
            is_capitalised and (known is None or known.is_capitalised),
            _first(span, known.origin if known else None),
        )
        if span.label is Phi.NAME and len(tokens) > 1:
            for token in tokens:
                if len(token) >= MIN_CHARS and token.isalpha():
                    self.parts[token.casefold()] = _first(span, self.parts.get(token.casefold()))

    def __len__(self) -> int:
        return len(self.numbers) + sum(map(len, self.whole.values()))

    def occurrences(self, text: str, covered: Iterable[tuple[int, int]]) -> Iterator[Occurrence]:
        """Yield where a value is readable outside the covered ranges, in offsets of the text.

        A value is readable where its letters and digits occur as a whole sequence of tokens, case
        folded, whatever the blanks and punctuation between them, between two covered ranges; a
        number of at least seven digits in whatever grouping, also inside a longer one. Scripts that
        put no blanks between words are compared run by run, so a name inside a run is not found.

        Args:
            text: The note's.
            covered: Ranges that are not looked at, sorted and disjoint.
        """
        if not (self.whole or self.numbers or self.parts):
            return
        kept = _Kept.of(text, covered)
        yield from self._numbers(kept)
        tokens = _TOKEN_OR_BORDER.findall(kept.text)
        folded = list(map(str.casefold, tokens))
        distinct = set(folded)
        has_whole, has_part = (
            not distinct.isdisjoint(self.whole),
            not distinct.isdisjoint(self.parts),
        )
        if not (has_whole or has_part):
            return
        matches = list(_TOKEN_OR_BORDER.finditer(kept.text))
        if has_whole:
            yield from self._wholes(kept, matches, folded)
        if has_part:
            for match, token in zip(matches, folded, strict=True):
                if token in self.parts:
                    yield kept.occurrence(
                        match.start(), match.end(), Extent.PART, self.parts[token]
                    )

    def _wholes(
        self, kept: _Kept, matches: Sequence[re.Match[str]], folded: Sequence[str]
    ) -> Iterator[Occurrence]:
        for at, token in enumerate(folded):
            if token not in self.whole:
                continue
            for value, (is_capitalised, origin) in self.whole[token].items():
                last = at + len(value) - 1
                if last == at or tuple(folded[at : last + 1]) == value:
                    is_common = is_capitalised and matches[at].group().islower()
                    how = Extent.LOWER_CASE if is_common else Extent.WHOLE
                    yield kept.occurrence(matches[at].start(), matches[last].end(), how, origin)

    def _numbers(self, kept: _Kept) -> Iterator[Occurrence]:
        if not self.numbers:
            return
        for run in _NUMBER.finditer(kept.text):
            if len(run.group()) < MIN_DIGITS:
                continue
            digits = "".join(filter(str.isdigit, run.group()))
            for number, origin in self.numbers.items():
                for _ in range(digits.count(number)):
                    yield kept.occurrence(run.start(), run.end(), Extent.WHOLE, origin)


@dataclass(frozen=True, slots=True)
class _Kept:
    """The text between covered ranges, with the offset at which each piece begins in it and in the
    note.
    """

    text: str
    starts: Sequence[int]
    originals: Sequence[int]

    @classmethod
    def of(cls, text: str, covered: Iterable[tuple[int, int]]) -> _Kept:
        pieces: list[str] = []
        starts: list[int] = []
        originals: list[int] = []
        cursor = size = 0
        for start, end in [*covered, (len(text), len(text))]:
            if start > cursor:
                pieces.append(text[cursor:start])
                starts.append(size)
                originals.append(cursor)
                size += start - cursor + 1
            cursor = max(cursor, end)
        return cls(_BORDER.join(pieces), starts, originals)

    def occurrence(self, start: int, end: int, how: Extent, origin: Span) -> Occurrence:
        piece = bisect_right(self.starts, start) - 1
        shift = self.originals[piece] - self.starts[piece]
        return Occurrence(start + shift, end + shift, how, origin)


def values_by_note(
    notes: Iterable[tuple[Note, Iterable[Span]]],
    *,
    is_value: Callable[[Span], bool] = lambda _: True,
) -> dict[str, Values]:
    """Return, by note id, the values that the spans of the patient's notes cover.

    One object for all notes of a patient.

    Args:
        notes: Each with its spans. Notes with the same ``patient_id`` share their values.
        is_value: Whether what a span covers is sought.
    """
    values: defaultdict[Patient, Values] = defaultdict(Values)
    by_note: dict[str, Values] = {}
    for note, spans in notes:
        of_patient = by_note[note.note_id] = values[patient_of(note)]
        seen: set[tuple[str, Phi]] = set()
        for span in spans:
            text = note.text[span.start : span.end]
            if is_value(span) and (text, span.label) not in seen:
                seen.add((text, span.label))
                of_patient.add(text, span, note.lang)
    return by_note


def patient_of(note: Note) -> Patient:
    """Return whose note it is; a note without ``patient_id`` has a patient of its own."""
    return (False, note.note_id) if note.patient_id is None else (True, note.patient_id)


def _is_telling(tokens: Tokens, joined: str, label: Phi, lang: str | None) -> bool:
    if label in SHARED or len(joined) < MIN_CHARS:
        return False
    if label in PLACES and len(tokens) == 1 and is_ordinary(joined, lang):
        return False
    return label is not Phi.DATE or (any(map(str.isdigit, joined)) and not _YEAR.fullmatch(joined))


def _first(span: Span, other: Span | None) -> Span:
    """Return the surer of two spans; which one must not depend on the order of the notes."""
    return (
        span
        if other is None
        else min(span, other, key=lambda one: (-one.score, one.label.value, one.source))
    )
