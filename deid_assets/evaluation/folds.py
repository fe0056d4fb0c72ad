"""Two systems over folds.

The Mann-Whitney U test, and p-values corrected for several comparisons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import product
from math import comb, erfc, isfinite, sqrt

from deid_assets.core.errors import InputError

EXACT_FOLDS = 8, 50
"""Most folds on the smaller and on the larger side for which p is exact where there are no ties."""


class Alternative(StrEnum):
    """Alternative hypothesis on the first sample."""

    LESS = "less"
    GREATER = "greater"
    TWO_SIDED = "two-sided"


@dataclass(frozen=True, slots=True)
class MannWhitney:
    """A test of two samples.

    Args:
        u: U of the first sample: pairs in which it is greater, ties counting one half.
        p: Probability of a U as extreme where the two samples are of one distribution; not
            corrected.
        effect: Share of the pairs in which the first is greater, ties counting one half; 0.5 is no
            effect.
        exact: Whether p was counted out.
    """

    u: float
    p: float
    effect: float
    exact: bool


def mann_whitney(
    first: Sequence[float],
    second: Sequence[float],
    *,
    alternative: Alternative = Alternative.TWO_SIDED,
) -> MannWhitney:
    """Return the test of one score per fold of two systems.

    Folds of one cross-validation share training notes, so that p is too small rather than too
    large.

    Raises:
        InputError: A sample is empty, or a score is NaN or infinite.

    Source:
        Mann and Whitney (1947), Ann Math Stat 18(1), 50-60; normal approximation with continuity
        and tie correction.
    """
    if not first or not second:
        raise InputError("the test needs at least one fold on each side")
    if not all(map(isfinite, [*first, *second])):
        raise InputError(
            "a fold has a score that is NaN or infinite; leave no fold without a score"
        )
    u = sum((a > b) + 0.5 * (a == b) for a, b in product(first, second))
    sizes = len(first), len(second)
    ties = [count for count in Counter([*first, *second]).values() if count > 1]
    exact = min(sizes) <= EXACT_FOLDS[0] and max(sizes) <= EXACT_FOLDS[1] and not ties
    pairs = sizes[0] * sizes[1]
    tail = _exact_tail if exact else _normal_tail
    less, greater = (tail(value, sizes, tuple(ties)) for value in (u, pairs - u))
    p = {
        Alternative.LESS: less,
        Alternative.GREATER: greater,
        Alternative.TWO_SIDED: 2 * min(less, greater),
    }
    return MannWhitney(u, min(1.0, p[alternative]), u / pairs, exact)


def normal_p(u: float, *, first: int, second: int) -> float:
    """Return the one-sided p of a U at most as large, by the normal approximation with continuity
    correction.

    Args:
        u: The smaller U, without ties.
        first: Folds of the first sample.
        second: Folds of the second sample.
    """
    return _normal_tail(u, (first, second), ())


def _normal_tail(u: float, sizes: tuple[int, int], ties: tuple[int, ...]) -> float:
    n, pairs = sum(sizes), sizes[0] * sizes[1]
    tied = sum(count**3 - count for count in ties) / (n * (n - 1)) if n > 1 else 0.0
    variance = pairs / 12 * (n + 1 - tied)
    if variance <= 0:
        return 1.0  # every score is the same
    return erfc(-(u - pairs / 2 + 0.5) / sqrt(2 * variance)) / 2


def _exact_tail(u: float, sizes: tuple[int, int], _ties: tuple[int, ...]) -> float:
    return sum(_ways(value, *sizes) for value in range(int(u) + 1)) / comb(sum(sizes), sizes[0])


@cache
def _ways(u: int, first: int, second: int) -> int:
    """Orders of two samples with that U: the greatest is of the first sample, or of the second."""
    if u < 0:
        return 0
    if not first or not second:
        return int(u == 0)
    return _ways(u - second, first - 1, second) + _ways(u, first, second - 1)


class PValueCorrection(StrEnum):
    """Correction of p-values for the family-wise error rate."""

    HOLM = "holm"
    """Holm (1979), step-down; never above Bonferroni."""
    BONFERRONI = "bonferroni"
    """Every p times the number of tests."""


def correct_p_values(
    p_values: Mapping[str, float], *, by: PValueCorrection = PValueCorrection.HOLM
) -> dict[str, float]:
    """Return corrected p-values by name of the test, in the order given.

    Raises:
        InputError: A p is outside [0, 1] or not a number.
    """
    if wrong := [name for name, p in p_values.items() if not 0 <= p <= 1]:
        raise InputError(
            f"test {wrong[0]!r} has a p outside [0, 1]; leave out tests that were not possible"
        )
    tests = len(p_values)
    if by is PValueCorrection.BONFERRONI:
        return {name: min(1.0, p * tests) for name, p in p_values.items()}
    highest, found = 0.0, {}
    for rank, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        highest = max(highest, min(1.0, p_values[name] * (tests - rank)))
        found[name] = highest
    return {name: found[name] for name in p_values}
