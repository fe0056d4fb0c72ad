"""Thresholds of the categories, chosen on development notes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import Document, Phi
from deid_compact.labels import Classes, merge_category
from deid_compact.words import WordScores

GRID = tuple(round(0.3 + 0.05 * step, 2) for step in range(14))
LEAST_WORDS = 30
"""Fewer marked words of a category choose nothing."""


def choose_thresholds(
    judged: Iterable[tuple[Document, WordScores]],
    classes: Classes,
    *,
    wanted_precision: float,
    silent: frozenset[Phi],
    highest: float = GRID[-1],
) -> dict[Phi, float]:
    """Return for each category the lowest threshold at which enough of the words that it marks are
    marked by hand.

    Where none reaches the wanted precision, the highest is chosen: a category that is hard to tell,
    as institutions are, would else hardly be found. A category of which the
    development notes have too few words keeps the threshold of all.

    Args:
        judged: Development notes with the scores of their words.
        classes: Of the network.
        wanted_precision: Share of the marked words.
        silent: Categories that are not returned.
        highest: Threshold that none is above.
    """
    scores: list[NDArray[np.float32]] = []
    best: list[NDArray[np.int64]] = []
    right: list[NDArray[np.bool_]] = []
    for document, found in judged:
        if found.words:
            scores.append(found.marked)
            best.append(found.categories.argmax(axis=1))
            right.append(is_marked(document, found))
    if not scores:
        return {}
    all_scores = np.concatenate(scores)
    all_best = np.concatenate(best)
    all_right = np.concatenate(right)
    thresholds = {}
    for number, category in enumerate(classes.categories):
        is_of_category = all_best == number
        if category in silent or (is_of_category & all_right).sum() < LEAST_WORDS:
            continue
        thresholds[category] = _lowest(
            all_scores[is_of_category], all_right[is_of_category], wanted_precision, highest
        )
    return thresholds


def is_marked(
    document: Document, found: WordScores, silent: frozenset[Phi] = frozenset()
) -> NDArray[np.bool_]:
    """Return whether each word of a note is marked by hand.

    Args:
        document: With its marks.
        found: With its words.
        silent: Categories whose marks do not count.
    """
    at = np.zeros(len(document.note.text) + 1, dtype=bool)
    for span in document.spans:
        if merge_category(span.label) is not None and span.label not in silent:
            at[span.start : span.end] = True
    return np.array([at[start:end].any() for start, end in found.words], dtype=bool)


def _lowest(
    scores: NDArray[np.float32], right: NDArray[np.bool_], wanted: float, highest: float
) -> float:
    for threshold in GRID:
        if threshold >= highest:
            return highest
        is_chosen = scores >= threshold
        if is_chosen.any() and right[is_chosen].mean() >= wanted:
            return threshold
    return highest
