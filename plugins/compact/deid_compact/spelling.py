"""Distinct words of a training corpus, each with its rows and its lists once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deid_compact.features import hash_part, rows_of, shape_of
from deid_compact.lexicon import ListIndex

Numbers = NDArray[np.int64]
_HIDDEN = "\0"
"""Stands before the shape of a word whose spelling is hidden."""
_PARTIAL = "\1"
"""Stands before a word that is known by its parts alone."""


class Spelling:
    """Numbers distinct words, and those that stand for words whose spelling is hidden.

    Args:
        lexicon: Lists of words.
    """

    def __init__(self, lexicon: ListIndex) -> None:
        self._lexicon = lexicon
        self._numbers: dict[str, int] = {}
        self._rows: list[Numbers] = []
        self._hidden: list[int] = []
        self._partial: list[int] = []
        self._lists: NDArray[np.float32] = np.zeros((0, lexicon.columns), dtype=np.float32)

    def numbers_of(self, words: Sequence[str]) -> Numbers:
        """Return the number of each word."""
        return np.array([self._number(word) for word in words], dtype=np.int64)

    def _number(self, word: str) -> int:
        known = self._numbers.get(word)
        if known is not None:
            return known
        rows = np.array(rows_of(word), dtype=np.int64)
        hidden = self._number_of_shape(shape_of(word))
        partial = self._add(_PARTIAL + word, rows[1:])  # the first row is the whole word's
        number = self._add(word, rows)
        self._hidden[number] = hidden
        self._partial[number] = partial
        return number

    def _number_of_shape(self, shape: str) -> int:
        known = self._numbers.get(_HIDDEN + shape)
        if known is not None:
            return known
        number = self._add(_HIDDEN + shape, np.array([hash_part("shape", shape)], dtype=np.int64))
        self._hidden[number] = number
        return number

    def _add(self, word: str, rows: Numbers) -> int:
        number = len(self._rows)
        self._numbers[word] = number
        self._rows.append(rows)
        self._hidden.append(number)
        self._partial.append(number)
        return number

    def close(self) -> None:
        """Look all words up in the lists."""
        self._lists = self._lexicon.lists_of(
            [word.removeprefix(_PARTIAL) for word in self._numbers]
        )

    def hide(self, numbers: Numbers) -> Numbers:
        """Return the numbers of words whose spelling is hidden."""
        return np.asarray(self._hidden, dtype=np.int64)[numbers]

    def partial(self, numbers: Numbers) -> Numbers:
        """Return the numbers of words that are known by their parts alone, as a word is that was
        never seen.
        """
        return np.asarray(self._partial, dtype=np.int64)[numbers]

    def parts(self, numbers: Numbers) -> tuple[Tensor, Tensor, Tensor]:
        """Return rows, starts and lists of distinct words, as a ``Feed`` has them."""
        rows = [self._rows[number] for number in numbers.tolist()]
        starts = np.cumsum([0, *(len(each) for each in rows[:-1])])
        return (
            torch.from_numpy(np.concatenate(rows)),
            torch.from_numpy(starts.astype(np.int64)),
            torch.from_numpy(self._lists[numbers]),
        )
