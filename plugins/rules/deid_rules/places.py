"""Places and institutions by dictionary, in one pass over the capitalised words.

====  =====================================  ==========================
Lang  Text                                   Why
====  =====================================  ==========================
en    Born in <CITY>Houston</CITY>.          a city after a preposition
en    Moved from <COUNTRY>Mexico</COUNTRY>.  a country
en    Lyme disease, Glasgow Coma Scale.      kept: diseases and tests
en    the clinic, a nursing home             kept: kinds of institution
====  =====================================  ==========================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from deid_assets.extending import Phi
from deid_rules.candidate import Candidate
from deid_rules.grammar import NameGrammar
from deid_rules.lexicon import NEAR, WordKind
from deid_rules.view import TextView

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PHRASE, SINGLE, CUED = 0.8, 0.6, 0.75
_GAPS = (" ", "\u00a0", "-", ". ", ".", " & ", "\n")


class PlaceFinder:
    """Finds the phrases of a lexicon.

    Args:
        grammar: The language's grammar and lexicon.
    """

    def __init__(self, grammar: NameGrammar) -> None:
        self._kind, self._phrases_at = grammar.kind, grammar.lexicon.phrases_at

    def may_begin(self, flags: NDArray[np.int64], ahead: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each capitalised word may begin a phrase; others need no closer look.

        Args:
            flags: What the lexicon says of the words.
            ahead: How many words on the next capital is, 0 for none; the last word of a phrase has
                one.
        """
        near: NDArray[np.bool_] = (ahead > 0) & (ahead <= NEAR)
        return (near & (flags & WordKind.PHRASE > 0)) | (flags & WordKind.ALONE > 0)

    def find(self, view: TextView, begun: Sequence[int]) -> Iterator[Candidate]:
        """Yield a candidate for each phrase; the longest that starts at a word.

        Args:
            view: The text.
            begun: Its words with which a phrase may begin.
        """
        words, done = view.words, -1
        for index in begun:
            seconds = self._phrases_at(words[index])
            following = words[index + 1].lower() if index + 1 < len(view.starts) else ""
            entries = seconds.get(following) or seconds.get("")
            if not entries or index <= done:
                continue
            for rest, label in entries:
                score = self._score(view, index, rest, label)
                if score and not view.touches_digit(
                    view.starts[index], view.stops[index + len(rest)]
                ):
                    done = index + len(rest)
                    yield Candidate(
                        view.starts[index],
                        view.stops[done],
                        label,
                        score,
                        f"dictionary_{label.lower()}",
                    )
                    break

    def _score(self, view: TextView, index: int, rest: tuple[str, ...], label: Phi) -> float:
        words, gaps = view.words, view.gaps
        last = index + len(rest)
        if last >= len(view.starts):
            return 0.0
        for offset, expected in enumerate(rest, start=index + 1):
            if words[offset].lower() != expected or gaps[offset] not in _GAPS:
                return 0.0
        if not rest:
            return self._single(view, index, label)
        plain = all(self._kind(words[at]) & WordKind.COMMON for at in range(index, last + 1))
        if not words[last][0].isupper() or (plain and not self._is_cued(view, index)):
            return 0.0
        return PHRASE

    def _single(self, view: TextView, index: int, label: Phi) -> float:
        kind = self._kind(view.words[index])
        if kind & (WordKind.STOP | WordKind.COMMON | WordKind.EPONYM) or self._within_phrase(
            view, index
        ):
            return 0.0
        if self._is_cued(view, index):
            return CUED
        if view.words[index].isupper():
            return 0.0
        if label is Phi.CITY and kind & WordKind.NAME:
            return CUED if self._before_institution(view, index) else 0.0
        return SINGLE

    def _is_cued(self, view: TextView, index: int) -> bool:
        return (
            index > 0
            and bool(self._kind(view.words[index - 1]) & WordKind.PLACE_CUE)
            and view.gaps[index] == " "
        )

    def _before_institution(self, view: TextView, index: int) -> bool:
        """Whether a word such as ``clinic`` or ``area`` follows in lower case."""
        at = index + 1
        return (
            at < len(view.starts)
            and view.words[at].islower()
            and bool(self._kind(view.words[at]) & WordKind.INSTITUTION)
        )

    def _within_phrase(self, view: TextView, index: int) -> bool:
        """Whether an eponym's noun follows, as in ``Lyme disease``."""
        at = index + 1
        return (
            at < len(view.starts)
            and view.gaps[at] in (" ", "-")
            and bool(self._kind(view.words[at]) & WordKind.EPONYM_TAIL)
        )
