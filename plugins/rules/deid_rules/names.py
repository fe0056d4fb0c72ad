"""Names by dictionary.

Given and family names in the orders people write them, and what a cue nearby makes of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from deid_assets.extending import Phi
from deid_rules.candidate import Candidate
from deid_rules.grammar import NameGrammar
from deid_rules.letters import has_capital, is_initial, middle_initial, without_possessive
from deid_rules.lexicon import Kind
from deid_rules.view import View

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
_NO_FAMILY = Kind.COMMON | Kind.STOP | Kind.PLACE | Kind.EPONYM


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
        admitted: NDArray[np.bool_] = flags & Kind.STOP == 0
        if not self._pairs_only:
            # A word that no list knows, right before a family name; else a given name or a family
            # name that is no word.
            strange = (
                (flags & Kind.ANY == 0)
                & (following & Kind.LAST > 0)
                & (following & _NO_FAMILY == 0)
            )
            known = (flags & Kind.FIRST > 0) | (flags & (Kind.LAST | Kind.COMMON) == Kind.LAST)
            admitted &= strange | known
        admitted |= flags & Kind.LETTER > 0
        return admitted

    def find(self, view: View, begun: Sequence[tuple[int, int]]) -> Iterator[Candidate]:
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

    def _name(self, view: View, index: int, kind: int) -> tuple[int, float, str] | None:
        if kind & Kind.LETTER:
            return (
                self._initialled(view, index)
                if view.text.startswith(".", view.stops[index])
                else None
            )
        gap = view.gaps[index + 1]
        found = self._ordered(view, index, kind, gap)
        return (
            None if found is None or (gap in _BINDING and self._eponymous(view, index)) else found
        )

    def _ordered(
        self, view: View, index: int, kind: int, gap: str
    ) -> tuple[int, float, str] | None:
        """The name in the first order that fits.

        Each order needs its first word to be of some kind, and a gap.
        """
        if self._pairs_only and view.words[index].isupper() and not kind & Kind.COMMON:
            return self._surname_first(view, index)
        found = self._inverted(view, index, kind) if gap == ", " and kind & Kind.LAST else None
        if gap in _BLANK and kind & Kind.FIRST:
            found = self._pair(view, index, kind)
        if self._pairs_only or not kind:
            return found or self._given_last(view, index, kind)
        return found or self._single(view, index, kind)

    def _pair(self, view: View, index: int, kind: int) -> tuple[int, float, str] | None:
        """``Anna Maria Lee``, ``Anna M. Lee``, ``Anna S.``.

        The given name must be in the dictionary.
        """
        words, gaps = view.words, view.gaps
        last, score = index, 0.0
        at = index + 1
        while at < len(view.starts) and at - index < 4 and self._joined(words[at - 1], gaps[at]):
            word = words[at]
            if self._kind(word) & Kind.PARTICLE and not word[0].isupper():
                at += 1
                continue
            step = self._family(view, at, kind)
            if not step:
                break
            last, score, at = at, max(score, step), at + 1
        return (last, score, "name_pair") if score else None

    def _family(self, view: View, at: int, first_kind: int) -> float:
        word = view.words[at]
        kind = self._kind(word)
        if is_initial(word):
            return self._initial_after(view, at, first_kind)
        if not has_capital(word) or kind & (Kind.STOP | Kind.EPONYM_TAIL | Kind.SUFFIX):
            return 0.0
        if word.isupper() and not (kind & Kind.NAME and not (kind | first_kind) & Kind.COMMON):
            return (
                MIXED
                if self._pairs_only and _surname(word, kind) and not first_kind & Kind.COMMON
                else 0.0
            )
        if kind & Kind.LAST:
            return FULL if not kind & first_kind & Kind.COMMON else 0.0
        if first_kind & (Kind.COMMON | Kind.EPONYM) or kind & Kind.PLACE:
            return 0.0
        return self._common_family(view, at) if kind & Kind.COMMON else MIXED

    def _common_family(self, view: View, at: int) -> float:
        """``Stephanie Kitchen``.

        A common word in title case where the sentence goes on in lower case.
        """
        gap, following = view.gaps[at + 1], view.between(at + 1, at + 2)
        goes_on = gap[:1] in ",;)" if gap.strip() else bool(following) and following[0].islower()
        return (
            COMMON_FAMILY if goes_on and not self._pairs_only and len(view.words[at]) > 3 else 0.0
        )

    def _initial_after(self, view: View, at: int, first_kind: int) -> float:
        """A given name and an initial.

        That is ``Anna S.`` anywhere, ``Frank L.`` after a comma or cue, and ``Anna S`` before a
        word in lower case.
        """
        if view.gaps[at + 1].startswith("."):
            apposed = view.gaps[at - 1].endswith(", ") or self._cued(view, at - 1)
            return INITIALLED if apposed or not first_kind & Kind.COMMON else 0.0
        following = view.words[at + 1] if at + 1 < len(view.starts) else ""
        if middle_initial(view, at) and self._may_be_family(following):
            return MIXED
        plain = not following[:1].isupper() and view.gaps[at + 1][:1] in ("", " ", ",")
        return (
            MIXED
            if plain and not first_kind & (Kind.COMMON | Kind.EPONYM) and view.words[at] != "I"
            else 0.0
        )

    def _given_last(self, view: View, index: int, kind: int) -> tuple[int, float, str] | None:
        """``Dupont Marie``, ``Xolani Smith``.

        A word that no list knows, or a family name, before a name.
        """
        words, at = view.words, index + 1
        if kind & (Kind.COMMON | Kind.PLACE) or len(words[index]) < 3:
            return None
        if at >= len(view.starts) or view.gaps[at] not in _BLANK or not words[at][0].isupper():
            return None
        following = self._kind(words[at])
        wanted = Kind.FIRST if self._pairs_only else Kind.LAST
        if not following & wanted or following & _NO_FAMILY:
            return None
        if words[index].isupper() or words[at].isupper() or self._eponymous(view, at):
            return None
        return at, GIVEN_LAST, "name_given_last"

    def _may_be_family(self, word: str) -> bool:
        kind = self._kind(word)
        return not kind & Kind.STOP and bool(kind & Kind.LAST or not kind & Kind.COMMON)

    def _surname_first(self, view: View, index: int) -> tuple[int, float, str] | None:
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
        if not kind & Kind.FIRST or kind & (Kind.COMMON | Kind.STOP) or len(words[index]) < 3:
            return None
        return at, MIXED, "name_surname_first"

    def _inverted(self, view: View, index: int, kind: int) -> tuple[int, float, str] | None:
        """Find an inverted name, ``Lee, Anna M.``."""
        words, at = view.words, index + 1
        if at >= len(view.starts):
            return None
        following = self._kind(words[at])
        if (
            not following & Kind.FIRST
            or not words[at][0].isupper()
            or (kind | following) & (Kind.COMMON | Kind.PLACE)
        ):
            return None
        if at + 1 < len(view.starts) and is_initial(words[at + 1]) and view.gaps[at + 1] == " ":
            at += 1
        return at, INVERTED, "name_inverted"

    def _initialled(self, view: View, index: int) -> tuple[int, float, str] | None:
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
            and self._kind(words[at]) & Kind.PARTICLE
            and view.gaps[at + 1] in _BLANK
        ):
            at += 1
        kind, word = self._kind(words[at]), words[at]
        if (
            not (kind & Kind.LAST or (self._pairs_only and len(word) > 3))
            or kind & (Kind.COMMON | Kind.STOP | Kind.EPONYM)
            or not word[0].isupper()
        ):
            return None
        if self._eponymous(view, at) or len(word) < 3:
            return None
        return at, INITIALLED, "name_initials"

    def _single(self, view: View, index: int, kind: int) -> tuple[int, float, str] | None:
        word = view.words[index]
        if kind & (Kind.COMMON | Kind.EPONYM) or len(word) < 3:
            return None
        if without_possessive(word).isupper() or (len(word) == 3 and not word[1:].islower()):
            return None
        before = self._kind(view.words[index - 1]) if index else 0
        if before & Kind.ARTICLE and view.gaps[index] == " ":
            return None
        if kind & Kind.PLACE:
            return (index, GIVEN_PLACE, "name_or_place") if kind & Kind.FIRST else None
        if before & Kind.CUE and self._cued(view, index):
            return index, CUED, "name_cue"
        return index, SINGLE_FIRST if kind & Kind.FIRST else SINGLE_LAST, "name_single"

    def _cued(self, view: View, index: int) -> bool:
        if index == 0:
            return False
        return (
            bool(self._kind(view.words[index - 1]) & Kind.CUE)
            and view.gaps[index].strip(" ,:") == ""
        )

    def _joined(self, left: str, gap: str) -> bool:
        return gap in _BLANK or (len(left) == 1 and gap in (". ", "."))

    def _eponymous(self, view: View, index: int) -> bool:
        """Whether the word is followed by ``disease``, ``sign``, ``catheter`` and the like."""
        words, gaps = view.words, view.gaps
        for at in (index + 1, index + 2):
            if at >= len(view.starts) or gaps[at] not in _BINDING:
                return False
            if self._kind(words[at]) & Kind.EPONYM_TAIL:
                return True
        return False


def _surname(word: str, kind: int) -> bool:
    """Whether a word in capitals may be a family name, as French letters write them."""
    return len(word) > 2 and not kind & (Kind.COMMON | Kind.PLACE)
