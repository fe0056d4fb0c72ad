"""Numbers of words and of their forms, so that tokens are compared as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deid_crf.words import EDGE, normal, short_shape

Numbers = NDArray[np.int64]
MAX_WORDS = 200_000
"""Words that are remembered before all are forgotten."""
_MIN_LETTERS = 3
_LOW, _SHAPE, _LETTERS, _TELLING = range(4)


class Vocabulary:
    """Words that were met, by number; 0 is what is before and after a note, 1 the colon.

    Attributes:
        words: By number.
        lows: Normal forms, by number.
        shapes: Short shapes, by number.
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self.lows: list[str] = []
        self.shapes: list[str] = []
        self._words: dict[str, int] = {}
        self._lows: dict[str, int] = {}
        self._shapes: dict[str, int] = {}
        self._forms = np.zeros((0, 4), dtype=np.int64)
        self._learn([EDGE, ":"])

    def numbers(self, words: Sequence[str]) -> Numbers:
        """Return each word's number."""
        found = list(map(self._words.get, words))
        if None in found:
            self._learn(
                [
                    *dict.fromkeys(
                        word for word, number in zip(words, found, strict=True) if number is None
                    )
                ]
            )
            found = list(map(self._words.get, words))
        return np.array(found, dtype=np.int64)

    def _learn(self, words: Sequence[str]) -> None:
        for word in words:
            self._words[word] = len(self.words)
            self.words.append(word)
        forms = [self._form(word) for word in words]
        first, stop = len(self.words) - len(words), len(self.words)
        if stop > len(self._forms):
            wider = np.zeros((2 * stop, 4), dtype=np.int64)
            wider[:first] = self._forms[:first]
            self._forms = wider
        self._forms[first:stop] = forms

    def _form(self, word: str) -> tuple[int, int, bool, bool]:
        low, shape = normal(word), short_shape(word)
        if low not in self._lows:
            self._lows[low] = len(self.lows)
            self.lows.append(low)
        if shape not in self._shapes:
            self._shapes[shape] = len(self.shapes)
            self.shapes.append(shape)
        is_telling = len(word) >= _MIN_LETTERS and (word[0].isupper() or word[0].isdecimal())
        return self._lows[low], self._shapes[shape], low.isalpha(), is_telling

    def low(self, numbers: Numbers) -> Numbers:
        """Return the numbers of the words' normal forms."""
        found: Numbers = self._forms[numbers, _LOW]
        return found

    def shape(self, numbers: Numbers) -> Numbers:
        """Return the numbers of the words' short shapes."""
        found: Numbers = self._forms[numbers, _SHAPE]
        return found

    def label(self, numbers: Numbers) -> Numbers:
        """Return the numbers of the normal forms of the words that may name a field, 0
        for others.
        """
        found: Numbers = self._forms[numbers, _LOW] * self._forms[numbers, _LETTERS]
        return found

    def is_telling(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Return whether each word looks like a name or a number that is worth finding again."""
        found: NDArray[np.bool_] = self._forms[numbers, _TELLING] > 0
        return found
