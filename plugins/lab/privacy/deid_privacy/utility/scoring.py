"""Scores of predictions.

Entities and tokens for spans, support-weighted F1 for labels of documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from deid_assets.extending import tokenize
from deid_privacy.utility.examples import Marked, TaskData, TaskDocument


def f1(right: int, found: int, expected: int) -> float:
    """Return the harmonic mean of precision and recall; 0 where nothing is found or expected."""
    return 2 * right / (found + expected) if found + expected else 0.0


def span_scores(
    texts: Sequence[str], gold: Sequence[Sequence[Marked]], found: Sequence[Sequence[Marked]]
) -> dict[str, float]:
    """Return strict F1 of entities, and micro F1 of the tokens that carry a label (Vakili et al.
    2025).
    """
    sides = [
        {(row, *mark) for row, marks in enumerate(side) for mark in marks} for side in (gold, found)
    ]
    tokens = [_tokens(texts, side) for side in (gold, found)]
    return {
        "f1": f1(len(sides[0] & sides[1]), len(sides[1]), len(sides[0])),
        "token_f1": f1(len(tokens[0] & tokens[1]), len(tokens[1]), len(tokens[0])),
    }


def _tokens(
    texts: Sequence[str], side: Sequence[Sequence[Marked]]
) -> set[tuple[int, int, int, str]]:
    """Return the tokens that carry a label: document, start, end and label."""
    return {
        (row, *token, label)
        for row, marks in enumerate(side)
        for token, label in _label_tokens(texts[row], marks)
    }


def _label_tokens(text: str, marks: Sequence[Marked]) -> list[tuple[tuple[int, int], str]]:
    return [
        (token, label)
        for token in tokenize(text)
        for start, end, label in marks
        if start < token[1] and token[0] < end
    ]


def label_scores(
    gold: Sequence[AbstractSet[str]], found: Sequence[AbstractSet[str]]
) -> dict[str, float]:
    """Return F1 of each label's documents, weighted by how many have it, and the plain mean."""
    every = sorted(set().union(*gold))
    right = [one & other for one, other in zip(gold, found, strict=True)]
    counts = {
        label: tuple(sum(label in one for one in side) for side in (right, found, gold))
        for label in every
    }
    support = sum(expected for _, _, expected in counts.values())
    each = {label: f1(*one) for label, one in counts.items()}
    if not support:
        return {"f1": 0.0, "macro_f1": 0.0}
    return {
        "f1": sum(each[label] * counts[label][2] for label in every) / support,
        "macro_f1": sum(each.values()) / len(every),
    }


def guess_scores(
    data: TaskData, learnt: Sequence[TaskDocument], asked: Sequence[TaskDocument]
) -> dict[str, float]:
    """Return the scores of the best guess that looks at no text.

    Of one label it is the most frequent of the documents learnt from; of several, all of them,
    since support-weighted F1 rises with each label that is given; of spans there is none, and the
    score is 0.
    """
    if data.kind == "tokens":
        return {"f1": 0.0, "token_f1": 0.0}
    counts = Counter(label for one in learnt for label in one.labels)
    said = (
        frozenset(counts) if data.kind == "multilabel" else frozenset(dict(counts.most_common(1)))
    )
    return label_scores([one.labels for one in asked], [said] * len(asked))
