"""Measures of an attack that ranks, each with its interval and with what chance gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import InputError
from deid_assets.extending.measuring import auc, percentiles, resample, wilson

Floats = NDArray[np.float64]
RESAMPLES = 500
FEWEST = 20
"""Fewest units on each side for an interval."""
AT_RATE, RATES = "true positives at", (0.01, 0.001)
PER_RATE = 1.0
"""Fewest expected false positives for a rate of them to be told."""


@dataclass(frozen=True, slots=True)
class AttackEstimate:
    """A number with its interval.

    Args:
        name: What it is.
        value: Of the data.
        low: Lower bound at 95 %.
        high: Upper bound.
        chance: What a guess at random gives.
        units: Units behind it.
    """

    name: str
    value: float
    low: float
    high: float
    chance: float
    units: int

    def __str__(self) -> str:
        return (
            f"{self.name} {self.value:.3f} [{self.low:.3f}, {self.high:.3f}], chance"
            f" {self.chance:.3g}"
        )


def check_sizes(members: int, others: int, *, unit: str) -> None:
    """Refuse what is too little for an interval.

    Raises:
        InputError: One side has too few units.
    """
    for count, side in ((members, "in-set"), (others, "out-set")):
        if count < FEWEST:
            raise InputError(
                f"the {side} has {count} {unit}, an interval needs {FEWEST}; give more notes"
            )


def true_positives_at(inside: Floats, outside: Floats, rate: float) -> float:
    """Return the share of the in-set above the threshold that at most a share of the out-set
    exceeds.
    """
    allowed = math.floor(rate * len(outside) + 1e-9)
    border = np.sort(outside)[::-1][allowed] if allowed < len(outside) else -np.inf
    return float((inside > border).mean())


Owners = tuple[Sequence[str], Sequence[str]]
"""Whose each value of the in-set and of the out-set is."""


def bootstrap(
    inside: Floats,
    outside: Floats,
    measure: Callable[[Floats, Floats], float],
    *,
    owners: Owners | None = None,
    seed: int = 1,
) -> tuple[float, float]:
    """Return the bounds of a measure at 95 %, both sets resampled unit by unit.

    All that is of one owner together.
    """
    sides = [
        _members(one, owner)
        for one, owner in zip((inside, outside), owners or (None, None), strict=True)
    ]
    drawn = []
    for rows, columns in resample([len(side) for side in sides], RESAMPLES, seed):
        chosen = [
            np.concatenate([side[at] for at in places])
            for side, places in zip(sides, (rows, columns), strict=True)
        ]
        drawn.append(measure(inside[chosen[0]], outside[chosen[1]]))
    return percentiles(drawn)


def _members(values: Floats, owners: Sequence[str] | None) -> list[NDArray[np.int64]]:
    """Return the places of each unit's values."""
    if owners is None:
        return [np.array([at]) for at in range(len(values))]
    found: dict[str, list[int]] = {}
    for at, owner in enumerate(owners):
        found.setdefault(owner, []).append(at)
    return [np.array(places) for places in found.values()]


def estimate_measure(
    name: str,
    inside: Floats,
    outside: Floats,
    measure: Callable[[Floats, Floats], float],
    *,
    chance: float,
    owners: Owners | None = None,
    seed: int = 1,
    unit: str = "notes",
) -> AttackEstimate:
    """Return a measure of a ranking with its bootstrap interval.

    Raises:
        InputError: There is too little for an interval.
    """
    units = [len(set(side)) for side in owners] if owners else [len(inside), len(outside)]
    check_sizes(units[0], units[1], unit=unit)
    value = measure(inside, outside)
    low, high = bootstrap(inside, outside, measure, owners=owners, seed=seed)
    # Where the sets do not overlap, every resample is alike: the rule of three over the smaller set
    # bounds what is left.
    slack = 3 / min(units) if low == high else 0.0
    low, high = max(min(low, value) - slack, 0.0), min(max(high, value) + slack, 1.0)
    return AttackEstimate(name, value, low, high, chance, sum(units))


def ranking(
    inside: Floats,
    outside: Floats,
    *,
    owners: Owners | None = None,
    seed: int = 1,
    unit: str = "notes",
) -> tuple[list[AttackEstimate], list[str]]:
    """Return area and low-false-positive figures of a ranking, and why a figure is left out.

    Args:
        inside: Scores of the in-set.
        outside: Of the out-set.
        owners: Whose each is: they are the units of the intervals.
        seed: Of the bootstrap.
        unit: What the units are called.

    Raises:
        InputError: There is too little for an interval.
    """
    found = [
        estimate_measure(
            "AUC", inside, outside, auc, chance=0.5, owners=owners, seed=seed, unit=unit
        )
    ]
    left_out = []
    counted = "samples" if owners else unit
    for rate in RATES:
        name = f"{AT_RATE} {rate:.1%} false positives"
        if rate * len(outside) < PER_RATE:
            left_out.append(
                f"{name}: the out-set has {len(outside)} {counted}, {math.ceil(PER_RATE / rate)}"
                " are needed"
            )
            continue

        def at_rate(one: Floats, other: Floats, rate: float = rate) -> float:
            return true_positives_at(one, other, rate)

        found.append(
            estimate_measure(
                name, inside, outside, at_rate, chance=rate, owners=owners, seed=seed, unit=unit
            )
        )
    return found, left_out


