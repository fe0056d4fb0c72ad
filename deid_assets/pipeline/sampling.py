"""What a sample of notes says of the notes that were not looked at."""

from __future__ import annotations

from math import exp, lgamma, log, log1p

from deid_assets.core.errors import InputError

_STEPS = 60
"""Halvings of [0, 1]: the bound is found to 1e-18, which is finer than a float near 1."""


def upper_bound(hits: int, trials: int, *, confidence: float = 0.95) -> float:
    """Return the one-sided upper confidence bound of a proportion, exact for a draw with replacement.

    For a draw without replacement from few it is too high, never too low. 0 of 1,000 gives 0.0030.

    Args:
        hits: ``0 <= hits <= trials``.
        trials: Size of the sample; 0 says nothing, and gives 1.
        confidence: In (0, 1).

    Raises:
        InputError: A number is outside its range.

    Source:
        Clopper and Pearson (1934), Biometrika 26(4), 404-413.
    """
    if not (0 <= hits <= trials and 0 < confidence < 1):
        raise InputError(
            f"a bound needs 0 <= hits <= trials and a confidence in (0, 1), got {hits} of {trials}"
        )
    if hits == trials:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _at_most(hits, trials, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def _at_most(hits: int, trials: int, share: float) -> float:
    """Return the probability of at most so many hits."""
    if share in {0.0, 1.0}:
        return 1.0 - share
    whole = lgamma(trials + 1)
    return sum(
        exp(
            whole
            - lgamma(count + 1)
            - lgamma(trials - count + 1)
            + count * log(share)
            + (trials - count) * log1p(-share)
        )
        for count in range(hits + 1)
    )
