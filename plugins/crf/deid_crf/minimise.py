"""L-BFGS for a smooth function with an L1 norm beside it (OWL-QN; Andrew and Gao 2007)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Function = Callable[[Vector], tuple[float, Vector]]
MEMORY = 6
"""Steps that the curvature is told from (Liu and Nocedal 1989 advise 3 to 7)."""
_DECREASE = 1e-4
_HALVINGS = 20
_PERIOD, _LEAST = 10, 1e-5
"""The search ends where the last ten steps gained less than this share."""


def minimise(
    function: Function, size: int, *, l1: float, iterations: int, report: Callable[[int, float], None]
) -> Vector:
    """Return where ``function(x) + l1 * |x|`` is about least, from zero on.

    Args:
        function: Its value and gradient.
        size: Of ``x``.
        l1: Weight of the norm, 0 or more.
        iterations: At most.
        report: Told the number of each iteration, from 1, and the value after it.
    """
    x = np.zeros(size)
    value, slope = function(x)
    known: deque[tuple[Vector, Vector]] = deque(maxlen=MEMORY)
    values = [value]
    for number in range(1, iterations + 1):
        steepest = _steepest(x, slope, l1)
        direction = _direction(steepest, known)
        if l1:
            direction[direction * steepest <= 0] = 0
        length = 1.0 if known else 1.0 / max(float(np.sqrt(steepest @ steepest)), 1.0)
        side = np.where(x != 0, np.sign(x), np.sign(steepest))
        for _ in range(_HALVINGS):
            tried = x + length * direction
            if l1:
                tried[tried * side <= 0] = 0
            smooth, there = function(tried)
            reached = smooth + l1 * float(np.abs(tried).sum())
            if reached <= values[-1] - _DECREASE * float(steepest @ (tried - x)):
                break
            length /= 2
        else:
            break
        step, change = tried - x, there - slope
        if step @ change > 0:
            known.append((step, change))
        x, slope = tried, there
        values.append(reached)
        report(number, reached)
        if number >= _PERIOD and values[-1 - _PERIOD] - reached < _LEAST * abs(reached):
            break
    return x


def _steepest(x: Vector, slope: Vector, l1: float) -> Vector:
    """Return the direction of steepest descent; 0 where the norm holds a parameter at 0."""
    if not l1:
        return -slope
    at_zero = np.sign(slope) * np.maximum(np.abs(slope) - l1, 0)
    return -np.where(x != 0, slope + l1 * np.sign(x), at_zero)


def _direction(steepest: Vector, known: deque[tuple[Vector, Vector]]) -> Vector:
    """Return the steepest direction times the inverse of the curvature (two loops; Nocedal 1980)."""
    found = steepest.copy()
    shares = []
    for step, change in reversed(known):
        share = (step @ found) / (step @ change)
        found -= share * change
        shares.append(share)
    if known:
        step, change = known[-1]
        found *= (step @ change) / (change @ change)
    for (step, change), share in zip(known, reversed(shares), strict=True):
        found += (share - (change @ found) / (step @ change)) * step
    return found