def threshold(calibration: Floats, *, alpha: float = 0.1) -> float:
    """Return the score above which a share alpha of the calibration set, none of it a member, lies.

    Raises:
        InputError: The set is too small for such a share, or alpha is none.
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha}; it is between 0 and 1")
    needed = max(FEWEST, math.ceil(1 / alpha))
    if len(calibration) < needed:
        raise InputError(
            f"the calibration set has {len(calibration)} samples, alpha {alpha} needs {needed}"
        )
    return float(np.quantile(calibration, 1 - alpha))


@dataclass(frozen=True, slots=True)
class ThresholdDecisions:
    """Decisions at one threshold.

    Args:
        hits: Members called so.
        members: All of them.
        alarms: Others called members.
        others: All of them.
    """

    hits: int
    members: int
    alarms: int
    others: int

    @classmethod
    def at(cls, inside: Floats, outside: Floats, border: float) -> ThresholdDecisions:
        """Return the decisions at a threshold: a member is what scores at least as high."""
        return cls(
            int((inside >= border).sum()), len(inside), int((outside >= border).sum()), len(outside)
        )

    @property
    def recall(self) -> float:
        """Share of the members called so."""
        return self.hits / self.members

    @property
    def false_positives(self) -> float:
        """Share of the others called members."""
        return self.alarms / self.others

    @property
    def precision(self) -> float | None:
        """Share of members among those called so, or none where nobody is."""
        called = self.hits + self.alarms
        return self.hits / called if called else None

    @property
    def accuracy(self) -> float:
        """Mean of recall and specificity, so that it is as if both sets were equally large."""
        return (self.recall + 1 - self.false_positives) / 2

    def estimates(self, *, unit: str = "notes") -> list[AttackEstimate]:
        """Return the four figures with their intervals.

        Precision and accuracy are as in balanced sets.

        Raises:
            InputError: There is too little for an interval.
        """
        check_sizes(self.members, self.others, unit=unit)
        recall, alarms = wilson(self.hits, self.members), wilson(self.alarms, self.others)
        rate = self.false_positives
        units = self.members + self.others
        found = [
            AttackEstimate("recall", self.recall, *recall, rate, units),
            AttackEstimate("false positives", rate, *alarms, rate, units),
            AttackEstimate(
                "accuracy",
                self.accuracy,
                (recall[0] + 1 - alarms[1]) / 2,
                (recall[1] + 1 - alarms[0]) / 2,
                0.5,
                units,
            ),
        ]
        if self.recall + rate > 0:
            balanced = self.recall / (self.recall + rate)
            low = recall[0] / (recall[0] + alarms[1])
            high = recall[1] / (recall[1] + alarms[0]) if recall[1] + alarms[0] else 1.0
            found.append(AttackEstimate("precision", balanced, low, high, 0.5, units))
        return found


def derive_balanced_rates(precision: float, recall: float) -> tuple[float, float]:
    """Return false positive rate and accuracy that precision and recall imply for sets of equal
    size.
    """
    rate = recall * (1 - precision) / precision
    return rate, (recall + 1 - rate) / 2


def difference(
    first: Floats,
    second: Floats,
    outside: Floats,
    other_outside: Floats | None = None,
    *,
    seed: int = 1,
) -> AttackEstimate:
    """Return AUC(first) - AUC(second) with its bootstrap interval, units of the two in-sets
    resampled as pairs.

    Args:
        first: Scores of one in-set.
        second: Scores of its twin, pair by pair.
        outside: The out-set of the first, and of the second where it has none of its own.
        other_outside: The out-set of the second, pair by pair with the first's.
        seed: Of the bootstrap.

    Raises:
        InputError: The twins are of unequal length, or there is too little for an interval.
    """
    others = outside if other_outside is None else other_outside
    if len(first) != len(second) or len(outside) != len(others):
        raise InputError(
            f"the twins have {len(first)} and {len(second)} samples; a twin has as many as its"
            " original"
        )
    check_sizes(len(first), len(outside), unit="samples")
    low, high = percentiles(
        [
            auc(first[rows], outside[columns]) - auc(second[rows], others[columns])
            for rows, columns in resample((len(first), len(outside)), RESAMPLES, seed)
        ]
    )
    value = auc(first, outside) - auc(second, others)
    units = len(first) + len(outside)
    return AttackEstimate("AUC(B) - AUC(C)", value, min(low, value), max(high, value), 0.0, units)


def average_groups(scores: Floats, groups: Sequence[str]) -> Floats:
    """Return the mean score of each group, in the order in which they first stand.

    Notes or patients from samples.
    """
    order = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    numbers = np.array([order[group] for group in groups], dtype=np.int64)
    totals = np.bincount(numbers, weights=scores, minlength=len(order))
    mean: Floats = totals / np.bincount(numbers, minlength=len(order))
    return mean
