"""Averages over labels, macro and weighted, and over notes, with their spread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, pstdev

from deid_assets.extending import InputError
from deid_assets.extending.scoring import Counts, harmonic


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

    A label that has predictions but no gold has no recall, and enters none of the means; its false
    positives are in the micro average.

    Raises:
        InputError: No label has gold.
    """
    return _average(by_label, weights=[1.0 for counts in by_label.values() if counts.gold])


def weighted_average(by_label: Mapping[str, Counts]) -> Average:
    """Return means in which every label weighs as much as it has gold.

    The recall is the micro recall.

    Raises:
        InputError: No label has gold.
    """
    return _average(
        by_label, weights=[float(counts.gold) for counts in by_label.values() if counts.gold]
    )


@dataclass(frozen=True, slots=True)
class NoteAverage:
    """Means of the notes' ratios, each over the notes where it is defined.

    Args:
        precision: Mean; ``None`` where no note has a prediction.
        recall: Mean.
        f1: Harmonic mean of the two; ``None`` where the precision is.
        precision_sd: Standard deviation of the notes' precision (of a population).
        recall_sd: The same of recall.
    """

    precision: float | None
    recall: float
    f1: float | None
    precision_sd: float | None
    recall_sd: float


def note_average(by_note: Iterable[Counts]) -> NoteAverage:
    """Return means in which every note has the same weight: the macro average of i2b2 2014.

    The official scorer counts a note without gold, or without predictions, as 0; here it is left
    out.

    Raises:
        InputError: No note has gold.
    """
    counted = list(by_note)
    precisions = [value for counts in counted if (value := counts.precision) is not None]
    recalls = [value for counts in counted if (value := counts.recall) is not None]
    if not recalls:
        raise InputError(
            "no note is annotated, so that there is nothing to average; score against annotated"
            " notes"
        )
    recall, recall_sd = fmean(recalls), pstdev(recalls)
    if not precisions:
        return NoteAverage(None, recall, None, None, recall_sd)
    precision = fmean(precisions)
    f1 = harmonic(precision, recall)
    return NoteAverage(precision, recall, f1, pstdev(precisions), recall_sd)


def _average(by_label: Mapping[str, Counts], *, weights: Sequence[float]) -> Average:
    counted = [counts for counts in by_label.values() if counts.gold]
    if not counted:
        raise InputError(
            "no label is annotated, so that there is nothing to average; score against annotated"
            " notes"
        )
    precisions = [counts.precision or 0.0 for counts in counted]
    recalls = [counts.recall or 0.0 for counts in counted]
    precision, recall = _mean(precisions, weights), _mean(recalls, weights)
    return Average(
        precision,
        recall,
        harmonic(precision, recall),
        _mean([counts.f1 or 0.0 for counts in counted], weights),
        _spread(precisions, weights),
        _spread(recalls, weights),
    )


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)


def _spread(values: Sequence[float], weights: Sequence[float]) -> float:
    centre = _mean(values, weights)
    return sqrt(_mean([(value - centre) ** 2 for value in values], weights))
