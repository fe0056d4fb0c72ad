"""Scores of boundaries, whatever the labels.

The exact and partial schemes of SemEval-2013 task 9.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from deid_assets.evaluation.intervals import Range, count_matches


def boundary_counts(gold: Iterable[Range], pred: Iterable[Range]) -> tuple[int, ...]:
    """Return the counts of one note under the exact and then the partial scheme, labels left aside.

    Each range is used at most once, in the pairing that scores most: as many equal ranges as there
    are, then as many overlapping pairs as can be made of the rest. Preferring an equal pair never
    scores less, for it is worth the two overlapping pairs at most that it prevents.

    Returns:
        True positives, false positives and false negatives: of equal ranges, and in halves of
            overlapping ones (an
        equal pair counts 2, an overlapping pair 1, a range left over 2).

    Source:
        Segura-Bedmar, Martínez and Herrero-Zazo (2013), SemEval-2013 task 9, evaluation.
    """
    golds, preds = Counter(gold), Counter(pred)
    n_gold, n_pred = golds.total(), preds.total()
    equal = (golds & preds).total()
    score = 2 * equal + count_matches((golds - preds).elements(), (preds - golds).elements())
    return equal, n_pred - equal, n_gold - equal, score, 2 * n_pred - score, 2 * n_gold - score
