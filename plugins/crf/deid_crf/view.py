"""A note as the tagger reads it: its words, and what other sources say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import TOKEN, Token
from deid_crf.words import REMEMBERED, normal

Prediction = tuple[int, int, str]
"""First token, one past the last token, label."""
_LONGEST_PIECE = 40
"""Characters of what is remembered."""
_LAST_BLANK = 0x3000
_IS_TEXT = np.array([not chr(code).isspace() for code in range(_LAST_BLANK + 2)])
"""Whether each character is no blank; the last entry stands for all that follow."""


@dataclass(frozen=True, slots=True)
class NoteView:
    """One note.

    Args:
        text: The note's text.
        words: Text of the tokens.
        borders: (tokens, 2), where each begins and ends.
        predictions: What another detector found, in order and apart.
        hits: Lists that hold each token, or the phrase that it is part of.
    """

    text: str = field(repr=False)
    words: Sequence[str] = field(repr=False)
    borders: NDArray[np.int64] = field(repr=False)
    predictions: Sequence[Prediction] = ()
    hits: Sequence[tuple[str, ...]] = ()

    @classmethod
    def of(cls, text: str) -> NoteView:
        """Return a text's view, without predictions and lists."""
        return views_of([text], TokenCache())[0]

    @property
    def tokens(self) -> list[Token]:
        """Offsets of the tokens."""
        return [*zip(*self.borders.T.tolist(), strict=True)]

    @property
    def lows(self) -> list[str]:
        """Words in normal form."""
        return [normal(word) for word in self.words]


class TokenCache(dict[str, list[str]]):
    """The tokens of what stands between blanks, found when it is first met.

    No token holds a blank.
    """

    def __missing__(self, piece: str) -> list[str]:
        found = TOKEN.findall(piece)
        if len(piece) <= _LONGEST_PIECE:
            if len(self) >= REMEMBERED:
                self.clear()
            self[piece] = found
        return found

    def words(self, text: str) -> list[str]:
        """Return the tokens of a text."""
        return [*chain.from_iterable(map(self.__getitem__, text.split()))]


def views_of(texts: Sequence[str], pieces: TokenCache) -> list[NoteView]:
    """Return the texts' views, without predictions and lists.

    Tokens hold every character that is no blank once, so their offsets follow from their lengths.

    Args:
        texts: In any order.
        pieces: Learns what stands in them.
    """
    words = [*map(pieces.words, texts)]
    lengths = np.fromiter(map(len, chain.from_iterable(words)), np.int64)
    stops = np.cumsum(lengths)
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    places = np.flatnonzero(_IS_TEXT[np.minimum(codes, _LAST_BLANK + 1)])
    borders = np.stack([places[stops - lengths], places[stops - 1] + 1], axis=1)
    views, first, begins = [], 0, 0
    for text, of_text in zip(texts, words, strict=True):
        stop = first + len(of_text)
        views.append(NoteView(text, of_text, borders[first:stop] - begins))
        first, begins = stop, begins + len(text)
    return views
