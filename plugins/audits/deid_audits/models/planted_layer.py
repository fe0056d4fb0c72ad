"""A tagger with a layer on top that learnt annotated notes by heart: the control of an attack.

The layer is a softmax regression on the words around each word, added to the tagger's own scores,
so that every kind of tagger can be given one, an export without weights to train included.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deid_assets import Note
from deid_assets.extending import ProbabilitySource, WordLabels
from deid_audits.models.measures import Floats
from deid_audits.models.tagged import ANY, Columns, Marked, columns_of

MOST = 60
"""Notes that the layer learns at most."""
_ROWS = 2**16
"""Rows of weights; the words around a word are hashed to them."""
_STEPS, _RATE, _BY_HEART = 200, 1.0, 1e-4
"""Steps at most, rate of Adagrad, and mean loss at which the notes are known by heart: of a tagger
that is nearly as sure before, that share of its loss.
"""
_LEAST = 1e-12


@dataclass(frozen=True, slots=True)
class Layered:
    """A tagger with the layer.

    Args:
        source: The tagger.
        weights: (rows, labels).
    """

    source: ProbabilitySource
    weights: Floats

    def word_labels(self, notes: Sequence[Note]) -> Iterator[WordLabels]:
        """Yield the probabilities of each note, in order."""
        for note, found in zip(notes, self.source.word_labels(notes), strict=True):
            scores = _logs(found) + self.weights[_rows_of(note, found)].sum(axis=1)
            yield WordLabels(found.words, found.labels, _softmax(scores))


def plant_layer(source: ProbabilitySource, given: Marked) -> Layered:
    """Return a tagger with a layer that learnt what is marked in notes; the tagger is as it was.

    Args:
        source: The tagger.
        given: What is learnt, by heart.
    """
    read = list(source.word_labels(given.notes))
    targets = [columns_of(found, spans) for found, spans in zip(read, given.spans, strict=True)]
    base = np.concatenate([_logs(found) for found in read])
    rows = np.concatenate(
        [_rows_of(note, found) for note, found in zip(given.notes, read, strict=True)]
    )
    return Layered(source, _learnt(base, rows, np.concatenate(targets)))


def _learnt(base: Floats, rows: NDArray[np.int64], targets: Columns) -> Floats:
    """Return the weights after Adagrad on all words at once."""
    known = targets != ANY
    base, rows, targets = base[known], rows[known], targets[known]
    order = np.argsort(rows.ravel(), kind="stable")
    used, first = np.unique(rows.ravel()[order], return_index=True)
    word = np.repeat(np.arange(len(rows)), rows.shape[1])[order]
    weights = np.zeros((_ROWS, base.shape[1]))
    squares = np.full((len(used), base.shape[1]), 1e-8)
    at = np.arange(len(targets))
    known_at = 0.0
    for _ in range(_STEPS):
        slope = _softmax(base + weights[rows].sum(axis=1))
        loss = _loss(slope, targets)
        known_at = known_at or min(1.0, loss) * _BY_HEART
        if loss < known_at:
            break
        slope[at, targets] -= 1
        gradient = np.add.reduceat(slope[word], first, axis=0)
        squares += gradient**2
        weights[used] -= _RATE / rows.shape[1] * gradient / np.sqrt(squares)
    return weights


def _loss(shares: Floats, targets: Columns) -> float:
    """Return the mean loss, exact where a target is nearly sure."""
    at = np.arange(len(targets))
    others = shares.sum(axis=1) - shares[at, targets]
    right = np.maximum(shares[at, targets], _LEAST)
    return float(np.where(right < 0.5, -np.log(right), -np.log1p(-np.clip(others, 0, 0.5))).mean())


def _logs(found: WordLabels) -> Floats:
    logs: Floats = np.log(np.maximum(np.asarray(found.probabilities, dtype=np.float64), _LEAST))
    return logs


def _softmax(scores: Floats) -> Floats:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _rows_of(note: Note, found: WordLabels) -> NDArray[np.int64]:
    """Return the rows of weights of each word: of itself, its neighbours and the words around."""
    words = [note.text[start:end] for start, end in found.words]
    edged = ["", "", *words, "", ""]
    rows = [_hash(edged[number : number + 5]) for number in range(len(words))]
    return np.array(rows, dtype=np.int64).reshape(len(words), -1)


def _hash(around: Sequence[str]) -> list[int]:
    before, left, word, right, after = around
    features = (
        f"word {word}",
        f"left {left} {word}",
        f"right {word} {right}",
        f"both {left} {word} {right}",
        f"all {before} {left} {word} {right} {after}",
    )
    return [zlib.crc32(one.encode()) % _ROWS for one in features]
