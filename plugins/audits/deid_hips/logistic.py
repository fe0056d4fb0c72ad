"""Logistic regression over sparse yes-or-no features, in NumPy.

Enough for an attacker, and the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import InputError
from deid_hips.features import DIMENSIONS, Rows

STEPS, RATE, PENALTY = 300, 0.3, 1e-3


@dataclass(frozen=True, slots=True)
class Logistic:
    """A trained model: one weight per feature."""

    weights: NDArray[np.float64]

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Return the log odds of each row."""
        return _dot(self.weights, *_flat(rows))


def fit(rows: Rows, is_positive: Sequence[bool]) -> Logistic:
    """Return a model of both classes with equal weight, by AdaGrad over the whole set with an L2
    penalty.

    Raises:
        InputError: One of the classes is empty.

    Source:
        Duchi, Hazan and Singer (2011), Adaptive subgradient methods.
    """
    wanted = np.asarray(is_positive, dtype=np.float64)
    positives = wanted.sum()
    if not 0 < positives < len(wanted):
        raise InputError(
            "the attacker needs missed identifiers and replacements to learn from; give more notes"
        )
    importance = np.where(wanted == 1, 0.5 / positives, 0.5 / (len(wanted) - positives))
    every, sizes = _flat(rows)
    used, flat = np.unique(every, return_inverse=True)
    weights = np.zeros(len(used))
    squares = np.full(len(used), 1e-8)
    for _ in range(STEPS):
        error = importance * (
            1 / (1 + np.exp(-np.clip(_dot(weights, flat, sizes), -30, 30))) - wanted
        )
        gradient = (
            np.bincount(flat, weights=np.repeat(error, sizes), minlength=len(used))
            + PENALTY * weights
        )
        squares += gradient**2
        weights -= RATE * gradient / np.sqrt(squares)
    found = np.zeros(DIMENSIONS)
    found[used] = weights
    return Logistic(found)


def _flat(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    sizes = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    return (np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)), sizes


def _dot(
    weights: NDArray[np.float64], flat: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the sum of each row's weights.

    No row is empty, since every one has the feature of all.
    """
    if not len(sizes):
        return np.zeros(0)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    sums: NDArray[np.float64] = np.add.reduceat(weights[flat], starts)
    return sums
