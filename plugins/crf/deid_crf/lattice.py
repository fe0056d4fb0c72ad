"""Linear-chain CRF over many sequences at once: the best legal tags, and exact probabilities of tags and of spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import TagScheme
from deid_assets.extending.decoding import constraints, viterbi

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
_FLOOR = -80.0
"""Least logarithm of a tag against its token's best: far below what can show, far above what a double cannot hold."""

_AS_GOOD_AS_CERTAIN = 1e-6


@dataclass(frozen=True, slots=True)
class Chain:
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
    def of(cls, tags: Sequence[str], scheme: TagScheme, weights: NDArray[np.float32]) -> Chain:
        """Return the legal part of transition weights, which are in the order of the tags."""
        legal, start, end = constraints(tags, scheme)
        return cls(weights + legal, start, end)


@dataclass(frozen=True, slots=True)
class Batch:
    """Sequences, longest first, to be read step by step.

    Args:
        starts: First row of each in the emissions.
        sizes: Rows of each.
        active: How many sequences have a row at each step.
    """

    starts: Numbers
    sizes: Numbers
    active: Sequence[int]

    @classmethod
    def of(cls, parts: Sequence[range]) -> Batch:
        """Return sequences that are ranges of rows, none of them empty."""
        ordered = sorted(parts, key=len, reverse=True)
        sizes = np.array([len(part) for part in ordered], dtype=np.intp)
        longest = int(sizes.max(initial=0))
        active = len(parts) - np.cumsum(np.bincount(sizes, minlength=longest + 1))[:longest]
        return cls(np.array([part.start for part in ordered], dtype=np.intp), sizes, active.tolist())


@dataclass(frozen=True, slots=True)
class Posterior:
    """Probabilities over all legal tag sequences.

    Forward-backward (Rabiner 1989), scaled at each row.

    Args:
        forward: (rows, tags), of the tag given what is up to the row.
        backward: (rows, tags), by which that changes with what comes after it.
        emitted: (rows, tags), weights of the emissions over what the row was scaled by.
        moves: (before, after), weights of the transitions.
    """

    forward: Floats
    backward: Floats
    emitted: Floats
    moves: Floats

    @property
    def tags(self) -> Floats:
        """Probability of each tag at each row, summing to 1; 0 in rows of no sequence."""
        found: Floats = self.forward * self.backward
        return found

    def span(self, first: int, tags: Sequence[int]) -> float:
        """Return the probability that the rows from ``first`` on have just these tags."""
        rows = range(first, first + len(tags))
        likely = self.forward[first, tags[0]] * self.backward[rows[-1], tags[-1]]
        for row, before, tag in zip(rows[1:], tags, tags[1:], strict=False):
            likely *= self.moves[before, tag] * self.emitted[row, tag]
        return min(float(likely), 1.0)


def posterior(emissions: NDArray[np.float32], batch: Batch, chain: Chain) -> Posterior:
    """Return the probabilities of a batch.

    Args:
        emissions: (rows, tags), logarithmic, finite.
        batch: The sequences.
        chain: The transitions.
    """
    emitted = emissions.astype(np.float64)
    emitted -= emitted.max(axis=1, keepdims=True)
    np.exp(np.maximum(emitted, _FLOOR, out=emitted), out=emitted)
    moves = np.exp(chain.weights.astype(np.float64))
    start, end = np.exp(chain.start.astype(np.float64)), np.exp(chain.end.astype(np.float64))
    forward, backward = np.zeros_like(emitted), np.zeros_like(emitted)
    reached = np.broadcast_to(start, (len(batch.starts), len(start)))
    for step, size in enumerate(batch.active):
        rows = batch.starts[:size] + step
        if step:
            reached = reached[:size] @ moves
        here = reached * emitted[rows]
        scale = here.sum(axis=1, keepdims=True)
        reached = here / scale
        forward[rows] = reached
        emitted[rows] /= scale
    for step in range(len(batch.active) - 1, -1, -1):
        size = batch.active[step]
        going = batch.active[step + 1] if step + 1 < len(batch.active) else 0
        rows = batch.starts[:size] + step
        ending = rows[going:]
        backward[ending] = end / (forward[ending] @ end)[:, None]
        after = rows[:going] + 1
        backward[rows[:going]] = (backward[after] * emitted[after]) @ moves.T
    return Posterior(forward, backward, emitted, moves)


def best(emissions: NDArray[np.float32], batch: Batch, chain: Chain, tags: Floats) -> Numbers:
    """Return the tags of the best legal sequence among those with ``O`` wherever ``O`` is as good as certain.

    Such rows cut a sequence into pieces. Where the likeliest tags of a piece, one by one, leave less than half of the
    probability to everything else, they are the best; only the other pieces are searched (Viterbi 1967).

    Args:
        emissions: (rows, tags), logarithmic, finite; tag 0 is ``O``.
        batch: The sequences.
        chain: The transitions.
        tags: ``Posterior.tags`` of the same.

    Returns:
        One tag per row; 0 in rows of no sequence.
    """
    chosen: Numbers = tags.argmax(axis=1)
    doubt = 1.0 - tags[np.arange(len(tags)), chosen]
    certain = (chosen == 0) & (doubt <= _AS_GOOD_AS_CERTAIN)
    summed = np.concatenate([[0.0], np.cumsum(doubt)])
    pieces = [piece for piece in _pieces(batch, certain) if summed[piece.stop] - summed[piece.start] >= 0.5]
    if not pieces:
        return chosen
    sizes = np.array([len(piece) for piece in pieces])
    searched = np.zeros((len(pieces), sizes.max(), tags.shape[1]), dtype=np.float32)
    for number, piece in enumerate(pieces):
        searched[number, : len(piece)] = emissions[piece.start : piece.stop]
        searched[number, np.flatnonzero(certain[piece.start : piece.stop]), 1:] = -np.inf
    paths = viterbi(searched, sizes, transitions=chain.weights, start=chain.start, end=chain.end)
    for piece, path in zip(pieces, paths, strict=True):
        chosen[piece.start : piece.stop] = path
    return chosen


def _pieces(batch: Batch, certain: NDArray[np.bool_]) -> Iterator[range]:
    """Yield the runs of rows that are not certain, each with the certain row before it and the one after it."""
    open_rows = np.flatnonzero(~certain)
    owner = np.full(len(certain), -1)
    for number, (start, size) in enumerate(zip(batch.starts, batch.sizes, strict=True)):
        owner[start : start + size] = number
    open_rows = open_rows[owner[open_rows] >= 0]
    breaks = np.flatnonzero((np.diff(open_rows) > 1) | (np.diff(owner[open_rows]) != 0))
    for run in np.split(open_rows, breaks + 1) if len(open_rows) else ():
        first, last = int(run[0]), int(run[-1])
        start = int(batch.starts[owner[first]])
        stop = start + int(batch.sizes[owner[first]])
        yield range(max(first - 1, start), min(last + 2, stop))
