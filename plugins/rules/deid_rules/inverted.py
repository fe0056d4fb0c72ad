"""The word grammar of names whose family name comes first, ``Lee, Anna M.``.

====  ====================================  =================================
Lang  Text                                  Why
====  ====================================  =================================
en    <NAME>Johnson, Mary</NAME> was seen.  a family name and a given one
en    <NAME>Lee, Anna M.</NAME> was seen.   with an initial
en    <NAME>Lee</NAME>, Swelling noted.     an ordinary word is no given name
en    <NAME>Johnson</NAME>, who was seen.   nor is a word in lower case
en    Pain, Nausea, Vomiting.               kept: no family name among them
====  ====================================  =================================
"""

from __future__ import annotations

from deid_rules.letters import ABBREVIATIONS, degree
from deid_rules.lexicon import Lexicon, WordKind
from deid_rules.view import TextView

MAX_FAMILY_WORDS, MAX_GIVEN_WORDS = 4, 4
_FAMILY_GAPS = frozenset((" ", "\u00a0", ". "))
_COMMAS = frozenset((", ", ",", ",\u00a0"))
_GIVEN_GAPS = frozenset((" ", "\u00a0", ". ", "."))


class Inverted:
    """Inverted names in one language.

    Args:
        lexicon: Kinds of words; see ``WordKind``.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.kind = lexicon.kind

    def end(self, view: TextView, first: int, *, any_case: bool = False) -> int | None:
        """Return the index of the last word of a name such as ``Lee, Anna M.``.

        Its family name is ``words[first]``.
        """
        words, gaps = view.words, view.gaps
        comma = self._family_end(view, first)
        if (
            comma is None
            or comma >= len(view.starts)
            or gaps[comma] not in _COMMAS
            or not self._may_be_family(view, first, any_case=any_case)
        ):
            return None
        if not self._is_given(view, comma, words[comma - 1], any_case=any_case):
            return None
        family = [
            self.kind(word)
            for word in view.between(first, comma)
            if not self.kind(word) & WordKind.PARTICLE
        ]
        if (
            len(family) > 1
            and family[0] & WordKind.FIRST
            and not self.kind(words[comma]) & WordKind.FIRST
        ):
            return None
        last, index = comma, comma + 1
        while (
            index < len(view.starts)
            and index - comma < MAX_GIVEN_WORDS
            and gaps[index] in _GIVEN_GAPS
        ):
            if degree(view, index) or not (
                self._is_letter(view, index, any_case)
                or self._second_given(words[comma], words[index], any_case)
            ):
                break
            last, index = index, index + 1
        numbered = len(words[comma]) == 1 and gaps[last + 1].strip(" .")[:1].isdigit()
        return None if numbered else last

    def _family_end(self, view: TextView, first: int) -> int | None:
        """Return the index behind the words that may be a family name; ``None`` where one of them
        never is in a name.
        """
        end = first + 1
        while (
            end < len(view.starts)
            and self._joins(view.words[end - 1], view.gaps[end])
            and end - first < MAX_FAMILY_WORDS
        ):
            kind = self.kind(view.words[end])
            if kind & WordKind.STOP and not kind & WordKind.PARTICLE:
                return None
            end += 1
        return end

    @staticmethod
    def _joins(left: str, gap: str) -> bool:
        """Whether a gap joins words of a family name.

        A blank, or the point of an initial or of ``St.``.
        """
        return gap in _FAMILY_GAPS and (
            gap != ". " or len(left) == 1 or left.lower() in ABBREVIATIONS
        )

    def _may_be_family(self, view: TextView, index: int, *, any_case: bool) -> bool:
        word, following = view.words[index], view.words[index + 1]
        kind = self.kind(word)
        if kind & WordKind.STOP and not kind & (WordKind.PARTICLE | WordKind.LAST):
            return False
        return (
            any_case
            or word[0].isupper()
            or bool(kind & WordKind.PARTICLE and following[0].isupper())
        )

    def _is_given(self, view: TextView, index: int, family: str, *, any_case: bool) -> bool:
        """Whether a word after the comma is a given name.

        By dictionary, or a word no list knows.
        """
        word = view.words[index]
        kind = self.kind(word)
        if kind & (WordKind.STOP | WordKind.SUFFIX | WordKind.INSTITUTION) or degree(view, index):
            return False
        if not word[0].isupper() and (not any_case or family[0].isupper()):
            return False
        if len(word) == 1:
            return word.isupper() and view.gaps[index + 1][:1] in (".", "", " ", "\n", "\r")
        if word.isupper() and not family.isupper():
            return False
        return bool(kind & WordKind.FIRST) or not kind & (WordKind.COMMON | WordKind.PLACE)

    @staticmethod
    def _is_letter(view: TextView, index: int, any_case: bool) -> bool:
        """Whether a word is an initial that ends there.

        ``M.``, ``M`` before a mark or the line's end.
        """
        word = view.words[index]
        if len(word) != 1 or not (any_case or word.isupper()):
            return False
        return not view.gaps[index + 1].startswith(("'", "\u2019", "-", "/"))

    def _second_given(self, given: str, word: str, any_case: bool) -> bool:
        kind = self.kind(word)
        if (
            kind & (WordKind.STOP | WordKind.SUFFIX)
            or len(word) == 1
            or given.isupper() != word.isupper()
        ):
            return False
        if not word[0].isupper() and (not any_case or given[0].isupper()):
            return False
        return bool(kind & WordKind.NAME) or not kind & (
            WordKind.COMMON | WordKind.PLACE | WordKind.INSTITUTION
        )
