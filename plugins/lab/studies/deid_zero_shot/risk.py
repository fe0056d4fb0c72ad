"""How probable it is that a word that stays is PHI.

What the calibration saw at scores like its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import InputError
from deid_zero_shot.calibration import Threshold
from deid_zero_shot.scorer import KEPT, ScoredWord


class Risk:
    """The share of PHI among development sub-tokens, by score; never higher where the score is.

    Adjacent scores are pooled until that holds (isotonic regression, Barlow et al. 1972). Words
    that are never redacted, by a list or by their kind, have the share among all such sub-tokens.

    Args:
        threshold: With its curve.

    Raises:
        InputError: It has no curve.
    """

    def __init__(self, threshold: Threshold) -> None:
        rows = np.array(threshold.curve, np.float64)
        if len(rows) < 2:
            raise InputError("the calibration has no curve; calibrate again")
        positives = threshold.prevalence * threshold.tokens
        tp = rows[:, 4] * positives
        fp = tp + (threshold.tokens - positives) - rows[:, 1] * threshold.tokens
        self._spared = _share((max(0.0, positives - tp[-1]), threshold.tokens - (tp + fp)[-1], 1))
        self._edges = rows[:, 0]
        self._chances = _falling(np.diff(tp).clip(0), np.diff(tp + fp).clip(0))

    def of(self, word: ScoredWord) -> float:
        """Return the probability that a word is PHI."""
        if word.score >= KEPT:
            return self._spared
        place = int(np.searchsorted(self._edges, word.score, side="right")) - 1
        return float(self._chances[min(max(place, 0), len(self._chances) - 1)])


def _falling(hits: NDArray[np.float64], trials: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return shares that never rise, by pooling neighbours."""
    blocks: list[tuple[float, float, int]] = []
    for hit, trial in zip(hits.tolist(), trials.tolist(), strict=True):
        blocks.append((hit, trial, 1))
        while len(blocks) > 1 and _share(blocks[-1]) >= _share(blocks[-2]):
            last, before = blocks.pop(), blocks.pop()
            blocks.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
    return np.array([_share(block) for block in blocks for _ in range(block[2])])


def _share(block: tuple[float, float, int]) -> float:
    return block[0] / block[1] if block[1] else 0.0
