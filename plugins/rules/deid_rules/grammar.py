"""The word grammar that finds where a name ends, or begins; patterns and dictionaries start it."""

from __future__ import annotations

from deid_rules.lexicon import Kind, Lexicon
from deid_rules.view import View

MAX_NAME_WORDS = 5
_BLANKS = frozenset((" ", "\u00a0", "\u202f", "  "))
_INITIAL_GAPS = frozenset((". ", ".", ".\u00a0", " ", ".-", "-"))
ABBREVIATIONS = frozenset(("st", "mt", "ft", "ste", "dr", "sta", "sto"))


def is_initial(word: str) -> bool:
    """Whether a word is one capital letter."""
    return len(word) == 1 and word.isupper()


def pointed(view: View, index: int) -> bool:
    """Whether a word of the text is a capital with a point, ``J.``."""
    return is_initial(view.words[index]) and view.gaps[index + 1].startswith(".")


def middle_initial(view: View, index: int) -> bool:
    """Whether a capital stands alone before another capitalised word, ``A`` in ``Anna A Lee``."""
    following = view.words[index + 1 : index + 2]
    if not is_initial(view.words[index]) or not following or view.gaps[index + 1] != " ":
        return False
    return following[0][0].isupper() and following[0][1:2].islower()


def without_possessive(word: str) -> str:
    """The word less a final ``'s``."""
    return word[:-2] if word[-2:] in ("'s", "\u2019s", "'S", "\u2019S") else word


class NameGrammar:
    """Names of people in one language.

    Args:
        lexicon: Kinds of words; see ``Kind``.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.kind = lexicon.kind

    def name_at(self, view: View, offset: int, *, any_case: bool = False) -> tuple[int, int] | None:
        """Return the name that begins at ``offset``; with ``any_case`` it may be in lower case, or inverted by a comma."""
        words, gaps = view.words, view.gaps
        first = view.word_from(offset)
        if first >= len(words) or view.starts[first] != offset:
            return None
        if not (pointed(view, first) or self._may_begin(words[first], any_case=any_case)):
            return None
        last, index = first, first + 1
        while index < len(words) and index - first < MAX_NAME_WORDS:
            gap, word = gaps[index], words[index]
            if gap == ", " and any_case and last == first and self._given(word):
                last, index = index, index + 1
                continue
            if not self._joins(words[index - 1], gap):
                break
            if self._leads(view, index):
                index += 1
                continue
            if not (
                pointed(view, index)
                or middle_initial(view, index)
                or self._may_follow(words[index - 1], word, any_case=any_case)
            ):
                break
            last, index = index, index + 1
        if last == first and not any_case and not words[first][0].isupper():
            return None
        return view.starts[first], self.name_end(view, last)

    def _leads(self, view: View, index: int) -> bool:
        """Whether a particle, ``de`` or ``DE``, leads on to a capitalised word."""
        word, following = view.words[index], view.words[index + 1 : index + 3]
        if not self.kind(word) & Kind.PARTICLE or not following or view.gaps[index + 1] not in _BLANKS:
            return False
        return not word[0].isupper() or (word.isupper() and len(word) > 1 and following[0].isupper())

    def name_cased(self, view: View, offset: int) -> tuple[int, int] | None:
        """A name as ``name_at`` finds it, unless it begins with an acronym or an eponym."""
        found = self.name_at(view, offset)
        if found is None:
            return None
        word = view.words[view.word_from(offset)]
        kind = self.kind(word)
        if not word[0].isupper() and kind & Kind.COMMON and len(word) > 2:
            return None
        if kind & Kind.EPONYM or (len(word) > 1 and without_possessive(word).isupper() and not kind & Kind.NAME):
            return None
        return found

    def name_lower(self, view: View, offset: int) -> tuple[int, int] | None:
        """A name that may be in lower case and whose first word is no common vocabulary."""
        first = view.word_from(offset)
        if first >= len(view.words) or self.kind(view.words[first]) & (Kind.COMMON | Kind.STOP):
            return None
        return self.name_at(view, offset, any_case=True)

    def name_before(self, view: View, offset: int) -> tuple[int, int] | None:
        """Return the name that ends at ``offset``, as before a degree."""
        words, gaps = view.words, view.gaps
        last = view.word_before(offset)
        if last < 0 or view.text[view.stops[last] : offset].strip(" .,"):
            return None
        first, index = last + 1, last
        while index >= 0 and last - index < MAX_NAME_WORDS - 1:
            word = words[index]
            if index < last and not self._joins(word, gaps[index + 1]):
                break
            kind = self.kind(word)
            if not word[0].isupper() or kind & Kind.STOP or (kind & Kind.COMMON and not kind & Kind.NAME):
                break
            first, index = index, index - 1
        if first > last or not any(len(words[at]) > 1 for at in range(first, last + 1)):
            return None
        if first == last and not self.kind(words[first]) & Kind.NAME:
            return None
        return view.starts[first], self.name_end(view, last)

    def name_end(self, view: View, last: int) -> int:
        """End of a name whose last word is ``words[last]``: with its suffix or final point, without ``'s``."""
        following = last + 1
        if (
            following < len(view.words)
            and view.gaps[following] in (" ", ", ")
            and self.kind(view.words[following]) & Kind.SUFFIX
        ):
            return view.stops[following]
        word = view.words[last]
        if len(word) == 1 and view.gaps[following].startswith("."):
            return view.stops[last] + 1
        return view.stops[last] - len(word) + len(without_possessive(word))

    def _may_begin(self, word: str, *, any_case: bool) -> bool:
        kind = self.kind(word)
        if kind & Kind.STOP or not (any_case or word[0].isupper()):
            return bool(kind & Kind.PARTICLE and kind & Kind.STOP == 0)
        return not kind & Kind.COMMON or bool(kind & Kind.NAME)

    def _may_follow(self, previous: str, word: str, *, any_case: bool) -> bool:
        kind = self.kind(word)
        if kind & Kind.STOP:
            return False
        if not word[0].isupper():
            return any_case and not previous[0].isupper() and not kind & Kind.COMMON
        if not kind & Kind.COMMON:
            return True
        return bool(kind & Kind.NAME) and not (word.isupper() and previous.isupper() and len(word) > 1)

    def _given(self, word: str) -> bool:
        return is_initial(word) or bool(self.kind(word) & Kind.FIRST and word[0].isupper())

    def _joins(self, left: str, gap: str) -> bool:
        if gap in _BLANKS:
            return True
        return gap in _INITIAL_GAPS and (len(left) == 1 or left.lower() in ABBREVIATIONS)
