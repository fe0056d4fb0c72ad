"""Likelihood of a linear-chain CRF over a whole corpus, and its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from deid_crf.evidence import Evidence, Places

Parameters = NDArray[np.float64]
Rows = NDArray[np.float32]


class Likelihood:
    """The negative logarithmic likelihood of the training tags (Lafferty, McCallum and Pereira
    2001).

    A parameter is the weight of an attribute for a tag that it was seen with, or of a tag for one
    that came after it. Rows are in the order in which the recurrence reads them: the first token of
    every sequence, longest sequence first, then all second tokens, and so on. So each step is a run
    of rows, and one product of matrices.

    Args:
        evidence: What the notes show.
        rows: Rows of each sequence, none of them empty.
        tags: Tag number of each row.
        width: Number of tags.
    """

    def __init__(
        self, evidence: Evidence, rows: Sequence[Places], tags: Sequence[Places], *, width: int
    ) -> None:
        order = sorted(range(len(rows)), key=lambda number: len(rows[number]), reverse=True)
        sizes = np.array([len(rows[number]) for number in order], dtype=np.int64)
        active = len(order) - np.cumsum(np.bincount(sizes))[:-1]
        borders = np.concatenate([[0], np.cumsum(active)])
        self._steps = [slice(first, stop) for first, stop in pairwise(borders.tolist())]
        places, gold_tags = np.empty(borders[-1], np.int64), np.empty(borders[-1], np.int64)
        for place, number in enumerate(order):
            at = borders[: len(rows[number])] + place
            places[at], gold_tags[at] = rows[number], tags[number]
        self._after = np.arange(active[0], borders[-1])
        self._before = np.concatenate(
            [
                np.arange(first, first + count)
                for first, count in zip(borders, active[1:], strict=False)
            ]
            or [np.zeros(0, np.int64)]
        )
        self._width = width
        self._features, self._positions = evidence.features, evidence.positions(places)
        self._features_by, self._positions_by = self._features.T.tocsr(), self._positions.T.tocsr()
        self._observe(gold_tags)

    def _observe(self, gold_tags: Places) -> None:
        """Number the parameters, and count what each of them stands for in the training tags."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - heavy, needed in training alone

        shape = (len(gold_tags), self._width)
        gold = csr_matrix(
            (np.ones(len(gold_tags), np.float32), (np.arange(len(gold_tags)), gold_tags)), shape
        )
        seen = (self._features_by @ (self._positions_by @ gold)).tocsr()
        seen.sort_indices()
        self._cells = (
            np.repeat(np.arange(seen.shape[0]), np.diff(seen.indptr)) * self._width + seen.indices
        )
        moves = np.bincount(
            gold_tags[self._before] * self._width + gold_tags[self._after], minlength=self._width**2
        )
        self._moves = np.flatnonzero(moves)
        self._seen = np.concatenate([seen.data, moves[self._moves]]).astype(np.float64)
        self.size = len(self._seen)

    def weights(self, parameters: Parameters) -> tuple[Rows, Rows]:
        """Return the weights of attributes, (attributes, tags), and of transitions, (before,
        after).
        """
        states = np.zeros(self._features.shape[1] * self._width, dtype=np.float32)
        moves = np.zeros(self._width**2, dtype=np.float32)
        states[self._cells] = parameters[: len(self._cells)]
        moves[self._moves] = parameters[len(self._cells) :]
        return states.reshape(-1, self._width), moves.reshape(self._width, self._width)

    def __call__(self, parameters: Parameters) -> tuple[float, Parameters]:
        """Return the negative logarithmic likelihood and its gradient."""
        states, moves = self.weights(parameters)
        emitted = self._positions @ (self._features @ states)
        highest = emitted.max(axis=1, keepdims=True)
        np.exp(np.subtract(emitted, highest, out=emitted), out=emitted)
        np.exp(moves, out=moves)
        forward, scale = self._forward(emitted, moves)
        ways = float(np.log(scale, dtype=np.float64).sum() + highest.sum(dtype=np.float64))
        emitted /= scale
        backward = self._backward(emitted, moves)
        emitted *= backward
        expected_moves = moves * (forward[self._before].T @ emitted[self._after])
        forward *= backward
        expected_states = self._features_by @ (self._positions_by @ forward)
        expected = np.concatenate(
            [expected_states.ravel()[self._cells], expected_moves.ravel()[self._moves]]
        )
        return ways - float(self._seen @ parameters), expected - self._seen

    def _forward(self, emitted: Rows, moves: Rows) -> tuple[Rows, Rows]:
        """Return the tags' probabilities given what is up to each row, and what each row was scaled
        by.
        """
        found, scale = np.empty_like(emitted), np.empty((len(emitted), 1), dtype=np.float32)
        before = slice(0, 0)
        for rows in self._steps:
            here = emitted[rows]
            if before.stop:
                here = here * (found[before.start : before.start + len(here)] @ moves)
            here.sum(axis=1, keepdims=True, out=scale[rows])
            np.divide(here, scale[rows], out=found[rows])
            before = rows
        return found, scale

    def _backward(self, emitted: Rows, moves: Rows) -> Rows:
        """Return by what the probabilities change with what comes after each row."""
        found = np.ones_like(emitted)
        for rows, after in zip(self._steps[-2::-1], self._steps[:0:-1], strict=True):
            going = slice(rows.start, rows.start + after.stop - after.start)
            np.matmul(emitted[after] * found[after], moves.T, out=found[going])
        return found
