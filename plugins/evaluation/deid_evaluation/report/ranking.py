"""Scores as a ranking: curves, thresholds and calibration, as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace

import numpy as np

from deid_assets.extending import InputError, Profile
from deid_evaluation.ranking import (
    OperatingPoint,
    RankedPredictions,
    ThresholdCounts,
    average_precision,
    best_f1,
    calibration,
    point,
    rank_spans,
    roc,
    sweep,
    threshold_for_recall,
)
from deid_evaluation.report.corpus import Json, Pair

CURVE_POINTS = 200
"""Points kept of a curve; the area is that of all."""
TARGETS = (0.9, 0.95, 0.98, 0.99)
"""Recalls for which a threshold is looked for."""
_STEPS = tuple(step / 20 for step in range(20))


def ranking_json(pairs: Iterable[Pair], *, profile: Profile) -> Json:
    """Return curves of the predicted spans by score, or why there are none.

    A prediction is right where boundaries and label are those of a gold span.
    """
    found = rank_spans(pairs, profile=profile)
    if np.unique(found.scores).size < 2:
        return {"left_out": "all predictions have the same score, so that there is nothing to rank"}
    curve = sweep(found)
    return {
        "predictions": int(found.scores.size),
        "never_found": found.missed,
        "average_precision": average_precision(found),
        "precision_recall": _points(curve.recall, curve.precision, curve.thresholds),
        "best_f1": asdict(best_f1(found)),
        "targets": [{"recall": recall, "point": _target(found, recall)} for recall in TARGETS],
        "sweep": [asdict(_at(curve, step)) for step in _STEPS],
        **_roc(found),
        "calibration": _calibration(found),
    }


def _target(found: RankedPredictions, recall: float) -> Json | None:
    try:
        return asdict(threshold_for_recall(found, recall))
    except InputError:
        return None  # not reached: shown as such


def _at(curve: ThresholdCounts, threshold: float) -> OperatingPoint:
    kept = int(np.searchsorted(-curve.thresholds, -threshold, side="right"))
    if not kept:
        return OperatingPoint(threshold, 0.0, 0.0, 0.0, 0, None)
    return replace(point(curve, kept - 1), threshold=threshold)


def _points(*columns: np.typing.NDArray[np.float64]) -> list[list[float]]:
    size = columns[0].size
    chosen = np.unique(np.linspace(0, size - 1, min(size, CURVE_POINTS)).round().astype(int))
    return [[round(float(column[at]), 6) for column in columns] for at in chosen]


def _roc(found: RankedPredictions) -> Json:
    try:
        curve = roc(found)
    except InputError:
        return {"roc": None, "roc_area": None}  # all are right, or none
    return {
        "roc": _points(curve.false_positive_rate, curve.true_positive_rate),
        "roc_area": curve.area,
    }


def _calibration(found: RankedPredictions) -> Json:
    curve = calibration(found)
    bins = zip(
        curve.count.tolist(), curve.mean_score.tolist(), curve.share_right.tolist(), strict=True
    )
    return {
        "bins": [
            {"count": count, "mean_score": mean, "share_right": share}
            for count, mean, share in bins
        ],
        "error": curve.error,
        "max_error": curve.max_error,
        "brier": curve.brier,
    }
