"""Names by dictionary.

Given and family names in the orders people write them, and what a cue nearby makes of them.

====  ======================================  ==================================
Lang  Text                                    Why
====  ======================================  ==================================
en    <NAME>Anna M. Lee</NAME> was seen.      a given and a family name
en    <NAME>Anna Xylanthros</NAME> was seen.  a given name, then an unknown word
en    <NAME>Julie M.</NAME> was seen.         a given name with an initial
en    <NAME>Johnson</NAME> was seen.          a family name that is no word
en    Xylanthros was seen.                    kept: an unknown word by itself
en    Foley catheter, Bell's palsy.           kept: eponyms
en    Grace period, Will power.               kept: names that are words too
====  ======================================  ==================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from deid_assets.extending import Phi
from deid_rules.candidate import Candidate
from deid_rules.grammar import NameGrammar
from deid_rules.letters import has_capital, is_initial, middle_initial, strip_possessive
from deid_rules.lexicon import WordKind
from deid_rules.view import TextView

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FULL, MIXED, INVERTED, INITIALLED, CUED, SINGLE_FIRST, SINGLE_LAST = (
    0.85,
    0.7,
    0.8,
    0.75,
    0.75,
    0.55,
    0.5,
)
GIVEN_LAST = COMMON_FAMILY = 0.6
GIVEN_PLACE = 0.5
_BLANK = (" ", "\u00a0")
_BINDING = (*_BLANK, "-")
_NO_FAMILY = WordKind.COMMON | WordKind.STOP | WordKind.PLACE | WordKind.EPONYM


class NameFinder:
    """Finds names that a dictionary knows.

    Args:
        grammar: The language's grammar and lexicon.
        pairs_only: Accept only a given with a family name; for text in a language without word
            lists, where a capital says little.
    """

    def __init__(self, grammar: NameGrammar, *, pairs_only: bool = False) -> None:
        self._grammar = grammar
        self._kind = grammar.kind
        self._pairs_only = pairs_only

    def may_begin(
        self, flags: NDArray[np.int64], following: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Whether each capitalised word may begin a name; others need no closer look.

        Args:
            flags: What the lexicon says of the words.
            following: What it says of the next word, if that has a capital too; else 0.
        """
        admitted: NDArray[np.bool_] = flags & WordKind.STOP == 0
        if not self._pairs_only:
            # A word that no list knows, right before a family name; else a given name or a family
            # name that is no word.
            strange = (
                (flags & WordKind.ANY == 0)
                & (following & WordKind.LAST > 0)
                & (following & _NO_FAMILY == 0)
            )
            known = (flags & WordKind.FIRST > 0) | (
                flags & (WordKind.LAST | WordKind.COMMON) == WordKind.LAST
            )
            admitted &= strange | known
        admitted |= flags & WordKind.LETTER > 0
        return admitted

    def find(self, view: TextView, begun: Sequence[tuple[int, int]]) -> Iterator[Candidate]:
        """Yield a candidate for each name.

        Args:
            view: The text.
            begun: Its words that may begin a name, with their kinds.
        """
        done = -1
        for index, kind in begun:
            if index <= done:
                continue
            found = self._name(view, index, kind)
            if found is not None:
                last, score, rule = found
                done = last
                start, end = view.starts[index], self._grammar.name_end(view, last)
                if not view.touches_digit(start, end):
                    yield Candidate(start, end, Phi.NAME, score, rule)

    def _name(self, view: TextView, index: int, kind: int) -> tuple[int, float, str] | None:
        if kind & WordKind.LETTER:
            return (
                self._find_initialled(view, index)
                if view.text.startswith(".", view.stops[index])
                else None
            )
        gap = view.gaps[index + 1]
        found = self._find_ordered(view, index, kind, gap)
        return (
            None if found is None or (gap in _BINDING and self._eponymous(view, index)) else found
        )

    def _find_ordered(
        self, view: TextView, index: int, kind: int, gap: str
    ) -> tuple[int, float, str] | None:
        """The name in the first order that fits.

        Each order needs its first word to be of some kind, and a gap.
        """
        if self._pairs_only and view.words[index].isupper() and not kind & WordKind.COMMON:
            return self._surname_first(view, index)
        found = (
            self._find_inverted(view, index, kind) if gap == ", " and kind & WordKind.LAST else None
        )
        if gap in _BLANK and kind & WordKind.FIRST:
            found = self._pair(view, index, kind)
        if self._pairs_only or not kind:
            return found or self._find_given_last(view, index, kind)
        return found or self._single(view, index, kind)

    def _pair(self, view: TextView, index: int, kind: int) -> tuple[int, float, str] | None:
        """``Anna Maria Lee``, ``Anna M. Lee``, ``Anna S.``.

        The given name must be in the dictionary.
        """
        words, gaps = view.words, view.gaps
        last, score = index, 0.0
        at = index + 1
        while at < len(view.starts) and at - index < 4 and self._is_joined(words[at - 1], gaps[at]):
            word = words[at]
            if self._kind(word) & WordKind.PARTICLE and not word[0].isupper():
                at += 1
                continue
            step = self._family(view, at, kind)
            if not step:
                break
            last, score, at = at, max(score, step), at + 1
        return (last, score, "name_pair") if score else None

    def _family(self, view: TextView, at: int, first_kind: int) -> float:
        word = view.words[at]
        kind = self._kind(word)
        if is_initial(word):
            return self._initial_after(view, at, first_kind)
        if not has_capital(word) or kind & (WordKind.STOP | WordKind.EPONYM_TAIL | WordKind.SUFFIX):
            return 0.0
        if word.isupper() and not (
            kind & WordKind.NAME and not (kind | first_kind) & WordKind.COMMON
        ):
            return (
                MIXED
                if self._pairs_only and _surname(word, kind) and not first_kind & WordKind.COMMON
                else 0.0
            )
        if kind & WordKind.LAST:
            return FULL if not kind & first_kind & WordKind.COMMON else 0.0
        if first_kind & (WordKind.COMMON | WordKind.EPONYM) or kind & WordKind.PLACE:
            return 0.0
        return self._common_family(view, at) if kind & WordKind.COMMON else MIXED

    def _common_family(self, view: TextView, at: int) -> float:
        """``Stephanie Kitchen``.

        A common word in title case where the sentence goes on in lower case.
        """
        gap, following = view.gaps[at + 1], view.between(at + 1, at + 2)
        goes_on = gap[:1] in ",;)" if gap.strip() else bool(following) and following[0].islower()
        return (
            COMMON_FAMILY if goes_on and not self._pairs_only and len(view.words[at]) > 3 else 0.0
        )

    def _initial_after(self, view: TextView, at: int, first_kind: int) -> float:
        """A given name and an initial.

        That is ``Anna S.`` anywhere, ``Frank L.`` after a comma or cue, and ``Anna S`` before a
        word in lower case.
        """
        if view.gaps[at + 1].startswith("."):
            apposed = view.gaps[at - 1].endswith(", ") or self._is_cued(view, at - 1)
            return INITIALLED if apposed or not first_kind & WordKind.COMMON else 0.0
        following = view.words[at + 1] if at + 1 < len(view.starts) else ""
        if middle_initial(view, at) and self._may_be_family(following):
            return MIXED
        plain = not following[:1].isupper() and view.gaps[at + 1][:1] in ("", " ", ",")
        return (
            MIXED
            if plain
            and not first_kind & (WordKind.COMMON | WordKind.EPONYM)
            and view.words[at] != "I"
            else 0.0
        )

    def _find_given_last(
        self, view: TextView, index: int, kind: int
    ) -> tuple[int, float, str] | None:
        """``Dupont Marie``, ``Xolani Smith``.

        A word that no list knows, or a family name, before a name.
        """
        words, at = view.words, index + 1
        if kind & (WordKind.COMMON | WordKind.PLACE) or len(words[index]) < 3:
            return None
        if at >= len(view.starts) or view.gaps[at] not in _BLANK or not words[at][0].isupper():
            return None
        following = self._kind(words[at])
        wanted = WordKind.FIRST if self._pairs_only else WordKind.LAST
        if not following & wanted or following & _NO_FAMILY:
            return None
        if words[index].isupper() or words[at].isupper() or self._eponymous(view, at):
            return None
        return at, GIVEN_LAST, "name_given_last"

    def _may_be_family(self, word: str) -> bool:
        kind = self._kind(word)
        return not kind & WordKind.STOP and bool(kind & WordKind.LAST or not kind & WordKind.COMMON)

    def _surname_first(self, view: TextView, index: int) -> tuple[int, float, str] | None:
        """``DUPONT Marie``, ``DE LA TOUR Marie``.

        Capitals, then a given name in ordinary letters.
        """
        words, at = view.words, index + 1
        while (
            at < len(view.starts)
            and view.gaps[at] in _BLANK
            and words[at].isupper()
            and at - index < 3
        ):
            at += 1
        if (
            at >= len(view.starts)
            or view.gaps[at] not in _BLANK
            or words[at].isupper()
            or not words[at][0].isupper()
        ):
            return None
        kind = self._kind(words[at])
        if (
            not kind & WordKind.FIRST
            or kind & (WordKind.COMMON | WordKind.STOP)
            or len(words[index]) < 3
        ):
            return None
        return at, MIXED, "name_surname_first"

    def _find_inverted(
        self, view: TextView, index: int, kind: int
    ) -> tuple[int, float, str] | None:
        """Find an inverted name, ``Lee, Anna M.``."""
        words, at = view.words, index + 1
        if at >= len(view.starts):
            return None
        following = self._kind(words[at])
        if (
            not following & WordKind.FIRST
            or not words[at][0].isupper()
            or (kind | following) & (WordKind.COMMON | WordKind.PLACE)
        ):
            return None
        if at + 1 < len(view.starts) and is_initial(words[at + 1]) and view.gaps[at + 1] == " ":
            at += 1
        return at, INVERTED, "name_inverted"

    def _find_initialled(self, view: TextView, index: int) -> tuple[int, float, str] | None:
        """``J. Smith``, ``J.R. Smith``."""
        words, gaps, at = view.words, view.gaps, index
        if index and len(words[index - 1]) == 1 and gaps[index].startswith("."):
            return None
        while (
            at < len(view.starts)
            and is_initial(words[at])
            and gaps[at + 1] in (".", ". ")
            and at - index < 3
        ):
            at += 1
        if at == index or at >= len(view.starts):
            return None
        while (
            at < len(view.starts) - 1
            and self._kind(words[at]) & WordKind.PARTICLE
            and view.gaps[at + 1] in _BLANK
        ):
            at += 1
        kind, word = self._kind(words[at]), words[at]
        if (
            not (kind & WordKind.LAST or (self._pairs_only and len(word) > 3))
            or kind & (WordKind.COMMON | WordKind.STOP | WordKind.EPONYM)
            or not word[0].isupper()
        ):
            return None
        if self._eponymous(view, at) or len(word) < 3:
            return None
        return at, INITIALLED, "name_initials"

    def _single(self, view: TextView, index: int, kind: int) -> tuple[int, float, str] | None:
        word = view.words[index]
        if kind & (WordKind.COMMON | WordKind.EPONYM) or len(word) < 3:
            return None
        if strip_possessive(word).isupper() or (len(word) == 3 and not word[1:].islower()):
            return None
        before = self._kind(view.words[index - 1]) if index else 0
        if before & WordKind.ARTICLE and view.gaps[index] == " ":
            return None
        if kind & WordKind.PLACE:
            return (index, GIVEN_PLACE, "name_or_place") if kind & WordKind.FIRST else None
        if before & WordKind.CUE and self._is_cued(view, index):
            return index, CUED, "name_cue"
        return index, SINGLE_FIRST if kind & WordKind.FIRST else SINGLE_LAST, "name_single"

    def _is_cued(self, view: TextView, index: int) -> bool:
        if index == 0:
            return False
        return (
            bool(self._kind(view.words[index - 1]) & WordKind.CUE)
            and view.gaps[index].strip(" ,:") == ""
        )

    def _is_joined(self, left: str, gap: str) -> bool:
        return gap in _BLANK or (len(left) == 1 and gap in (". ", "."))

    def _eponymous(self, view: TextView, index: int) -> bool:
        """Whether the word is followed by ``disease``, ``sign``, ``catheter`` and the like."""
        words, gaps = view.words, view.gaps
        for at in (index + 1, index + 2):
            if at >= len(view.starts) or gaps[at] not in _BINDING:
                return False
            if self._kind(words[at]) & WordKind.EPONYM_TAIL:
                return True
        return False


def _surname(word: str, kind: int) -> bool:
    """Whether a word in capitals may be a family name, as French letters write them."""
    return len(word) > 2 and not kind & (WordKind.COMMON | WordKind.PLACE)
