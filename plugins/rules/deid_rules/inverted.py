"""The word grammar of names whose family name comes first, ``Lee, Anna M.``."""

from __future__ import annotations

from deid_rules.letters import ABBREVIATIONS, degree
from deid_rules.lexicon import Kind, Lexicon
from deid_rules.view import View

MAX_FAMILY_WORDS, MAX_GIVEN_WORDS = 4, 4
_FAMILY_GAPS = frozenset((" ", "\u00a0", ". "))
_COMMAS = frozenset((", ", ",", ",\u00a0"))
_GIVEN_GAPS = frozenset((" ", "\u00a0", ". ", "."))


class Inverted:
    """Inverted names in one language.

    Args:
        lexicon: Kinds of words; see ``Kind``.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.kind = lexicon.kind

    def end(self, view: View, first: int, *, any_case: bool = False) -> int | None:
        """Return the index of the last word of a name such as ``Lee, Anna M.``.

        Its family name is ``words[first]``.
        """
        words, gaps = view.words, view.gaps
        comma = first + 1
        while (
            comma < len(view.starts)
            and self._joins(words[comma - 1], gaps[comma])
            and comma - first < MAX_FAMILY_WORDS
        ):
            if self.kind(words[comma]) & Kind.STOP and not self.kind(words[comma]) & Kind.PARTICLE:
                return None
            comma += 1
        if (
            comma >= len(view.starts)
            or gaps[comma] not in _COMMAS
            or not self._may_be_family(view, first, any_case=any_case)
        ):
            return None
        if not self._given(view, comma, words[comma - 1], any_case=any_case):
            return None
        family = [
            self.kind(word)
            for word in view.between(first, comma)
            if not self.kind(word) & Kind.PARTICLE
        ]
        if len(family) > 1 and family[0] & Kind.FIRST and not self.kind(words[comma]) & Kind.FIRST:
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

    @staticmethod
    def _joins(left: str, gap: str) -> bool:
        """Whether a gap joins words of a family name.

        A blank, or the point of an initial or of ``St.``.
        """
        return gap in _FAMILY_GAPS and (
            gap != ". " or len(left) == 1 or left.lower() in ABBREVIATIONS
        )

    def _may_be_family(self, view: View, index: int, *, any_case: bool) -> bool:
        word, following = view.words[index], view.words[index + 1]
        kind = self.kind(word)
        if kind & Kind.STOP and not kind & (Kind.PARTICLE | Kind.LAST):
            return False
        return (
            any_case or word[0].isupper() or bool(kind & Kind.PARTICLE and following[0].isupper())
        )

    def _given(self, view: View, index: int, family: str, *, any_case: bool) -> bool:
        """Whether a word after the comma is a given name.

        By dictionary, or a word no list knows.
        """
        word = view.words[index]
        kind = self.kind(word)
        if kind & (Kind.STOP | Kind.SUFFIX | Kind.INSTITUTION) or degree(view, index):
            return False
        if not word[0].isupper() and (not any_case or family[0].isupper()):
            return False
        if len(word) == 1:
            return word.isupper() and view.gaps[index + 1][:1] in (".", "", " ", "\n", "\r")
        if word.isupper() and not family.isupper():
            return False
        return bool(kind & Kind.FIRST) or not kind & (Kind.COMMON | Kind.PLACE)

    @staticmethod
    def _is_letter(view: View, index: int, any_case: bool) -> bool:
        """Whether a word is an initial that ends there.

        ``M.``, ``M`` before a mark or the line's end.
        """
        word = view.words[index]
        if len(word) != 1 or not (any_case or word.isupper()):
            return False
        return not view.gaps[index + 1].startswith(("'", "\u2019", "-", "/"))

    def _second_given(self, given: str, word: str, any_case: bool) -> bool:
        kind = self.kind(word)
        if kind & (Kind.STOP | Kind.SUFFIX) or len(word) == 1 or given.isupper() != word.isupper():
            return False
        if not word[0].isupper() and (not any_case or given[0].isupper()):
            return False
        return bool(kind & Kind.NAME) or not kind & (Kind.COMMON | Kind.PLACE | Kind.INSTITUTION)
