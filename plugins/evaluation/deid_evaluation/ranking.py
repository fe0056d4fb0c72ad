"""Scores of predictions as a ranking: curves, areas, thresholds and calibration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deid_assets.extending import DigestError, InputError, Profile, SpanSet
from deid_assets.extending.measuring import auc

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class RankedPredictions:
    """Predictions with their scores.

    Args:
        scores: (predictions,) in any order; higher is surer.
        right: (predictions,) whether each is right.
        missed: Gold that no prediction of any score finds.
    """

    scores: Floats
    right: Booleans
    missed: int = 0

    @property
    def gold(self) -> int:
        """Number of gold spans."""
        return int(self.right.sum()) + self.missed


def rank_predictions(scores: ArrayLike, right: ArrayLike, *, missed: int = 0) -> RankedPredictions:
    """Return checked predictions.

    Raises:
        InputError: The two differ in length or have more than one dimension, a score is NaN or
            infinite, ``right`` holds anything but 0 and 1, or ``missed`` is negative.
    """
    values, flags = np.asarray(scores, dtype=np.float64), np.asarray(right)
    if values.ndim != 1 or values.shape != flags.shape:
        raise InputError(
            f"scores {values.shape} and rights {flags.shape} must be two lists of the same length"
        )
    if bad := int(np.count_nonzero(~np.isfinite(values))):
        raise InputError(
            f"{bad} of {values.size} scores are NaN or infinite; a detector must score every"
            " prediction"
        )
    if not np.isin(flags, (0, 1)).all():
        raise InputError("whether a prediction is right must be true or false, or 1 or 0")
    if missed < 0:
        raise InputError(f"missed spans must not be negative, got {missed}")
    return RankedPredictions(values, flags.astype(np.bool_), missed)


def rank_spans(pairs: Iterable[tuple[SpanSet, SpanSet]], *, profile: Profile) -> RankedPredictions:
    """Return the predicted spans of many notes.

    Right is one with the boundaries and label of a gold span.

    Of several predictions with the same boundaries and label the highest score counts.

    Raises:
        DigestError: A pair belongs to different notes or different versions of a text.
        InputError: A note comes twice.
    """
    scores: list[float] = []
    right: list[bool] = []
    seen: set[str] = set()
    missed = 0
    for gold, pred in pairs:
        if gold.note_id in seen:
            raise InputError(f"note {gold.note_id!r} is scored twice; give each note once")
        seen.add(gold.note_id)
        if (gold.note_id, gold.digest) != (pred.note_id, pred.digest):
            raise DigestError(
                f"note {gold.note_id!r}: the predictions were made for note {pred.note_id!r},"
                f" digest {pred.digest[:12]}; detect again on the text that was annotated"
            )
        golds, preds = _best(gold, profile), _best(pred, profile)
        scores += preds.values()
        right += [place in golds for place in preds]
        missed += len(golds.keys() - preds.keys())
    return rank_predictions(scores, np.array(right, dtype=np.bool_), missed=missed)


def _best(spans: SpanSet, profile: Profile) -> dict[tuple[int, int, str], float]:
    best: dict[tuple[int, int, str], float] = {}
    for span in spans.spans:
        label = profile.label_of(span.label)
        if label is not None:
            place = (span.start, span.end, label)
            best[place] = max(best.get(place, 0.0), span.score)
    return best


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdCounts:
    """Counts when every prediction of at least a threshold is kept.

    Args:
        thresholds: (thresholds,) the distinct scores, falling.
        tp: (thresholds,) right predictions kept.
        fp: (thresholds,) wrong predictions kept.
        gold: What there is to find.
    """

    thresholds: Floats
    tp: Floats
    fp: Floats
    gold: int

    @property
    def precision(self) -> Floats:
        """(thresholds,) in [0, 1]."""
        return self.tp / (self.tp + self.fp)

    @property
    def recall(self) -> Floats:
        """(thresholds,) in [0, 1], rising."""
        return self.tp / self.gold

    @property
    def f1(self) -> Floats:
        """(thresholds,) in [0, 1]."""
        return 2 * self.tp / (self.tp + self.fp + self.gold)


def sweep(predictions: RankedPredictions) -> ThresholdCounts:
    """Return the counts at every distinct score.

    Predictions of one score are kept or dropped together.

    Raises:
        InputError: There is nothing to find, or nothing was predicted.
    """
    if not predictions.gold:
        raise InputError(
            "there is no annotations, so that no recall is defined; score against annotated notes"
        )
    if not predictions.scores.size:
        raise InputError("nothing was predicted, so that there is no threshold to choose")
    order = np.argsort(-predictions.scores, kind="stable")
    scores, right = predictions.scores[order], predictions.right[order].astype(np.float64)
    last = np.append(np.flatnonzero(np.diff(scores)), scores.size - 1)
    tp = np.cumsum(right)[last]
    return ThresholdCounts(scores[last], tp, last + 1 - tp, predictions.gold)


def average_precision(predictions: RankedPredictions) -> float:
    """Return the area under the precision-recall curve as a sum of steps, in [0, 1].

    Gold that nothing finds keeps it below 1. Chance level is the share of right predictions.

    Raises:
        InputError: As for ``sweep``.
    """
    curve = sweep(predictions)
    return float(np.sum(np.diff(curve.recall, prepend=0.0) * curve.precision))


@dataclass(frozen=True, slots=True, eq=False)
class Roc:
    """The curve from (0, 0) to (1, 1).

    Args:
        false_positive_rate: (thresholds + 1,) rising.
        true_positive_rate: (thresholds + 1,) rising.
        area: In [0, 1]; the chance that a right prediction is scored above a wrong one, ties
            counting one half.
    """

    false_positive_rate: Floats
    true_positive_rate: Floats
    area: float


def roc(predictions: RankedPredictions) -> Roc:
    """Return how well scores part right from wrong predictions.

    Only candidates count: gold that nothing finds has no score. So a curve of spans says how to
    order what a detector gives, not how much it finds.

    Raises:
        InputError: All predictions are right, or none is.
    """
    positives = int(predictions.right.sum())
    negatives = predictions.right.size - positives
    if not (positives and negatives):
        raise InputError(
            f"a curve needs right and wrong predictions, got {positives} and {negatives}"
        )
    curve = sweep(RankedPredictions(predictions.scores, predictions.right))
    tpr = np.concatenate([[0.0], curve.tp / positives])
    fpr = np.concatenate([[0.0], curve.fp / negatives])
    return Roc(
        fpr, tpr, auc(predictions.scores[predictions.right], predictions.scores[~predictions.right])
    )


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """A threshold with what it gives.

    Args:
        threshold: Predictions of at least this score are kept.
        precision: In [0, 1].
        recall: In [0, 1].
        f1: In [0, 1].
        false_alarms: Wrong predictions kept.
        per_found: False alarms per gold span found; the price of the recall. ``None`` where none is
            found.
    """

    threshold: float
    precision: float
    recall: float
    f1: float
    false_alarms: int
    per_found: float | None


def threshold_for_recall(predictions: RankedPredictions, recall: float) -> OperatingPoint:
    """Return the highest threshold that reaches a recall.

    Choose it on a development set; a threshold does not carry over to another detector or language.

    Args:
        predictions: Of the development set.
        recall: Aimed at, in (0, 1].

    Raises:
        InputError: No threshold reaches the recall, or as for ``sweep``.
    """
    if not 0 < recall <= 1:
        raise InputError(f"a recall to reach must be in (0, 1], got {recall}")
    curve = sweep(predictions)
    reached = np.flatnonzero(curve.tp >= recall * curve.gold - 1e-9)
    if not reached.size:
        raise InputError(
            f"no threshold reaches recall {recall:.4f}: with all predictions kept it is"
            f" {curve.recall[-1]:.4f}; add a detector, or aim lower"
        )
    return point(curve, int(reached[0]))


def best_f1(predictions: RankedPredictions) -> OperatingPoint:
    """Return the threshold of the highest F1; of several the lowest, which finds most.

    Raises:
        InputError: As for ``sweep``.
    """
    curve = sweep(predictions)
    return point(curve, int(np.flatnonzero(curve.f1 >= curve.f1.max())[-1]))


def point(curve: ThresholdCounts, at: int) -> OperatingPoint:
    """Return a threshold of the sweep, by its place."""
    tp, fp = float(curve.tp[at]), int(curve.fp[at])
    precision, recall, f1 = (
        float(values[at]) for values in (curve.precision, curve.recall, curve.f1)
    )
    return OperatingPoint(
        float(curve.thresholds[at]), precision, recall, f1, fp, fp / tp if tp else None
    )


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityBins:
    """Scores as probabilities, in bins of equal width; empty bins are left out.

    Args:
        count: (bins,) predictions.
        mean_score: (bins,) mean score.
        share_right: (bins,) share of right predictions: the same as the mean score where scores are
            probabilities.
        error: Expected calibration error: mean gap of the two, weighted by predictions, in [0, 1].
        max_error: The widest gap, in [0, 1].
        brier: Mean squared distance of score and outcome (Brier 1950), in [0, 1].
    """

    count: NDArray[np.int64]
    mean_score: Floats
    share_right: Floats
    error: float
    max_error: float
    brier: float


def calibration(predictions: RankedPredictions, *, bins: int = 10) -> ReliabilityBins:
    """Return how far scores are from the share of predictions that are right.

    Raises:
        InputError: Nothing was predicted, ``bins`` is below 1, or a score is outside [0, 1].

    Source:
        Naeini, Cooper and Hauskrecht (2015), AAAI 2901-2907; Guo et al. (2017), ICML 1321-1330.
    """
    scores, right = predictions.scores, predictions.right.astype(np.float64)
    if bins < 1 or not scores.size:
        raise InputError(
            f"calibration needs at least one bin and one prediction, got {bins} and {scores.size}"
        )
    if scores.min() < 0 or scores.max() > 1:
        raise InputError("calibration needs scores in [0, 1]; map them to probabilities first")
    bin_of = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], scores)
    count = np.bincount(bin_of, minlength=bins)
    kept = count > 0
    mean_score = np.bincount(bin_of, weights=scores, minlength=bins)[kept] / count[kept]
    share_right = np.bincount(bin_of, weights=right, minlength=bins)[kept] / count[kept]
    gaps = np.abs(mean_score - share_right)
    error = float(np.sum(gaps * count[kept]) / scores.size)
    return ReliabilityBins(
        count[kept],
        mean_score,
        share_right,
        error,
        float(gaps.max()),
        float(np.mean((scores - right) ** 2)),
    )
