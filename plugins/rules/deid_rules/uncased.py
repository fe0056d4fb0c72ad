"""Names that no capital shows or no cue announces.

In lower case after a cue, at a line's margin, in lists of authors.

====  ===================================================  =================================
Lang  Text                                                 Why
====  ===================================================  =================================
en    patient <NAME>john smith</NAME> has pain.            both names after a cue
en    patient <NAME>smith, john</NAME> has pain.           the family name first
en    <NAME>Johnson</NAME>: seen today.                    at a line's margin
en    Authors: <NAME>Smith JA</NAME>, <NAME>Lee K</NAME>.  in a list of authors
en    patient will smith, patient brown stool.             kept: a given name that is a word
en    Hepatitis B, Vitamin K.                              kept: no list of authors
en    Swelling: none                                       kept: a word at the margin
====  ===================================================  =================================
"""

from __future__ import annotations

import re

from deid_rules.lexicon import Lexicon, WordKind
from deid_rules.view import TextView

MAX_WORDS = 5
_BLANKS = frozenset((" ", "  ", "\u00a0", "\u202f"))
_COMMON = WordKind.COMMON | WordKind.STOP
_BYLINE = re.compile(
    r"\b(?:by|authors?|investigators?|editors?|autor\w{0,5}|verfasser\w{0,5}|auteurs?|författare|tekijät?)\b"
    r"[^.;\r\n]{0,160}\Z",
    re.IGNORECASE,
)
"""Pattern of the beginning of a list of authors, up to one of them."""
_REACH = 190


class Uncased:
    """Names of which a list must know each word.

    Args:
        lexicon: Kinds of words; see ``WordKind``.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.kind = lexicon.kind

    def find_known(self, view: TextView, first: int) -> tuple[int, int] | None:
        """A given with a family name in lower case, ``john smith`` or ``smith, john``.

        The given name is no word.
        """
        word = view.words[first]
        kind = self.kind(word)
        if (
            not kind & WordKind.NAME
            or (kind & _COMMON and not kind & WordKind.LAST)
            or not word.islower()
        ):
            return None
        if view.gaps[first + 1] in (", ", ","):
            return self._find_inverted(view, first)
        if not self._is(view, first, WordKind.FIRST):
            return None
        last, at = first, first + 1
        while at < len(view.starts) and at - first < MAX_WORDS and self._joins(view, at):
            kind = self.kind(view.words[at])
            if self._is(view, at, WordKind.NAME) or self._family(view, at):
                last = at
            elif not kind & WordKind.PARTICLE and len(view.words[at]) > 1:
                break
            at += 1
        named = any(self._family(view, index) for index in range(first + 1, last + 1))
        return (view.starts[first], view.stops[last]) if named else None

    def _find_inverted(self, view: TextView, first: int) -> tuple[int, int] | None:
        given = first + 1
        if (
            given >= len(view.starts)
            or not view.words[given].islower()
            or not self._family(view, first)
        ):
            return None
        return (
            (view.starts[first], view.stops[given])
            if self._is(view, given, WordKind.FIRST)
            else None
        )

    def margin(self, view: TextView, start: int, end: int) -> tuple[int, int] | None:
        """The family name that is [start, end), at the beginning of a line.

        A colon or slash follows it.
        """
        index = view.word_from(start)
        if index >= len(view.starts) or view.stops[index] != end or view.words[index].isupper():
            return None
        kind = self.kind(view.words[index])
        wrong = _COMMON | WordKind.PLACE | WordKind.EPONYM_TAIL | WordKind.INSTITUTION
        if not view.text.startswith("/ ", end):
            wrong |= WordKind.EPONYM
        return (
            (start, end) if kind & WordKind.LAST and not kind & wrong and end - start > 2 else None
        )

    def author(self, view: TextView, start: int, end: int) -> tuple[int, int] | None:
        """The name that is [start, end), such as ``Lee KA``.

        It is in a list that a word such as ``Authors`` begins.
        """
        family = range(view.word_from(start), view.word_before(end))
        if not any(self._family(view, index) for index in family) or self._is_pointed(
            view, start, end
        ):
            return None
        return (start, end) if _BYLINE.search(view.text[max(0, start - _REACH) : start]) else None

    def _is_pointed(self, view: TextView, start: int, end: int) -> bool:
        """Whether it is a given name with a pointed initial, ``Anna R.``.

        The family name may follow it.
        """
        pointed = (
            view.text[end : end + 2] in (". ", ".,") and view.text[end - 2 : end - 1].isspace()
        )
        return pointed and bool(self.kind(view.words[view.word_from(start)]) & WordKind.FIRST)

    def _family(self, view: TextView, index: int) -> bool:
        """Whether a word may be a family name, be it a word too."""
        kind = self.kind(view.words[index])
        return (
            bool(kind & WordKind.LAST) and not kind & WordKind.STOP and len(view.words[index]) > 2
        )

    def _is(self, view: TextView, index: int, kind: int) -> bool:
        """Whether a word is of a kind and no ordinary vocabulary."""
        found = self.kind(view.words[index])
        return bool(found & kind) and not found & _COMMON and len(view.words[index]) > 1

    @staticmethod
    def _joins(view: TextView, index: int) -> bool:
        word, gap = view.words[index], view.gaps[index]
        return word.islower() and (
            gap in _BLANKS or (gap in (". ", "-") and len(view.words[index - 1]) == 1)
        )
