"""L-BFGS for a smooth function with an L1 norm beside it (OWL-QN; Andrew and Gao 2007)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Function = Callable[[Vector], tuple[float, Vector]]
MEMORY = 6
"""Steps that the curvature is estimated from (Liu and Nocedal 1989 advise 3 to 7)."""
_DECREASE = 1e-4
_HALVINGS = 20
_PERIOD, _LEAST = 10, 1e-5
"""The search ends where the last ten steps gained less than this share."""


@dataclass(frozen=True, slots=True)
class SearchState:
    """The state of a search, from which it can be resumed.

    Args:
        x: Where it is.
        values: What was reached, at the start and after each step.
        steps: The last steps.
        changes: By what the slope changed with each of them.
    """

    x: Vector
    values: Sequence[float]
    steps: Sequence[Vector] = ()
    changes: Sequence[Vector] = ()


def minimise(
    function: Function, start: Vector, *, l1: float, search: SearchState | None = None
) -> Iterator[SearchState]:
    """Yield each step of the way to where ``function(x) + l1 * |x|`` is about least; it ends there.

    Args:
        function: Its value and gradient.
        start: Where to begin.
        l1: Weight of the norm, 0 or more.
        search: State to resume from; the steps are those that it would have taken.
    """
    x = start if search is None else search.x
    value, slope = function(x)
    search = search or SearchState(x, [value + l1 * float(np.abs(x).sum())])
    while True:
        found = _step(function, search, slope, l1)
        if found is None:
            return
        search, slope = found
        yield search
        values = search.values
        if len(values) > _PERIOD and values[-1 - _PERIOD] - values[-1] <= _LEAST * abs(values[-1]):
            return


def _step(
    function: Function, search: SearchState, slope: Vector, l1: float
) -> tuple[SearchState, Vector] | None:
    """Return the search after one more step, and the slope there.

    Nothing where no step leads further down.
    """
    x, last = search.x, search.values[-1]
    steepest = _steepest(x, slope, l1)
    direction = _direction(steepest, search)
    if l1:
        direction[direction * steepest <= 0] = 0
    side = np.where(x != 0, np.sign(x), np.sign(steepest))
    length = 1.0 if search.steps else 1.0 / max(float(np.sqrt(steepest @ steepest)), 1.0)
    for _ in range(_HALVINGS):
        tried = x + length * direction
        if l1:
            tried[tried * side <= 0] = 0
        smooth, there = function(tried)
        reached = smooth + l1 * float(np.abs(tried).sum())
        if reached <= last - _DECREASE * float(steepest @ (tried - x)):
            break
        length /= 2
    else:
        return None
    step, change = tried - x, there - slope
    steps, changes = [*search.steps], [*search.changes]
    if step @ change > 0:
        steps, changes = [*steps, step][-MEMORY:], [*changes, change][-MEMORY:]
    return SearchState(tried, [*search.values, reached], steps, changes), there


def _steepest(x: Vector, slope: Vector, l1: float) -> Vector:
    """Return the direction of steepest descent; 0 where the norm holds a parameter at 0."""
    if not l1:
        return -slope
    at_zero = np.sign(slope) * np.maximum(np.abs(slope) - l1, 0)
    return -np.where(x != 0, slope + l1 * np.sign(x), at_zero)


def _direction(steepest: Vector, search: SearchState) -> Vector:
    """Return the steepest direction times the inverse of the curvature (two loops;
    Nocedal 1980).
    """
    known = list(zip(search.steps, search.changes, strict=True))
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
