"""How well a ranking of candidates puts missed identifiers first, with intervals over notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending.measuring import auc, percentiles, resample

RESAMPLES = 500
Interval = tuple[float, float, float]
"""Value, lower and upper bound."""


@dataclass(frozen=True, slots=True)
class Yield:
    """Result of an attack.

    Args:
        candidates: Places looked at.
        leftovers: Those that are real.
        auc: Chance that a missed identifier ranks above a replacement; 0.5 is a coin.
        precision: Share of missed identifiers among the first as many as there are of them;
            equals their recall there.
        found_at: For each k, missed identifiers among the first k.
        by_group: For each group, its missed identifiers, and those of them among the first as many
            as there are of them.
    """

    candidates: int
    leftovers: int
    auc: Interval | None
    precision: Interval | None
    found_at: dict[int, int]
    by_group: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def base_rate(self) -> float | None:
        """Precision of a guess at random."""
        return self.leftovers / self.candidates if self.candidates else None


def judge(
    scores: NDArray[np.float64],
    is_leftover: Sequence[bool],
    note_of: Sequence[int],
    *,
    at: Sequence[int],
    seed: int,
    groups: Sequence[str] = (),
) -> Yield:
    """Return the yield of a ranking.

    Intervals are a seeded bootstrap over notes, since those missed in one note are alike. Ties are
    broken at random.

    Args:
        scores: The higher, the likelier a missed identifier.
        is_leftover: The truth.
        note_of: Number of each candidate's note, from 0.
        at: Lengths of the list that the attacker looks at.
        seed: Of draws and bootstrap.
        groups: A group for each candidate, such as its category.
    """
    truth = np.asarray(is_leftover, dtype=bool)
    notes = np.asarray(note_of, dtype=np.int64)
    generator = np.random.default_rng(seed)
    order = np.lexsort((generator.random(len(truth)), -scores))
    truth, notes = truth[order], notes[order]
    found_at = {length: int(truth[:length].sum()) for length in at if length <= len(truth)}
    leftovers = int(truth.sum())
    by_group = _by_group(truth, [groups[place] for place in order] if groups else [])
    if not 0 < leftovers < len(truth):
        sure = 1.0 if leftovers else None
        return Yield(
            len(truth), leftovers, None, (sure, sure, sure) if sure else None, found_at, by_group
        )
    values = np.array(
        [_measure(truth, np.ones(len(truth), np.int64))]
        + [_measure(truth, weights) for weights in _resample(notes, generator)]
    )
    area, precision = ((float(values[0, at]), *percentiles(values[1:, at])) for at in (0, 1))
    return Yield(len(truth), leftovers, area, precision, found_at, by_group)


def _by_group(truth: NDArray[np.bool_], groups: Sequence[str]) -> dict[str, tuple[int, int]]:
    real = [(group, place) for place, group in enumerate(groups) if truth[place]]
    everything = Counter(group for group, _ in real)
    picked = Counter(group for group, place in real if place < len(real))
    return {group: (count, picked[group]) for group, count in sorted(everything.items())}


def _resample(notes: NDArray[np.int64], generator: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return, per resample, how often each candidate's note was drawn."""
    count = int(notes.max()) + 1
    draws = resample([count], RESAMPLES, generator)
    return [np.bincount(drawn, minlength=count)[notes] for (drawn,) in draws]


def _measure(truth: NDArray[np.bool_], weights: NDArray[np.int64]) -> tuple[float, float]:
    """Return area and precision of a ranking, best first, each candidate counted with
    its weight.
    """
    total = weights[truth].sum()
    if not 0 < total < weights.sum():
        return float("nan"), float("nan")
    drawn = np.repeat(truth, weights)
    height = -np.repeat(np.arange(len(truth), dtype=np.float64), weights)
    looked_at = np.cumsum(weights) <= total
    return auc(height[drawn], height[~drawn]), float(weights[truth & looked_at].sum() / total)
