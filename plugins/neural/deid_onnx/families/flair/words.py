"""Words as rows of tables.

Their own, those of their n-grams, or those of their first and last piece.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from deid_onnx.families.flair.arrays import Feeds, Line

_FNV_BASIS, _FNV_PRIME = 2166136261, 16777619  # Fowler, Noll and Vo 1991, 32 bits
_DIGIT = re.compile(r"\d")
_REMEMBERED = 200_000  # words whose rows are kept


@dataclass(slots=True)
class VectorTable:
    """Rows of a table of vectors.

    A word's own, or those of its parts, of which the network takes the mean.

    The table holds the words, then ``buckets`` rows of character n-grams (Bojanowski et al. 2017),
    then zeros. Arrays: ``rows`` (words, parts) int64; ``share`` (words, 1) float32, one over the
    number of parts.
    """

    words: Mapping[str, int]
    buckets: int = 0
    shortest: int = 3
    longest: int = 6
    _known: dict[str, list[int]] = field(default_factory=dict)

    def feeds(self, lines: Sequence[Line], words: Sequence[str]) -> Feeds:  # noqa: ARG002 - one shape for all parts
        """Return ``rows`` and ``share``."""
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        found = [
            self._known.get(word) or self._known.setdefault(word, self._rows(word))
            for word in words
        ]
        rows = np.full(
            (len(words), max(map(len, found))), len(self.words) + self.buckets, dtype=np.int64
        )
        for number, parts in enumerate(found):
            rows[number, : len(parts)] = parts
        sizes = np.fromiter(map(len, found), dtype=np.float32, count=len(found))
        return {"rows": rows, "share": (1 / sizes)[:, None]}

    def _rows(self, word: str) -> list[int]:
        if self.buckets:
            if word in self.words:
                return [self.words[word]]
            grams = ngrams(word, self.shortest, self.longest)
            return [len(self.words) + fnv(gram) % self.buckets for gram in grams] or [
                len(self.words) + self.buckets
            ]
        return [
            next((self.words[form] for form in _forms(word) if form in self.words), len(self.words))
        ]


def _forms(word: str) -> Iterable[str]:
    """Yield the word as published vectors may have it.

    Itself, in lower case, and with its digits replaced.
    """
    lower = word.lower()
    return word, lower, _DIGIT.sub("#", lower), _DIGIT.sub("0", lower)


def ngrams(word: str, shortest: int, longest: int) -> list[str]:
    """Return the character n-grams of a word in angle brackets, as fastText cuts them."""
    text = f"<{word}>"
    return [
        text[at : at + size]
        for at in range(len(text))
        for size in range(shortest, longest + 1)
        if at + size <= len(text) and not (size == 1 and at in {0, len(text) - 1})
    ]


def fnv(text: str) -> int:
    """Return fastText's hash: FNV-1a over UTF-8, with each byte taken as signed."""
    value = _FNV_BASIS
    for byte in text.encode():
        value = ((value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * _FNV_PRIME) & 0xFFFFFFFF
    return value


@dataclass(slots=True)
class BytePairs:
    """First and last sub-word of a token (Heinzerling and Strube 2018), cut by byte-pair encoding.

    Args:
        ranks: Piece to its row; the earlier row is merged first, as in a SentencePiece model of the
            kind ``bpe``.
        unknown: Row of the unknown piece.

    Arrays: ``rows`` (words, 2) int64.
    """

    ranks: Mapping[str, int]
    unknown: int = 0
    _known: dict[str, tuple[int, int]] = field(default_factory=dict)

    def feeds(self, lines: Sequence[Line], words: Sequence[str]) -> Feeds:  # noqa: ARG002 - one shape for all parts
        """Return ``rows``."""
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        rows = [
            self._known.get(word) or self._known.setdefault(word, self._ends(word))
            for word in words
        ]
        return {"rows": np.array(rows, dtype=np.int64).reshape(len(words), 2)}

    def _ends(self, word: str) -> tuple[int, int]:
        pieces = self.cut(_DIGIT.sub("0", word).lower())
        return self.ranks.get(pieces[0], self.unknown), self.ranks.get(pieces[-1], self.unknown)

    def cut(self, word: str) -> list[str]:
        """Return the pieces of a word in lower case."""
        pieces = list("\u2581" + "\u2581".join(unicodedata.normalize("NFKC", word).split()))
        while len(pieces) > 1:
            joined = [left + right for left, right in pairwise(pieces)]
            best = min(
                range(len(joined)), key=lambda at: self.ranks.get(joined[at], len(self.ranks))
            )
            if joined[best] not in self.ranks:
                break
            pieces[best : best + 2] = [joined[best]]
        return pieces


@dataclass(frozen=True, slots=True)
class Exact:
    """Row of a word that is written exactly so, else row 0. Arrays: ``rows`` (words,) int64."""

    words: Mapping[str, int]

    def feeds(self, lines: Sequence[Line], words: Sequence[str]) -> Feeds:  # noqa: ARG002 - one shape for all parts
        """Return ``rows``."""
        return {
            "rows": np.fromiter(
                (self.words.get(word, 0) for word in words), dtype=np.int64, count=len(words)
            )
        }
