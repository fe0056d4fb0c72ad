"""Linear-chain CRF over many sequences at once: exact probabilities of tags and of spans."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from deid_assets.extending import TagScheme
from deid_assets.extending.decoding import constraints

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
_FLOOR = -80.0
"""Least logarithm of a tag against its token's best.

Far below what can show, far above what a double cannot hold.
"""

ROWS_AT_ONCE = 2_048
"""Rows that are worked on while they are in the processor's cache."""
_SCALED = 4
"""Of so many steps one is scaled: no double runs out of range in between."""


class Room:
    """Memory for the large arrays of a batch, used again from batch to batch.

    The system would clear it anew each time.

    What is written for one batch is void when the next is read.

    Attributes:
        lock: Held by the thread that works with it, and with the taggers whose room it is.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._held: dict[str, NDArray[Any]] = {}

    def floats(self, name: str, shape: tuple[int, int]) -> Floats:
        """Return an array of double precision whose content is anything."""
        return self._array(name, shape, np.float64)

    def zeros(self, name: str, shape: tuple[int, int]) -> NDArray[np.float32]:
        """Return an array of single precision, all 0."""
        found: NDArray[np.float32] = self._array(name, shape, np.float32)
        found.fill(0)
        return found

    def _array(self, name: str, shape: tuple[int, int], dtype: DTypeLike) -> NDArray[Any]:
        size = shape[0] * shape[1]
        held = self._held.get(name)
        if held is None or len(held) < size:
            held = self._held[name] = np.empty(size, dtype=dtype)
        return held[:size].reshape(shape)


@dataclass(frozen=True, slots=True)
class TransitionWeights:
    """Weights of the transitions, those that the scheme forbids at minus infinity.

    Args:
        weights: (before, after).
        start: Of the first tag.
        end: Of the last tag.
    """

    weights: NDArray[np.float32]
    start: NDArray[np.float32]
    end: NDArray[np.float32]

    @classmethod
    def of(
        cls, tags: Sequence[str], scheme: TagScheme, weights: NDArray[np.float32]
    ) -> TransitionWeights:
        """Return the legal part of transition weights, which are in the order of the tags."""
        legal, start, end = constraints(tags, scheme)
        return cls(weights + legal, start, end)


@dataclass(frozen=True, slots=True)
class SequenceBatch:
    """Sequences, to be read step by step.

    The first row of every sequence, longest sequence first, then all second ones.

    Args:
        starts: First row of each in the emissions, longest sequence first.
        sizes: Rows of each.
        rows: Rows of the emissions in the order in which they are read.
        steps: Which of these are read at each step.
    """

    starts: Numbers
    sizes: Numbers
    rows: Numbers
    steps: Sequence[slice]

    @classmethod
    def of(cls, parts: Sequence[range]) -> SequenceBatch:
        """Return sequences that are ranges of rows, none of them empty."""
        ordered = sorted(parts, key=len, reverse=True)
        sizes = np.array([len(part) for part in ordered], dtype=np.intp)
        starts = np.array([part.start for part in ordered], dtype=np.intp)
        longest = int(sizes.max(initial=0))
        active = len(parts) - np.cumsum(np.bincount(sizes, minlength=longest + 1))[:longest]
        borders = np.concatenate([[0], np.cumsum(active)])
        step = np.repeat(np.arange(longest), active)
        rows = starts[np.arange(len(step)) - borders[step]] + step
        return cls(
            starts, sizes, rows, [slice(first, stop) for first, stop in pairwise(borders.tolist())]
        )


@dataclass(frozen=True, slots=True)
class Posterior:
    """Probabilities over all legal tag sequences.

    Forward-backward (Rabiner 1989), scaled at some rows. Rows are in the order of
    ``SequenceBatch.rows``.

    Args:
        forward: (rows, tags), of the tag given what is up to the row, but for a factor that all
            tags share.
        backward: (rows, tags), by which that changes with what comes after it, so that the products
            are probabilities.
        emitted: (rows, tags), weights of the emissions over what the row was scaled by.
        moves: (before, after), weights of the transitions.
        places: For each row of the emissions where it is among these; -1 for one of no sequence.
    """

    forward: Floats
    backward: Floats
    emitted: Floats
    moves: Floats
    places: Numbers

    @property
    def tags(self) -> Floats:
        """Probability of each tag at each row of the emissions, summing to 1.

        0 in rows of no sequence.
        """
        found = np.zeros((len(self.places), len(self.moves)))
        inside = self.places >= 0
        found[inside] = (self.forward * self.backward)[self.places[inside]]
        return found

    def likeliest(self) -> tuple[Numbers, Floats]:
        """Return the likeliest tag of each row of the emissions, and its probability.

        0 and 1 in rows of no sequence.
        """
        shares = np.append(self.forward[:, 0] * self.backward[:, 0], 1.0)
        tags = np.zeros(len(shares), dtype=np.intp)
        others = np.flatnonzero(shares < 0.5)
        found = self.forward[others] * self.backward[others]
        tags[others] = found.argmax(axis=1)
        shares[others] = found.max(axis=1)
        return tags[self.places], shares[self.places]

    def spans(self, first: Numbers, last: Numbers, tags: Numbers) -> list[float]:
        """Return the probability of each span: that its rows have just these tags.

        Args:
            first: First row of each span.
            last: Last row of each span.
            tags: Tag of every row of the emissions.
        """
        likely = (
            self.forward[self.places[first], tags[first]]
            * self.backward[self.places[last], tags[last]]
        )
        for ahead in range(1, int((last - first).max(initial=0)) + 1):
            longer = np.flatnonzero(last - first >= ahead)
            rows = first[longer] + ahead
            moved = (
                self.moves[tags[rows - 1], tags[rows]] * self.emitted[self.places[rows], tags[rows]]
            )
            likely[longer] *= moved
        found: list[float] = np.minimum(likely, 1.0).tolist()
        return found


def posterior(
    emissions: NDArray[np.float32],
    batch: SequenceBatch,
    chain: TransitionWeights,
    room: Room | None = None,
) -> Posterior:
    """Return the probabilities of a batch.

    Args:
        emissions: (rows, tags), logarithmic, finite.
        batch: The sequences.
        chain: The transitions.
        room: Where the result is written; of its own when not given.
    """
    room = room or Room()
    shape = (len(batch.rows), emissions.shape[1])
    emitted = room.floats("emitted", shape)
    for part in parts_of(len(emitted)):
        here = emitted[part]
        here[:] = emissions.take(batch.rows[part], axis=0)
        here -= _greatest(here)
        np.exp(np.maximum(here, _FLOOR, out=here), out=here)
    moves = np.exp(chain.weights.astype(np.float64))
    places = np.full(len(emissions), -1, dtype=np.intp)
    places[batch.rows] = np.arange(len(batch.rows))
    forward, backward = room.floats("forward", shape), room.floats("backward", shape)
    _fill_forward(forward, emitted, batch, moves, np.exp(chain.start.astype(np.float64)))
    found = Posterior(forward, backward, emitted, moves, places)
    _fill_backward(found, batch, np.exp(chain.end.astype(np.float64)))
    return found


def parts_of(rows: int) -> Iterator[slice]:
    """Yield the parts in which so many rows are worked on."""
    for first in range(0, rows, ROWS_AT_ONCE):
        yield slice(first, min(first + ROWS_AT_ONCE, rows))


def _greatest(values: Floats) -> Floats:
    """Return the greatest value of each row: (rows, 1).

    Halves are compared as a whole, ten times as fast as row by row.
    """
    while values.shape[1] > 1:
        half = (values.shape[1] + 1) // 2
        values = np.maximum(values[:, :half], values[:, -half:])
    return values


def _fill_forward(
    found: Floats, emitted: Floats, batch: SequenceBatch, moves: Floats, start: Floats
) -> None:
    """Fill in the tags' probabilities given what is up to each row, but for a factor.

    Scale what each row emits.
    """
    ones = np.ones((len(start), 1))
    reached = np.broadcast_to(start, emitted[batch.steps[0]].shape) if batch.steps else found
    for number, rows in enumerate(batch.steps):
        here, weights = found[rows], emitted[rows]
        if number:
            np.matmul(reached[: len(here)], moves, out=here)
            here *= weights
        else:
            np.multiply(reached, weights, out=here)
        if number % _SCALED == 0:
            scale = 1.0 / (here @ ones)
            here *= scale
            weights *= scale
        reached = here


def _fill_backward(of: Posterior, batch: SequenceBatch, end: Floats) -> None:
    """Fill in by what the probabilities change with what comes after each row."""
    found, forward, emitted, back = (
        of.backward,
        of.forward,
        of.emitted,
        np.ascontiguousarray(of.moves.T),
    )
    weighed = np.empty_like(emitted[batch.steps[0]]) if batch.steps else found
    after = slice(len(emitted), len(emitted))
    for rows in reversed(batch.steps):
        size = after.stop - after.start
        going = rows.start + size
        if going < rows.stop:
            found[going : rows.stop] = end / (forward[going : rows.stop] @ end)[:, None]
        if size:
            np.multiply(found[after], emitted[after], out=weighed[:size])
            np.matmul(weighed[:size], back, out=found[rows.start : going])
        after = rows
