"""Spread: a value that was found once is covered wherever else it stands in that
patient's notes.

``Values`` are what is known of a patient, and find every place where one of them is still readable;
verify asks them too.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import ClassVar, NamedTuple

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.languages.vocabulary import is_ordinary
from deid_assets.pipeline.batch import Batch, Patient, patient_of

SPREAD = "spread"
"""Source of the spans that are spread; no detector may have this name."""

MIN_PART_SCORE = 0.75
"""Least score of a name whose words are spread one by one."""

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
DASHES = (
    "\u00ad\u02d7\u058a\u05be\u1400\u1806\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\u2e17\u2e1a"
    "\u2e3a\u2e3b\u2e40\u2e5d\u301c\u3030\u30a0\ufe31\ufe32\ufe58\ufe63\uff0d\U00010ead"
    "\u223c\u30fc\uff5e~-"
)
"""What groups the digits of a number as a hyphen does: every dash of Unicode, the minus,
tildes, and hyphens that are shown at a line's end alone.
"""
_BLANKS = "\\t \u00a0\u1680\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff"
_POINTS = "./()\u00b7\u2044\u2215\uff08\uff09\uff0e\uff0f"
_DASH = f"[{re.escape(DASHES)}]"
_BETWEEN = rf"[{_BLANKS}{_POINTS}{re.escape(DASHES)}]{{0,2}}|[{_BLANKS}]{_DASH}[{_BLANKS}]"
_NUMBER = re.compile(rf"\d(?:(?:{_BETWEEN})\d)+")

PLACES = frozenset({Phi.HOSPITAL, Phi.ORGANIZATION, Phi.LOCATION, Phi.STREET})
"""Categories of which one ordinary word ("Hospital", "Ward") tells no place from another."""

Tokens = tuple[str, ...]


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
        _widen_to_words(note.text, occurrence, covered)
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


def _widen_to_words(text: str, occurrence: Occurrence, covered: Sequence[tuple[int, int]]) -> Span:
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
        if joined.isdecimal() and len(joined) >= MIN_DIGITS:
            number = _digits_in(joined)
            self.numbers[number] = _first(span, self.numbers.get(number))
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
            digits = _digits_in(run.group())
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


def _digits_in(text: str) -> str:
    """Return the digits of a text, those of other scripts and widths as ASCII has them."""
    if text.isascii():
        return "".join(filter(str.isdigit, text))
    return "".join(str(unicodedata.decimal(char)) for char in text if char.isdecimal())


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
