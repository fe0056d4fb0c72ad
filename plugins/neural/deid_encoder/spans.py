"""From the probabilities of pieces to those of words.

A word is as likely marked as its likeliest piece: half a name that stays is a name that stays. Its
category is the one that its pieces together hold most likely.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import Phi, Token
from deid_compact.labels import Classes
from deid_compact.words import Floats, WordScores


def word_scores(
    words: Sequence[Token],
    offsets: Sequence[tuple[int, int]],
    probabilities: Floats,
    classes: Classes,
    silent: frozenset[Phi],
) -> WordScores:
    """Return what the pieces say of each word.

    Args:
        words: Where the words of the note begin and end.
        offsets: Where its pieces begin and end.
        probabilities: (pieces, outputs), rows that sum to 1.
        classes: Of the network.
        silent: Categories that do not mark a word.
    """
    pieces, of_word = pairs(words, offsets)
    by_category = classes.by_category(probabilities)[pieces]
    is_returned = np.array([category not in silent for category in classes.categories])
    marked = np.zeros(len(words), dtype=np.float32)
    np.maximum.at(marked, of_word, by_category[:, is_returned].sum(axis=1))
    categories = np.zeros((len(words), len(classes.categories)), dtype=np.float32)
    np.add.at(categories, of_word, by_category)
    begins = np.zeros(len(words), dtype=np.float32)
    np.maximum.at(begins, of_word, probabilities[pieces][:, 1::2].sum(axis=1))
    return WordScores(words, marked, categories, begins)


def word_probabilities(
    words: Sequence[Token], offsets: Sequence[tuple[int, int]], probabilities: Floats
) -> Floats:
    """Return the outputs of each word, those of its likeliest piece: (words, outputs)."""
    found = np.zeros((len(words), probabilities.shape[1]), dtype=np.float32)
    found[:, 0] = 1.0
    marked = np.full(len(words), -1.0, dtype=np.float32)
    pieces, of_word = pairs(words, offsets)
    for piece, word in zip(pieces.tolist(), of_word.tolist(), strict=True):
        if 1 - probabilities[piece, 0] > marked[word]:
            marked[word] = 1 - probabilities[piece, 0]
            found[word] = probabilities[piece]
    return found


def pairs(
    words: Sequence[Token], offsets: Sequence[tuple[int, int]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each pair of a piece and a word that share a character, as their numbers."""
    if not words or not offsets:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    starts = np.array([start for start, _ in words])
    ends = np.array([end for _, end in words])
    piece_starts = np.array([start for start, _ in offsets])
    piece_ends = np.array([end for _, end in offsets])
    first = np.searchsorted(ends, piece_starts, side="right")
    stop = np.searchsorted(starts, piece_ends, side="left")
    counts = np.maximum(stop - first, 0)
    pieces = np.repeat(np.arange(len(offsets)), counts)
    within = np.arange(len(pieces)) - np.repeat(np.cumsum(counts) - counts, counts)
    return pieces, np.repeat(first, counts) + within
