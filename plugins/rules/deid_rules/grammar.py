"""The word grammar that finds where a name ends, or begins; patterns and dictionaries start it."""

from __future__ import annotations

from deid_rules.lexicon import Kind, Lexicon
from deid_rules.view import View

MAX_NAME_WORDS = 5
_BLANKS = frozenset((" ", "\u00a0", "\u202f", "  "))
MAX_FAMILY_WORDS, MAX_GIVEN_WORDS = 4, 4
_FAMILY_GAPS = frozenset((" ", "\u00a0", ". "))
_COMMAS = frozenset((", ", ",", ",\u00a0"))
_GIVEN_GAPS = frozenset((" ", "\u00a0", ". ", "."))
_INITIAL_GAPS = frozenset((". ", ".", ".\u00a0", " ", ".-", "-"))
ABBREVIATIONS = frozenset(("st", "mt", "ft", "ste", "dr", "sta", "sto"))


def is_initial(word: str) -> bool:
    """Whether a word is one capital letter."""
    return len(word) == 1 and word.isupper()


def pointed(view: View, index: int, *, any_case: bool = False) -> bool:
    """Whether a word of the text is a capital with a point, ``J.``; with ``any_case``, any letter."""
    word = view.words[index]
    return (is_initial(word) or (any_case and len(word) == 1)) and view.gaps[index + 1].startswith(".")


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

    def name_at(
        self, view: View, offset: int, *, any_case: bool = False, inverted: bool = False, titled: bool = False
    ) -> tuple[int, int] | None:
        """Return the name that begins at ``offset``.

        Args:
            view: The text.
            offset: Where a word begins.
            any_case: The name may be in lower case.
            inverted: The family name may come first, with a comma.
            titled: A title stands before it, so that a word of ordinary vocabulary will do where it has a capital.
        """
        words = view.words
        first = view.word_from(offset)
        if first >= len(words) or view.starts[first] != offset:
            return None
        if inverted and (last := self.inverted_end(view, first, any_case=any_case)) is not None:
            return view.starts[first], self.name_end(view, last)
        begins = pointed(view, first, any_case=any_case) or self._may_begin(words[first], any_case=any_case)
        if not begins and not (titled and self._may_bear_title(view, first)):
            return None
        last = self._end(view, first, any_case=any_case)
        if last == first and not any_case and not words[first][0].isupper():
            return None
        return view.starts[first], self.name_end(view, last)

    def _end(self, view: View, first: int, *, any_case: bool) -> int:
        """Index of the last word of the name that begins with ``words[first]``."""
        words, last, index = view.words, first, first + 1
        while index < len(words) and index - first < MAX_NAME_WORDS:
            if not (self._joins(words[index - 1], view.gaps[index]) or self._wraps(view, first, index)):
                break
            if self._leads(view, index):
                index += 1
                continue
            if not (
                pointed(view, index, any_case=any_case)
                or middle_initial(view, index)
                or self._may_follow(words[index - 1], words[index], any_case=any_case)
            ):
                break
            last, index = index, index + 1
        return last

    def _wraps(self, view: View, first: int, index: int) -> bool:
        """Whether a given name ends a full line and a family name begins the next."""
        kind = self.kind(view.words[index])
        return (
            bool(self.kind(view.words[first]) & Kind.FIRST)
            and view.words[index][0].isupper()
            and not kind & (Kind.STOP | Kind.COMMON)
            and view.wrapped(index)
        )

    def _may_bear_title(self, view: View, index: int) -> bool:
        """Whether a capitalised word of ordinary vocabulary may be a family name after a title, ``Dr. Head``."""
        word, following = view.words[index], view.words[index + 1 : index + 2]
        ends = not following or following[0].islower() or view.gaps[index + 1][:1] in (",", ".", ";", ")", "\r", "\n")
        return word[0].isupper() and word[1:].islower() and not self.kind(word) & Kind.STOP and ends

    def inverted_end(self, view: View, first: int, *, any_case: bool = False) -> int | None:
        """Return the index of the last word of ``Lee, Anna M.`` where ``words[first]`` is its family name."""
        words, gaps = view.words, view.gaps
        comma = first + 1
        while comma < len(words) and gaps[comma] in _FAMILY_GAPS and comma - first < MAX_FAMILY_WORDS:
            if self.kind(words[comma]) & Kind.STOP and not self.kind(words[comma]) & Kind.PARTICLE:
                return None
            comma += 1
        if comma >= len(words) or gaps[comma] not in _COMMAS or not self._may_be_family(view, first, any_case=any_case):
            return None
        if not self._given(view, comma, words[comma - 1], any_case=any_case):
            return None
        last, index = comma, comma + 1
        while index < len(words) and index - comma < MAX_GIVEN_WORDS and gaps[index] in _GIVEN_GAPS:
            if not (self._is_letter(view, index, any_case) or self._second_given(words[comma], words[index], any_case)):
                break
            last, index = index, index + 1
        numbered = len(words[comma]) == 1 and gaps[last + 1].strip(" .")[:1].isdigit()
        return None if numbered else last

    def _may_be_family(self, view: View, index: int, *, any_case: bool) -> bool:
        word, following = view.words[index], view.words[index + 1]
        kind = self.kind(word)
        if kind & Kind.STOP and not kind & Kind.PARTICLE:
            return False
        return any_case or word[0].isupper() or bool(kind & Kind.PARTICLE and following[0].isupper())

    def _given(self, view: View, index: int, family: str, *, any_case: bool) -> bool:
        """Whether a word after the comma is a given name: by dictionary, or a word no list knows."""
        word = view.words[index]
        kind = self.kind(word)
        if kind & (Kind.STOP | Kind.SUFFIX) or not (any_case or word[0].isupper()):
            return False
        if len(word) == 1:
            return word.isupper() and view.gaps[index + 1][:1] in (".", "", " ", "\n", "\r")
        if word.isupper() and not family.isupper():
            return False
        return bool(kind & Kind.FIRST) or not kind & (Kind.COMMON | Kind.PLACE)

    @staticmethod
    def _is_letter(view: View, index: int, any_case: bool) -> bool:
        """Whether a word is an initial that ends there: ``M.``, ``M`` before a mark or the line's end."""
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

    def name_line(self, view: View, start: int, end: int) -> tuple[int, int] | None:
        """Return the name that is [start, end): inverted, or a given with a family name of which a list knows one."""
        first = view.word_from(start)
        found = self.name_at(view, start, inverted=True)
        if found is None or found[1] < end - 1 or found[1] > end + 1:
            return None
        words = view.words[first : view.word_before(found[1]) + 1]
        kinds = [self.kind(word) for word in words if len(word) > 1]
        if len(words) < 2 or self.lexicon.is_phrase(words) or any(kind & Kind.INSTITUTION for kind in kinds):
            return None
        known = sum(bool(kind & Kind.NAME) and not kind & Kind.COMMON for kind in kinds)
        strange = sum(not kind & Kind.COMMON for kind in kinds)
        given = any(kind & Kind.FIRST for kind in kinds)
        return found if known and given and strange * 2 >= len(kinds) else None

    def _leads(self, view: View, index: int) -> bool:
        """Whether a particle, ``de`` or ``DE``, leads on to a capitalised word."""
        word, following = view.words[index], view.words[index + 1 : index + 3]
        if not self.kind(word) & Kind.PARTICLE or not following or view.gaps[index + 1] not in _BLANKS:
            return False
        return not word[0].isupper() or (word.isupper() and len(word) > 1 and following[0].isupper())

    def name_cased(self, view: View, offset: int) -> tuple[int, int] | None:
        """A name as ``name_at`` finds it, unless it begins with an acronym or an eponym's thing follows."""
        found = self.name_at(view, offset, inverted=True)
        if found is None:
            return None
        first = view.word_from(offset)
        word = view.words[first]
        kind = self.kind(word)
        if not word[0].isupper() and kind & Kind.COMMON and len(word) > 2:
            return None
        if kind & Kind.EPONYM and (not kind & Kind.FIRST or self.eponymous(view, first)):
            return None
        if len(word) > 1 and without_possessive(word).isupper() and not kind & Kind.NAME:
            return found if view.text[found[0] : found[1]].count(",") else None
        return found

    def eponymous(self, view: View, index: int) -> bool:
        """Whether a word such as ``disease`` follows, with or without a possessive."""
        at = index + 1
        if at >= len(view.words) or view.gaps[at].strip("'\u2019 \u00a0\r\n-"):
            return False
        return bool(self.kind(view.words[at]) & Kind.EPONYM_TAIL)

    def name_plain(self, view: View, offset: int) -> tuple[int, int] | None:
        """A name as ``name_cased`` finds it, unless its first word is of ordinary vocabulary."""
        first = view.word_from(offset)
        if first >= len(view.words) or (self.kind(view.words[first]) & Kind.COMMON and len(view.words[first]) > 1):
            return None
        return self.name_cased(view, offset)

    def name_lower(self, view: View, offset: int) -> tuple[int, int] | None:
        """A name that may be in lower case and whose first word is no common vocabulary."""
        first = view.word_from(offset)
        if first >= len(view.words):
            return None
        if self.kind(view.words[first]) & (Kind.COMMON | Kind.STOP) and not pointed(view, first, any_case=True):
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

    def _joins(self, left: str, gap: str) -> bool:
        if gap in _BLANKS:
            return True
        return gap in _INITIAL_GAPS and (len(left) == 1 or left.lower() in ABBREVIATIONS)
