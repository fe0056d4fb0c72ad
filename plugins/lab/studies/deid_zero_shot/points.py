"""Scores and gold of sub-tokens over notes, and every statistic of them (Myntti 2025,
section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import Span
from deid_assets.extending.measuring import auc, percentiles, resample
from deid_zero_shot.scorer import KEPT, ScoredNote

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Points:
    """Sub-tokens with text, of all notes.

    Args:
        scores: Natural logarithm of the score of each one's word: (sub-tokens,).
        gold: Whether it is PHI.
        notes: Number of its note.
        labels: Its category, ``""`` where it is no PHI.
    """

    scores: Floats
    gold: NDArray[np.bool_]
    notes: NDArray[np.int64]
    labels: Sequence[str] = field(repr=False, default=())

    def take(self, wanted: NDArray[np.bool_]) -> Points:
        """Return some of the sub-tokens."""
        labels = [label for label, is_wanted in zip(self.labels, wanted, strict=True) if is_wanted]
        return Points(self.scores[wanted], self.gold[wanted], self.notes[wanted], labels)


def points_of(found: Iterable[tuple[ScoredNote, Iterable[Span]]]) -> Points:
    """Return the sub-tokens of scored notes with their gold spans."""
    scores: list[float] = []
    labels: list[str] = []
    notes: list[int] = []
    for number, (scored, spans) in enumerate(found):
        encoded = scored.encoded
        own = np.full(len(encoded.ids), KEPT)
        for word, pieces in zip(scored.words, scored.pieces, strict=True):
            own[pieces.start : pieces.stop] = np.minimum(
                own[pieces.start : pieces.stop], word.score
            )
        names = [""] * len(encoded.ids)
        for span in spans:
            for piece in np.flatnonzero((encoded.starts < span.end) & (encoded.ends > span.start)):
                names[piece] = span.label.value
        has_text = encoded.ends > encoded.starts
        scores += own[has_text].tolist()
        labels += [name for name, is_text in zip(names, has_text, strict=True) if is_text]
        notes += [number] * int(has_text.sum())
    return Points(
        np.array(scores),
        np.array([bool(label) for label in labels], bool),
        np.array(notes, np.int64),
        labels,
    )


class Rates(NamedTuple):
    """Scores of one decision for each sub-token; ``None`` where nothing was to be counted."""

    accuracy: float | None
    f1: float | None
    recall: float | None
    precision: float | None


def rates(tp: float, fp: float, fn: float, tn: float) -> Rates:
    """Return the scores of counts; F1 is 2TP / (2TP + FP + FN)."""
    return Rates(
        _share(tp + tn, tp + fp + fn + tn),
        _share(2 * tp, 2 * tp + fp + fn),
        _share(tp, tp + fn),
        _share(tp, tp + fp),
    )


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def score_decisions(gold: NDArray[np.bool_], redacted: NDArray[np.bool_]) -> Rates:
    """Return the scores of decisions."""
    tp = float((gold & redacted).sum())
    fp, fn = float(redacted.sum()) - tp, float(gold.sum()) - tp
    return rates(tp, fp, fn, len(gold) - tp - fp - fn)


class ThresholdCurve(NamedTuple):
    """Counts at every threshold that makes a difference, the strictest first.

    Args:
        thresholds: Natural logarithms; what is lower is redacted.
        tp: Sub-tokens of PHI that are.
        fp: Others that are.
        positives: Of PHI, in all.
        total: Sub-tokens.
    """

    thresholds: Floats
    tp: Floats
    fp: Floats
    positives: int
    total: int

    def below(self, most: float) -> ThresholdCurve:
        """Return the part with thresholds below a score."""
        part = self.thresholds < most
        return self._replace(thresholds=self.thresholds[part], tp=self.tp[part], fp=self.fp[part])

    @property
    def recall(self) -> Floats:
        """Share of the PHI that is redacted."""
        return self.tp / max(1, self.positives)

    @property
    def precision(self) -> Floats:
        """Share of what is redacted that is PHI; 1 where nothing is."""
        return np.divide(
            self.tp, self.tp + self.fp, out=np.ones_like(self.tp), where=self.tp + self.fp > 0
        )

    def f(self, beta: float = 1.0) -> Floats:
        """Return F-beta; recall counts ``beta`` times as much as precision."""
        weight = beta * beta
        return (1 + weight) * self.tp / (self.tp + self.fp + weight * max(1, self.positives))

    @property
    def accuracy(self) -> Floats:
        """Share of the right decisions."""
        return (self.tp + (self.total - self.positives) - self.fp) / max(1, self.total)


def sweep(points: Points) -> ThresholdCurve:
    """Return the counts at each threshold between two distinct scores, below all and above all."""
    order = np.argsort(points.scores, kind="stable")
    scores, gold = points.scores[order], points.gold[order]
    last = np.flatnonzero(np.append(scores[1:] != scores[:-1], [True] if len(scores) else []))
    distinct = scores[last]
    between = distinct[:-1] + np.minimum(np.diff(distinct) / 2, 1.0)
    thresholds = np.concatenate([distinct[:1], between, distinct[-1:] + 1])
    tp = np.concatenate([[0], np.cumsum(gold)[last]]).astype(np.float64)
    all_ = np.concatenate([[0], last + 1]).astype(np.float64)
    return ThresholdCurve(thresholds, tp, all_ - tp, int(gold.sum()), len(gold))


def roc_auc(points: Points) -> float | None:
    """Return the area under the curve of true against false positives.

    ``None`` where one class is missing.
    """
    if points.gold.all() or not points.gold.any():
        return None
    return auc(-points.scores[points.gold], -points.scores[~points.gold])


def average_precision(points: Points) -> float | None:
    """Return the mean precision over the steps of recall, the area under precision and recall."""
    found = sweep(points)
    if not found.positives:
        return None
    return float((np.diff(found.recall) * found.precision[1:]).sum())


class ValueInterval(NamedTuple):
    """A value and its 95 % interval; ``None`` where it could not be computed."""

    value: float | None
    low: float | None
    high: float | None


def bootstrap(
    points: Points,
    statistics: Callable[[Points], Sequence[float | None]],
    *,
    samples: int = 300,
    seed: int = 0,
) -> list[ValueInterval]:
    """Return each statistic with the percentile interval over resampled notes (Efron 1979)."""
    values = statistics(points)
    places = [np.flatnonzero(points.notes == number) for number in np.unique(points.notes)]
    drawn: list[Sequence[float | None]] = []
    for (units,) in resample([len(places)], samples if len(places) > 1 else 0, seed):
        chosen = np.concatenate([places[at] for at in units])
        drawn.append(
            statistics(Points(points.scores[chosen], points.gold[chosen], points.notes[chosen]))
        )
    found = []
    for column, value in enumerate(values):
        known = [row[column] for row in drawn if row[column] is not None]
        low, high = percentiles(np.array(known, np.float64)) if known else (None, None)
        found.append(ValueInterval(value, low, high))
    return found
