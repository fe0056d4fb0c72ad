"""The word grammar that finds where a name ends, or begins; patterns and dictionaries start it.

====  =============================================  ======================================
Lang  Text                                           Why
====  =============================================  ======================================
en    Dr. <NAME>Jane Lee-Smith</NAME>'s nurse.       without the possessive
en    Dr. <NAME>J. R. van der Berg</NAME> was here.  initials and particles
en    Mr. <NAME>Robert King Jr</NAME> is here.       a suffix belongs to it
en    <NAME>Maria Alvarez</NAME>, MD                 a degree does not
en    Dr. <NAME>Lee</NAME> Was late.                 a capital alone does not go on with it
en    Dr. on call.                                   kept: no capital follows the title
====  =============================================  ======================================
"""

from __future__ import annotations

from deid_rules.inverted import Inverted
from deid_rules.letters import (
    ABBREVIATIONS,
    degree,
    has_capital,
    is_initial,
    is_pointed,
    middle_initial,
    strip_possessive,
)
from deid_rules.lexicon import Lexicon, WordKind
from deid_rules.view import TextView

MAX_NAME_WORDS = 5
_BLANKS = frozenset((" ", "\u00a0", "\u202f", "  "))
MAX_TITLE_LETTERS = 5
_INITIAL_GAPS = frozenset((". ", ".", ".\u00a0", " ", ".-", "-"))


