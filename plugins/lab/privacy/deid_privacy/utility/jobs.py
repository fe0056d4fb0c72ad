"""The jobs of a utility grid.

Models by data versions by tasks by folds, listed before anything runs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from deid_assets.extending import InputError


@dataclass(frozen=True, slots=True, order=True)
class Job:
    """One fine-tuning run.

    Args:
        model: Pre-trained encoder.
        version: Version of the data that it is fine-tuned on.
        task: What is learnt.
        fold: Number of the fold, from 0; the same notes for every model and version.
    """

    model: str
    version: str
    task: str
    fold: int


def jobs(
    models: Sequence[str], versions: Sequence[str], tasks: Sequence[str], folds: int = 10
) -> list[Job]:
    """Return every job once, fold by fold within a task, so that paired folds are next to each
    other.

    Raises:
        InputError: A part is empty or named twice.
    """
    for name, part in (("models", models), ("versions", versions), ("tasks", tasks)):
        if not part or len(set(part)) < len(part):
            raise InputError(f"the grid's {name} are empty or one is named twice; name each once")
    if folds < 2:
        raise InputError(f"a grid of {folds} folds compares nothing; take 2 or more")
    return [Job(m, v, t, f) for t, f, m, v in product(tasks, range(folds), models, versions)]


def split(names: Sequence[str], fold: int, *, folds: int, seed: int) -> tuple[list[str], list[str]]:
    """Return the names beside a fold, shuffled, and those in it.

    Raises:
        InputError: There are fewer documents than two a fold.
    """
    if len(names) < 2 * folds:
        raise InputError(f"{len(names)} documents for {folds} folds; take {2 * folds} or more")
    order = random.Random(f"folds {seed}").sample(list(names), len(names))  # noqa: S311 - a split
    return [name for at, name in enumerate(order) if at % folds != fold], order[fold::folds]


def count_ordered_pairs(
    models: Sequence[str], versions: Sequence[str], tasks: Sequence[str]
) -> int:
    """Return how many directional tests compare every two configurations within a task."""
    count = len(models) * len(versions)
    return len(tasks) * count * (count - 1)
