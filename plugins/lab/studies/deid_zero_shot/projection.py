"""Spans carried from a note to its translation through a word alignment, with all that could not be
placed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from deid_assets import Note, Span, SpanSet
from deid_assets.extending import InputError, Token
from deid_assets.extending.languages import find

_PAIR = re.compile(r"(\d+)-(\d+)")


class Why(StrEnum):
    """Why a span was not placed, or is to be looked at."""

    UNALIGNED = "no word of it is aligned"
    SCATTERED = "its words are aligned to places far apart"
    TAKEN = "another span is there already"
    EDGE = "it begins or ends inside a word"
    SEX = "its letter stands for another sex in the translation"
    DROPPED = "its marker is gone"
    REORDERED = "its marker stands in another order"
    NESTED = "a marker stands inside another"
    EXTRA = "a marker is empty, left open or of no span"


@dataclass(frozen=True, slots=True)
class ProjectionDoubt:
    """A span of the original that a person should look at.

    Args:
        span: In the original; for a marker that is nested or extra, its place in the translation.
        why: What is the matter.
        placed: Whether it was placed all the same.
    """

    span: Span
    why: Why
    placed: bool


@dataclass(frozen=True, slots=True)
class Projected:
    """Spans of a translation.

    Args:
        spans: In the translation.
        doubts: In the order of the original.
        total: Spans of the original.
    """

    spans: SpanSet
    doubts: Sequence[ProjectionDoubt] = field(default=())
    total: int = 0

    @property
    def lost(self) -> int:
        """Number of spans that could not be projected."""
        return self.total - len(self.spans)


def words(text: str) -> list[Token]:
    """Return what stands between blanks.

    The words that aligners number when they are given plain text.
    """
    return [match.span() for match in re.finditer(r"\S+", text)]


def read_alignment(line: str, *, source: int, target: int, note_id: str) -> list[tuple[int, int]]:
    """Return the pairs of one line in the ``i-j`` format of fast_align, eflomal, SimAlign and
    others.

    Args:
        line: As ``0-0 1-2 2-1``, numbers from 0.
        source: Words in the original.
        target: Words in the translation.
        note_id: For the message.

    Raises:
        InputError: An entry is no pair, or has a number that no word has.
    """
    pairs = []
    for entry in line.split():
        match = _PAIR.fullmatch(entry)
        if not match:
            raise InputError(
                f"note {note_id!r}: alignment entry {entry!r} must read i-j, numbers from 0"
            )
        pair = int(match[1]), int(match[2])
        if pair[0] >= source or pair[1] >= target:
            raise InputError(
                f"note {note_id!r}: alignment entry {entry!r}, but there are {source} and {target}"
                " words; align the same words as deid_zero_shot.projection.words gives"
            )
        pairs.append(pair)
    return pairs


def project(
    source: Note,
    spans: Sequence[Span],
    target: Note,
    pairs: Sequence[tuple[int, int]],
    *,
    most_apart: int = 2,
) -> Projected:
    """Return the spans of a translation.

    A span takes the words that its own are aligned to, from the first to the last; where those are
    more than ``most_apart`` words apart, the longest run alone, with a doubt. Punctuation around it
    is left out as in the original.

    Args:
        source: The original.
        spans: In it, disjoint.
        target: Its translation.
        pairs: Word numbers in the original and in the translation, over what stands between blanks.
        most_apart: Words that may lie unaligned within a span.
    """
    source_words, target_words = words(source.text), words(target.text)
    links: dict[int, list[int]] = {}
    for one, other in pairs:
        links.setdefault(one, []).append(other)
    placed: list[Span] = []
    doubts: list[ProjectionDoubt] = []
    taken: set[int] = set()
    for span in sorted(spans):
        inside = _numbers_of(span, source_words)
        found = sorted({other for number in inside for other in links.get(number, ())})
        if not found:
            doubts.append(ProjectionDoubt(span, Why.UNALIGNED, placed=False))
            continue
        run = _longest_run(found, most_apart)
        start, end = _trim(
            source.text, span, target.text, (target_words[run[0]][0], target_words[run[-1]][1])
        )
        covered = set(range(start, end))
        if taken & covered:
            doubts.append(ProjectionDoubt(span, Why.TAKEN, placed=False))
            continue
        taken |= covered
        placed.append(replace(span, start=start, end=end))
        if len(run) < len(found):
            doubts.append(ProjectionDoubt(span, Why.SCATTERED, placed=True))
        elif why := _doubt_on(source, span, target, (start, end)):
            doubts.append(ProjectionDoubt(span, why, placed=True))
    return Projected(SpanSet.of(target, placed), doubts, len(spans))


def _numbers_of(span: Span, source_words: Sequence[Token]) -> list[int]:
    """Return the numbers of the words that a span meets."""
    return [
        number
        for number, (start, end) in enumerate(source_words)
        if start < span.end and end > span.start
    ]


def _doubt_on(source: Note, span: Span, target: Note, place: Token) -> Why | None:
    """Return why a span that was placed may be wrong."""
    if _cuts_word(source.text, span):
        return Why.EDGE
    return Why.SEX if is_other_sex(source, span, target, place) else None


def is_other_sex(source: Note, span: Span, target: Note, place: Token) -> bool:
    """Whether both are letters for a sex, and not for the same one."""
    sexes = _sex(source, (span.start, span.end)), _sex(target, place)
    return None not in sexes and sexes[0] != sexes[1]


def _sex(note: Note, place: Token) -> str | None:
    """Return what a letter after "sex" means in a language.

    Spanish M is a woman (mujer), English M a man.
    """
    language = find(note.lang)
    return language.sexes.get(note.text[slice(*place)].lower()) if language else None


def _longest_run(found: Sequence[int], most_apart: int) -> Sequence[int]:
    runs: list[list[int]] = [[found[0]]]
    for number in found[1:]:
        if number - runs[-1][-1] > most_apart + 1:
            runs.append([])
        runs[-1].append(number)
    return max(runs, key=len)


def _trim(text: str, span: Span, other: str, place: Token) -> Token:
    """Return a place without the punctuation around it, unless the original span has such at that
    end.
    """
    start, end = place
    if text[span.start].isalnum():
        while start < end - 1 and not other[start].isalnum():
            start += 1
    if text[span.end - 1].isalnum():
        while end - 1 > start and not other[end - 1].isalnum():
            end -= 1
    return start, end


def _cuts_word(text: str, span: Span) -> bool:
    """Whether a letter or digit stands right before or after the span within one of its words."""
    before = span.start > 0 and text[span.start - 1].isalnum() and text[span.start].isalnum()
    after = span.end < len(text) and text[span.end].isalnum() and text[span.end - 1].isalnum()
    return before or after