class NameGrammar:
    """Names of people in one language.

    Args:
        lexicon: Kinds of words; see ``WordKind``.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.kind = lexicon.kind
        self._inverted = Inverted(lexicon)

    def name_at(
        self,
        view: TextView,
        first: int,
        *,
        any_case: bool = False,
        inverted: bool = False,
        titled: bool = False,
    ) -> tuple[int, int] | None:
        """Return the name that begins with ``words[first]``.

        Args:
            view: The text.
            first: Index of a word.
            any_case: The name may be in lower case.
            inverted: The family name may come first, with a comma.
            titled: A title stands before it, so that a word of ordinary vocabulary will do where it
                has a capital.
        """
        word = view.words[first]
        letter = len(word) == 1
        if letter and degree(view, first):
            return None
        if inverted and (last := self._inverted.end(view, first, any_case=any_case)) is not None:
            return view.starts[first], self.name_end(view, last)
        begins = self._may_begin(word, any_case=any_case) or (
            letter and is_pointed(view, first, any_case=any_case)
        )
        if (
            not begins
            and not self._leads(view, first)
            and not (titled and self._may_bear_title(view, first))
        ):
            return None
        last = self._end(view, first, any_case=any_case)
        if last == first and not any_case and not word[0].isupper():
            return None
        return view.starts[first], self.name_end(view, last)

    def _end(self, view: TextView, first: int, *, any_case: bool) -> int:
        """Index of the last word of the name that begins with ``words[first]``."""
        last, previous = first, view.words[first]
        for index in range(first + 1, min(len(view.starts), first + MAX_NAME_WORDS)):
            gap = view.gaps[index]
            if not (
                self._joins(previous, gap) or ("\n" in gap and self._wraps(view, first, index))
            ):
                break
            word = view.words[index]
            if not self._leads(view, index):
                letter = len(word) == 1
                if letter and degree(view, index):
                    break
                if not (
                    self._may_follow(previous, word, any_case=any_case)
                    or (
                        letter
                        and (
                            is_pointed(view, index, any_case=any_case)
                            or middle_initial(view, index)
                        )
                    )
                    or self._closes_capitals(view, index)
                ):
                    break
                last = index
            previous = word
        return last

    def _closes_capitals(self, view: TextView, index: int) -> bool:
        """Whether a family name that is a word too ends a name in capitals, ``ANNA WHITE,``."""
        word, previous = view.words[index], view.words[index - 1]
        if (
            not (word.isupper() and previous.isupper() and self.kind(word) & WordKind.LAST)
            or self.kind(word) & WordKind.STOP
        ):
            return False
        gap = view.gaps[index + 1]
        ends = gap[:1] in ("", ",", ".", "\r", "\n") or gap.strip(" /")[:1].isdigit()
        return ends and bool(self.kind(previous) & WordKind.FIRST)

    def _wraps(self, view: TextView, first: int, index: int) -> bool:
        """Whether a given name ends a full line and a family name begins the next."""
        if not view.is_wrapped(index):
            return False
        kind = self.kind(view.words[index])
        return (
            view.words[index][0].isupper()
            and len(view.words[index]) > 1
            and not kind & (WordKind.STOP | WordKind.COMMON)
            and (
                bool(kind & WordKind.LAST)
                or any(self.kind(word) & WordKind.FIRST for word in view.between(first, index))
            )
        )

    def _may_bear_title(self, view: TextView, index: int) -> bool:
        """Whether a capitalised word of ordinary vocabulary may be a family name.

        It may after a short title, as in ``Dr. Head``.
        """
        title = view.words[index - 1] if index else ""
        if (
            not 1 < len(title) < MAX_TITLE_LETTERS
            or not title[1:].islower()
            or view.gaps[index] not in (" ", ". ")
        ):
            return False
        word, following = view.words[index], view.between(index + 1, index + 2)
        ends = (
            not following
            or following[0].islower()
            or view.gaps[index + 1][:1] in (",", ".", ";", ")", "\r", "\n")
        )
        kind = self.kind(word)
        return (
            word[0].isupper()
            and word[1:].islower()
            and ends
            and (not kind & WordKind.STOP or bool(kind & WordKind.LAST))
        )

    def name_line(self, view: TextView, start: int, end: int) -> tuple[int, int] | None:
        """Return the name that is [start, end).

        Its given or family name, or a final initial, must tell.
        """
        found = self.name_header(view, start, end)
        if found is None:
            return None
        words = view.between(view.word_from(start), view.word_before(found[1]) + 1)
        known = any(
            self.kind(word) & WordKind.NAME and not self.kind(word) & WordKind.COMMON
            for word in words
        )
        given = any(self.kind(word) & WordKind.FIRST for word in words)
        return (
            found
            if (known and given) or ("," in view.text[start:end] and is_initial(words[-1]))
            else None
        )

    def name_header(self, view: TextView, start: int, end: int) -> tuple[int, int] | None:
        """Return the name that is [start, end), of two words or more.

        What stands beside it says that it is one.
        """
        first = view.word_at(start)
        if first is None:
            return None
        inverted = "," in view.text[start:end]
        if not inverted and not any(
            self.kind(word) & WordKind.NAME for word in view.between(first, view.word_from(end))
        ):
            return None
        found = self.name_at(view, first, inverted=True)
        if found is None or not end - 1 <= found[1] <= end + 1:
            return None
        words = view.between(first, view.word_before(found[1]) + 1)
        kinds = [
            self.kind(word)
            for word in words
            if len(word) > 1 and not self.kind(word) & WordKind.PARTICLE
        ]
        if (
            not kinds
            or len(words) < 2
            or self.lexicon.is_phrase(words)
            or any(kind & WordKind.INSTITUTION for kind in kinds)
        ):
            return None
        strange = sum(not kind & WordKind.COMMON for kind in kinds)
        is_name = any(kind & WordKind.NAME for kind in kinds) or inverted
        ordered = kinds[::-1] if inverted else kinds
        pair = ordered[0] & WordKind.FIRST and ordered[-1] & WordKind.LAST
        return found if is_name and (pair or strange * 2 >= len(kinds)) else None

    def _leads(self, view: TextView, index: int) -> bool:
        """Whether a particle, ``de`` or ``DE``, leads on to a capitalised word."""
        word = view.words[index]
        if (
            not self.kind(word) & WordKind.PARTICLE
            or view.gaps[index + 1] not in _BLANKS
            or index + 1 == len(view.starts)
        ):
            return False
        following = view.words[index + 1]
        if word[0].isupper() and word[1:].islower():
            return following[0].isupper() and bool(self.kind(following) & WordKind.LAST)
        return not word[0].isupper() or (word.isupper() and len(word) > 1 and following.isupper())

    def name_cased(self, view: TextView, first: int) -> tuple[int, int] | None:
        """A name as ``name_at`` finds it.

        It is none if it begins with an acronym or an eponym's thing follows.
        """
        found = self.name_at(view, first, inverted=True)
        if found is None:
            return None
        word = view.words[first]
        kind = self.kind(word)
        if not word[0].isupper() and kind & WordKind.COMMON and len(word) > 2:
            return None
        initialled = (
            first + 2 < len(view.starts)
            and is_pointed(view, first + 1)
            and view.words[first + 2].islower()
        )
        if (
            kind & WordKind.EPONYM
            and not initialled
            and (not kind & WordKind.FIRST or self.eponymous(view, first))
        ):
            return None
        if len(word) > 1 and strip_possessive(word).isupper() and not kind & WordKind.NAME:
            words = view.between(first, view.word_before(found[1]) + 1)
            return found if any(self.kind(each) & WordKind.FIRST for each in words) else None
        return found

    def eponymous(self, view: TextView, index: int) -> bool:
        """Whether a word such as ``disease`` follows, with or without a possessive."""
        at = index + 1
        if at >= len(view.starts) or view.gaps[at].strip("'\u2019 \u00a0\r\n-"):
            return False
        return bool(self.kind(view.words[at]) & WordKind.EPONYM_TAIL)

    def name_plain(self, view: TextView, first: int) -> tuple[int, int] | None:
        """A name as ``name_cased`` finds it, with a telling first word.

        That is a known name which is no word, or a pointed initial.
        """
        kind = self.kind(view.words[first])
        if (kind & WordKind.NAME and not kind & WordKind.COMMON) or is_pointed(view, first):
            return self.name_cased(view, first)
        return None

    def name_lower(self, view: TextView, first: int) -> tuple[int, int] | None:
        """A name that may be in lower case and whose first word is no common vocabulary."""
        kind = self.kind(view.words[first])
        plain = kind & (WordKind.COMMON | WordKind.STOP) and not is_pointed(
            view, first, any_case=True
        )
        if plain and not (kind & WordKind.FIRST and self._family_follows(view, first)):
            return None
        return self.name_at(view, first, any_case=True)

    def name_titled(self, view: TextView, first: int) -> tuple[int, int] | None:
        """The name after a title; after a short one, ``Dr.``, it may be in lower case."""
        if found := self.name_at(view, first, titled=True):
            return found
        title = view.words[first - 1] if first else ""
        return (
            self.name_lower(view, first)
            if len(title) < MAX_TITLE_LETTERS and title[1:].islower()
            else None
        )

    def name_small(self, view: TextView, first: int) -> tuple[int, int] | None:
        """A name of two words or more as ``name_lower`` finds it.

        It is one only where a list knows the first word.
        """
        found = self.name_lower(view, first)
        if (
            found is None
            or found[1] <= view.stops[first]
            or not self.kind(view.words[first]) & WordKind.NAME
        ):
            return None
        return found

    def _family_follows(self, view: TextView, index: int) -> bool:
        """Whether a family name that is no word comes next, as in ``mark silva``."""
        following = view.between(index + 1, index + 2)
        kind = self.kind(following[0]) if following else 0
        return (
            view.gaps[index + 1] in _BLANKS
            and bool(kind & WordKind.LAST)
            and not kind & (WordKind.COMMON | WordKind.STOP)
        )

    def name_before(
        self, view: TextView, offset: int, *, strange: bool = False
    ) -> tuple[int, int] | None:
        """Return the name that ends at ``offset``, as before a degree.

        Args:
            view: The text.
            offset: Where the name ends, but for blanks, points and commas.
            strange: One word that no list knows will do.
        """
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
            if (
                index < last
                and kind & WordKind.PARTICLE
                and not is_pointed(view, index)
                and self._leads(view, index)
            ):
                first = index if word[0].isupper() else first
                index -= 1
                continue
            if not has_capital(word) or (kind & WordKind.STOP and not is_pointed(view, index)):
                break
            if kind & WordKind.COMMON and not kind & WordKind.NAME and not is_pointed(view, index):
                break
            first, index = index, index - 1
        if first > last or not any(len(words[at]) > 1 for at in range(first, last + 1)):
            return None
        if first == last and not self._stands_alone(words[first], strange=strange):
            return None
        return view.starts[first], self.name_end(view, last)

    def _stands_alone(self, word: str, *, strange: bool) -> bool:
        kind = self.kind(word)
        if kind & WordKind.NAME:
            return True
        return (
            strange
            and not kind & (WordKind.PLACE | WordKind.INSTITUTION | WordKind.EPONYM)
            and word[1:].islower()
        )

    def name_end(self, view: TextView, last: int) -> int:
        """End of a name whose last word is ``words[last]``.

        With its suffix or final point, without ``'s``.
        """
        following, word = last + 1, view.words[last]
        gap = view.gaps[following]
        if (
            gap in (" ", ", ")
            and following < len(view.starts)
            and self.kind(view.words[following]) & WordKind.SUFFIX
        ):
            return view.stops[following]
        if len(word) == 1 and gap.startswith("."):
            return view.stops[last] + 1
        return view.starts[last] + len(strip_possessive(word))

    def _may_begin(self, word: str, *, any_case: bool) -> bool:
        kind = self.kind(word)
        if kind & WordKind.STOP or not (any_case or word[0].isupper()):
            return bool(kind & WordKind.PARTICLE and kind & WordKind.STOP == 0)
        if kind & WordKind.PARTICLE:
            return True
        return not kind & WordKind.COMMON or bool(kind & WordKind.NAME)

    def _may_follow(self, previous: str, word: str, *, any_case: bool) -> bool:
        kind = self.kind(word)
        if kind & WordKind.STOP:
            return False
        if not has_capital(word):
            return any_case and not previous[0].isupper() and not kind & WordKind.COMMON
        if not kind & WordKind.COMMON:
            return True
        return bool(kind & WordKind.NAME) and not (
            word.isupper() and previous.isupper() and len(word) > 1
        )

    def _joins(self, left: str, gap: str) -> bool:
        if gap in _BLANKS:
            return True
        return gap in _INITIAL_GAPS and (len(left) == 1 or left.lower() in ABBREVIATIONS)
