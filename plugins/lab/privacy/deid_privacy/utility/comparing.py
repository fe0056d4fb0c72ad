"""Configurations of a grid against each other.

Means, differences with their deviation, and corrected tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import fmean, stdev
from typing import Any

from deid_assets.extending import InputError
from deid_assets.extending.measuring import Alternative, correct_p_values, mann_whitney

ALPHA = 0.05
STUDENT = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
    2.120,
    2.110,
    2.101,
    2.093,
)
"""Quantiles of Student's t at 97.5 %, by degrees of freedom from 1; the last stands for more."""


@dataclass(frozen=True, slots=True, order=True)
class Configuration:
    """What is compared: a model, fine-tuned on one version and tested on another."""

    model: str
    version: str
    test: str

    def __str__(self) -> str:
        return f"{self.model} / {self.version} / {self.test}"


@dataclass(frozen=True, slots=True)
class UtilityRow:
    """A configuration on a task.

    Args:
        setting: It.
        scores: Of each fold.
        mean: Over folds.
        deviation: Of the folds, with n - 1; 0 for one fold.
    """

    setting: Configuration
    scores: tuple[float, ...]
    mean: float
    deviation: float

    @classmethod
    def of(cls, setting: Configuration, scores: Sequence[float]) -> UtilityRow:
        """Return the row of folds' scores."""
        return cls(setting, tuple(scores), fmean(scores), stdev(scores) if len(scores) > 1 else 0.0)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean, or none of one fold.

        Folds share training documents, so that the variance of the mean is that of the folds by 1/k
        + 1/(k - 1), not by 1/k (Nadeau and Bengio 2003). Where all folds are alike, the rule of
        three over folds stands in.
        """
        folds = len(self.scores)
        if folds < 2:
            return None
        reach = (
            STUDENT[min(folds - 1, len(STUDENT)) - 1]
            * self.deviation
            * math.sqrt(1 / folds + 1 / (folds - 1))
        )
        reach = reach or 3 / folds
        return max(0.0, self.mean - reach), min(1.0, self.mean + reach)

    def minus(self, other: UtilityRow) -> tuple[float, float]:
        """Return the difference of the means and its deviation, the root of the summed squares."""
        return self.mean - other.mean, math.hypot(self.deviation, other.deviation)


@dataclass(frozen=True, slots=True)
class Directional:
    """Whether the first configuration is weaker than the second, within a task.

    Args:
        task: Of both.
        weaker: The first.
        stronger: The second.
        u: Of Mann and Whitney.
        p: One-sided, not corrected.
        both: Two-sided, not corrected.
        corrected: One-sided, after Holm over all tests of the grid.
        effect: Share of the pairs of folds in which the first is greater; 0.5 is none.
    """

    task: str
    weaker: Configuration
    stronger: Configuration
    u: float
    p: float
    both: float
    corrected: float
    effect: float


def rows(
    results: Sequence[Mapping[str, Any]], *, measure: str = "f1"
) -> dict[str, list[UtilityRow]]:
    """Return the configurations of each task, in the order of the results.

    Folds that failed are left out.

    Raises:
        InputError: No job has a score.
    """
    found: dict[str, dict[Configuration, list[float]]] = {}
    for one in results:
        for test, scores in one.get("scores", {}).items():
            setting = Configuration(one["model"], one["version"], test)
            found.setdefault(one["task"], {}).setdefault(setting, []).append(float(scores[measure]))
    if not found:
        raise InputError("no job of the grid has a score; run it first")
    return {task: [UtilityRow.of(*pair) for pair in each.items()] for task, each in found.items()}


def directional(each: Mapping[str, Sequence[UtilityRow]]) -> list[Directional]:
    """Return the directional test of every ordered pair within a task and a test version, corrected
    over all of them.
    """
    made = {}
    for task, own in each.items():
        for first, second in permutations(own, 2):
            if first.setting.test != second.setting.test:
                continue
            if min(len(first.scores), len(second.scores)) < 2:
                continue
            less = mann_whitney(first.scores, second.scores, alternative=Alternative.LESS)
            both = mann_whitney(first.scores, second.scores)
            name = f"{task}: {first.setting} < {second.setting}"
            made[name] = (task, first, second, less, both)
    adjusted = correct_p_values({name: one[3].p for name, one in made.items()})
    return [
        Directional(
            task, first.setting, second.setting, less.u, less.p, both.p, adjusted[name], less.effect
        )
        for name, (task, first, second, less, both) in made.items()
    ]
