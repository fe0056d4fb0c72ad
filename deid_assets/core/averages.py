"""Averages over labels: macro and weighted, with the spread between labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from deid_assets.core.counts import Counts
from deid_assets.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Average:
    """Means of the labels' ratios.

    Args:
        precision: Mean over the labels with gold; a label never predicted counts 0.
        recall: Mean over the same labels.
        f1: Harmonic mean of the two means, not the mean of the labels' F1.
        mean_f1: Mean of the labels' F1.
        precision_sd: Standard deviation of the labels' precision (of a population).
        recall_sd: The same of recall.
    """

    precision: float
    recall: float
    f1: float
    mean_f1: float
    precision_sd: float
    recall_sd: float


def macro_average(by_label: Mapping[str, Counts]) -> Average:
    """Return means in which every label with gold has the same weight.

    A label that has predictions but no gold has no recall, and enters none of the means; its false positives are in
    the micro average.

    Raises:
        InputError: No label has gold.
    """
    return _average(by_label, weights=[1.0 for counts in by_label.values() if counts.gold])


def weighted_average(by_label: Mapping[str, Counts]) -> Average:
    """Return means in which every label weighs as much as it has gold; the recall is the micro recall.

    Raises:
        InputError: No label has gold.
    """
    return _average(by_label, weights=[float(counts.gold) for counts in by_label.values() if counts.gold])


def _average(by_label: Mapping[str, Counts], *, weights: Sequence[float]) -> Average:
    counted = [counts for counts in by_label.values() if counts.gold]
    if not counted:
        raise InputError("no label has gold, so that there is nothing to average; score against annotated notes")
    precisions = [counts.precision or 0.0 for counts in counted]
    recalls = [counts.recall or 0.0 for counts in counted]
    precision, recall = _mean(precisions, weights), _mean(recalls, weights)
    return Average(
        precision,
        recall,
        2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        _mean([counts.f1 or 0.0 for counts in counted], weights),
        _spread(precisions, weights),
        _spread(recalls, weights),
    )


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)


def _spread(values: Sequence[float], weights: Sequence[float]) -> float:
    centre = _mean(values, weights)
    return sqrt(_mean([(value - centre) ** 2 for value in values], weights))
