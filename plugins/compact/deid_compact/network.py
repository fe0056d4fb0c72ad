"""The network, run with NumPy.

Parts of words added up, the mean of the note's words, five convolutions over the words, a linear
layer. The mean says in which language and how a note is written.

The convolutions see 1, 2, 4, 8 and 1 words to either side, 16 in all (dilated convolutions: Yu and
Koltun 2016; hashed parts of words under convolutions: Honnibal and Montani 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from deid_compact.features import rows_of
from deid_compact.lexicon import ListIndex

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]

DILATIONS = (1, 2, 4, 8, 1)
SEEN = sum(DILATIONS)
"""Words to either side that a word sees."""
LONGEST = 20_000
"""Words that are read together, in about 50 MB.

A longer note is read in parts that see their neighbours.
"""
_EPSILON = 1e-5
_REMEMBERED = 100_000
_BLOCK = 64


@dataclass(frozen=True, slots=True)
class CompactWeights:
    """Weights of the network; ``width`` is that of its layers, ``parts`` that of the table.

    Args:
        table: A row for each hashed part of a word: (rows, parts), int8.
        scales: What each row is multiplied by: (rows,).
        lists: Added for each list that holds the word: (lists, parts).
        project: From the parts to the layers: (parts, width), and its bias.
        gap: A row for each way in which a word is set off: (gaps, width).
        rule: A row for each label that the other detector gave the word: (labels, width).
        note: From the mean of a note's words to what is added to each: (width, width); none in
            models of older versions.
        norm: Scale and shift in front of the convolutions: two of (width,).
        layers: Matrix (3 * width, width), bias, scale and shift of each convolution.
        head: (width, outputs), and its bias.
    """

    table: NDArray[np.int8]
    scales: Floats
    lists: Floats
    project: tuple[Floats, Floats]
    gap: Floats
    rule: Floats
    note: Floats | None
    norm: tuple[Floats, Floats]
    layers: Sequence[tuple[Floats, Floats, Floats, Floats]]
    head: tuple[Floats, Floats]


@dataclass(slots=True)
class CompactNetwork:
    """Scores the words of notes.

    Args:
        weights: Trained.
        lexicon: Lists of words.
    """

    weights: CompactWeights
    lexicon: ListIndex
    _known: dict[str, int] = field(default_factory=dict)
    _vectors: Floats = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))

    def scores(self, words: Sequence[str], gaps: Numbers, labels: Numbers) -> Floats:
        """Return the scores of words: (words, outputs), unnormalised.

        Args:
            words: Of a note.
            gaps: How each is set off: (words,).
            labels: Number of the label that the other detector gave each: (words,).
        """
        of_note = self._of_note(words, gaps, labels)
        if len(words) <= LONGEST:
            return self._scores(words, gaps, labels, of_note)
        found = []
        for first in range(0, len(words), LONGEST):
            start = max(0, first - SEEN)
            stop = first + LONGEST
            part = slice(start, stop + SEEN)
            scores = self._scores(words[part], gaps[part], labels[part], of_note)
            found.append(scores[first - start : stop - start])
        return np.concatenate(found)

    def _of_note(self, words: Sequence[str], gaps: Numbers, labels: Numbers) -> Floats:
        """Return what the mean of all words adds to each: (width,)."""
        matrix = self.weights.note
        total = np.zeros(len(self.weights.norm[0]), dtype=np.float32)
        if matrix is None or not words:
            return total
        for first in range(0, len(words), LONGEST):
            part = slice(first, first + LONGEST)
            total += self._describe_words(words[part], gaps[part], labels[part]).sum(axis=0)
        total /= len(words)
        added: Floats = total @ matrix
        return added

    def _describe_words(self, words: Sequence[str], gaps: Numbers, labels: Numbers) -> Floats:
        """Return what is known of each word by itself: (words, width)."""
        states = self._of_words(words)
        states += self.weights.gap[gaps]
        states += self.weights.rule[labels]
        return states

    def _scores(
        self, words: Sequence[str], gaps: Numbers, labels: Numbers, of_note: Floats
    ) -> Floats:
        states = self._describe_words(words, gaps, labels)
        states += of_note
        states = _normalize(states, *self.weights.norm)
        for dilation, (matrix, bias, scale, shift) in zip(
            DILATIONS, self.weights.layers, strict=True
        ):
            states = self._convolve(states, dilation, matrix, bias)
            states = _normalize(states, scale, shift)
        matrix, bias = self.weights.head
        found: Floats = states @ matrix + bias
        return found

    def _convolve(self, states: Floats, dilation: int, matrix: Floats, bias: Floats) -> Floats:
        """Return the states with what three words, each ``dilation`` apart, add to the
        middle one.
        """
        size, width = states.shape
        three = np.zeros((size, 3 * width), dtype=np.float32)
        three[dilation:, :width] = states[:-dilation]
        three[:, width : 2 * width] = states
        three[:-dilation, 2 * width :] = states[dilation:]
        added = three @ matrix
        added += bias
        np.maximum(added, 0, out=added)
        added += states
        return added

    def _of_words(self, words: Sequence[str]) -> Floats:
        """Return what the spelling of each word says: (words, width)."""
        if len(self._known) > _REMEMBERED:
            self._known = {}
        known = self._known
        new = list(dict.fromkeys(word for word in words if word not in known))
        if new:
            self._keep(new, self._vectors_of(new))
        return self._vectors[[known[word] for word in words]]

    def _keep(self, words: Sequence[str], vectors: Floats) -> None:
        """Keep the vectors of new words.

        Room is doubled where there is too little, so that few notes copy what is kept.
        """
        first = len(self._known)
        stop = first + len(words)
        if stop > len(self._vectors):
            room = np.empty((2 * stop, vectors.shape[1]), dtype=np.float32)
            room[:first] = self._vectors[:first].reshape(first, vectors.shape[1])
            self._vectors = room
        self._vectors[first:stop] = vectors
        self._known.update(zip(words, range(first, stop), strict=True))

    def _vectors_of(self, words: Sequence[str]) -> Floats:
        rows = [rows_of(word) for word in words]
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
        starts = np.cumsum([0, *(len(each) for each in rows[:-1])])
        parts = self.weights.table[flat].astype(np.float32)
        parts *= self.weights.scales[flat, None]
        summed = np.add.reduceat(parts, starts, axis=0)
        lists = self.lexicon.lists_of(words)
        blocks = [
            self._project(summed[first : first + _BLOCK], lists[first : first + _BLOCK])
            for first in range(0, len(words), _BLOCK)
        ]
        return np.concatenate(blocks)

    def _project(self, summed: Floats, lists: Floats) -> Floats:
        """Return the vectors of at most a block of words.

        Always of a whole block, so that a word's vector does not depend on the words that were new
        with it.
        """
        size = len(summed)
        empty = _BLOCK - size
        both = np.concatenate([summed, np.zeros((empty, summed.shape[1]), dtype=np.float32)])
        held = np.concatenate([lists, np.zeros((empty, lists.shape[1]), dtype=np.float32)])
        both += held @ self.weights.lists
        np.maximum(both, 0, out=both)
        matrix, bias = self.weights.project
        vectors: Floats = (both @ matrix + bias)[:size]
        return vectors


def _normalize(states: Floats, scale: Floats, shift: Floats) -> Floats:
    """Return states with mean 0 and deviation 1 over each word, then scaled and shifted (Ba et al.
    2016); in place.
    """
    states -= states.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.einsum("ij,ij->i", states, states)[:, None] / states.shape[1] + _EPSILON)
    states /= spread
    states *= scale
    states += shift
    return states
