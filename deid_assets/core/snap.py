"""Word borders: spans grown so that no half word is left in a released text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from deid_assets.core.span import Span

_NUMBER_SEPARATORS = frozenset(".,/:")
_LETTER, _DIGIT, _NEITHER = "letter", "digit", ""


def snapped(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the spans, none of them smaller, grown to the borders of the words that they begin or
    end inside.

    A word is a run of letters with their combining marks, or of digits with single ``. , / :``
    between them. Letters and digits that touch are two words where they change once (``70jährige``,
    ``12/12/2012REPORT``), and one where they change more often (``f1504dhulz``); an underscore or
    an invisible character inside joins. Apostrophes and hyphens divide, so that the ``'s`` of
    ``Lee's`` and the syndrome of ``Parkinson-Syndrom`` stay. UAX #29 differs in that it joins
    letters and digits always, and letters over an apostrophe.

    Args:
        text: What the spans are of.
        spans: Disjoint and sorted. A span grows up to its neighbour, never over it.
    """
    grown: list[Span] = []
    for index, span in enumerate(spans):
        floor = grown[-1].end if grown else 0
        ceiling = spans[index + 1].start if index + 1 < len(spans) else len(text)
        start, end = span.start, span.end
        while start > floor and inside_word(text, start):
            start -= 1
        while end < ceiling and inside_word(text, end):
            end += 1
        while start < span.start and not _kind(text[start]):
            # what joins a word to its neighbour belongs to neither
            start += 1
        while end > span.end and not _kind(text[end - 1]):
            end -= 1
        grown.append(replace(span, start=start, end=end))
    return grown


def inside_word(text: str, at: int) -> bool:
    """Whether the characters on both sides of an offset belong to one word."""
    if not 0 < at < len(text):
        return False
    left, right = _kind(text[at - 1]), _kind(text[at])
    if left and right:
        return left == right or _changes_again(text, at)
    if left or right:
        return _joins(text, at if left else at - 1)
    return False


def _kind(character: str) -> str:
    if character.isalpha() or unicodedata.category(character)[0] == "M":
        return _LETTER
    return _DIGIT if character.isalnum() else _NEITHER


def _changes_again(text: str, at: int) -> bool:
    """Whether letters and digits that change at an offset also change elsewhere in their run."""
    first, left = at - 1, _kind(text[at - 1])
    while first > 0 and _kind(text[first - 1]) == left:
        first -= 1
    last, right = at, _kind(text[at])
    while last + 1 < len(text) and _kind(text[last + 1]) == right:
        last += 1
    return (first > 0 and _kind(text[first - 1]) != _NEITHER) or (
        last + 1 < len(text) and _kind(text[last + 1]) != _NEITHER
    )


def _joins(text: str, at: int) -> bool:
    """Whether a character that is no letter or digit stands inside one word."""
    if not 0 < at < len(text) - 1:
        return False
    left, right = _kind(text[at - 1]), _kind(text[at + 1])
    if text[at] in _NUMBER_SEPARATORS:
        return left == right == _DIGIT
    return bool(left and right) and (text[at] == "_" or unicodedata.category(text[at]) == "Cf")
