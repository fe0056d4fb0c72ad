"""The masked variants of a window: which sub-tokens are masked, and which one is predicted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.int64]


class Question(NamedTuple):
    """The query of a variant.

    Args:
        word: Number of the word.
        place: Of the sub-token within the window.
        target: The true sub-token.
    """

    word: int
    place: int
    target: int


@dataclass(slots=True)
class Variants:
    """The different variants of one window, each with its queries.

    Args:
        ids: Sub-tokens of the window.
    """

    ids: Array
    masked: list[Array] = field(default_factory=list)
    questions: list[list[Question]] = field(default_factory=list)
    _known: dict[bytes, int] = field(default_factory=dict)

    def ask(self, masked: Array, question: Question) -> None:
        """Add a question; where the same places are masked for another one, both share a variant.

        Args:
            masked: Places within the window, sorted.
            question: Its place is among them.
        """
        key = masked.tobytes()
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self.masked)
            self.masked.append(masked)
            self.questions.append([])
        self.questions[number].append(question)

    @property
    def asked(self) -> int:
        """Number of queries over all variants."""
        return sum(map(len, self.questions))


def reveal(variants: Variants, number: int, pieces: range, related: Array) -> None:
    """Ask for the sub-tokens of a word from left to right.

    All of them are masked at first; each is shown once it was asked for, while the same word elsewhere stays masked
    (Myntti 2025, section 1.6).

    Args:
        variants: Of the window.
        number: Of the word.
        pieces: Its places within the window.
        related: Places within the window of the same word elsewhere; its own may be among them. Sorted.
    """
    own = np.arange(pieces.start, pieces.stop)
    elsewhere = related[(related < pieces.start) | (related >= pieces.stop)]
    for shown, place in enumerate(own):
        masked = np.sort(np.concatenate([elsewhere, own[shown:]]))
        variants.ask(masked, Question(number, int(place), int(variants.ids[place])))


def at_once(variants: Variants, words: Iterable[tuple[int, range]], related: Sequence[Array]) -> None:
    """Ask for all sub-tokens of several words in one variant, with nothing of them shown.

    Args:
        variants: Of the window.
        words: Number and places of each.
        related: Places to hide, for each word.
    """
    asked = list(words)
    own = [np.arange(pieces.start, pieces.stop) for _, pieces in asked]
    masked = np.unique(np.concatenate([*own, *related]))
    for (number, _), places in zip(asked, own, strict=True):
        for place in places:
            variants.ask(masked, Question(number, int(place), int(variants.ids[place])))
