"""A logistic regression over what two taggers say of a token, and over where its word stands in
note and batch.

Part of ``leave_one_out.py``: for each corpus its weights are learnt on the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from batch_crf import Scores
from numpy.typing import NDArray
from scipy.optimize import minimize

from deid_assets.core.span import SpanSet
from deid_assets.core.trainer import Document
from deid_assets.languages.vocabulary import is_ordinary

LEAST = 0.03
"""Tokens that both taggers give less are not looked at."""
NORM = 10.0


@dataclass(frozen=True, slots=True)
class Candidates:
    """Tokens that `rules` did not cover.

    Args:
        places: Note and token number of each.
        values: (candidates, features).
        gold: Whether most of its characters are PHI.
        weights: Characters, over the root of all of the corpus, so that no corpus counts for all.
    """

    places: Sequence[tuple[int, int]]
    values: NDArray[np.float64]
    gold: NDArray[np.bool_]
    weights: NDArray[np.float64]


def features(
    documents: Sequence[Document],
    rules: Sequence[SpanSet],
    batch: Sequence[Scores],
    other: Sequence[Scores],
) -> Candidates:
    """Return the candidates of a corpus, which is one batch."""
    words = [
        [document.note.text[a:b] for a, b in found.tokens]
        for document, found in zip(documents, batch, strict=True)
    ]
    covered = [
        _covered(found, spans.spans, document)
        for document, spans, found in zip(documents, rules, batch, strict=True)
    ]
    sums = [
        (one.values.sum(axis=1), two.values.sum(axis=1))
        for one, two in zip(batch, other, strict=True)
    ]
    tally: dict[str, Counter[str]] = defaultdict(Counter)
    inner, capitals = 0, 0
    for of_note, known, (one, two) in zip(words, covered, sums, strict=True):
        for number, word in enumerate(of_note):
            count = tally[word.lower()]
            count.update(all=1, capital=int(word[:1].isupper()), known=int(known[number] > 0.99))
            count["one"] += float(one[number])  # type: ignore[assignment]
            count["two"] += float(two[number])  # type: ignore[assignment]
            if number and word.isalpha() and of_note[number - 1] not in ".:!?":
                inner, capitals = inner + 1, capitals + word[:1].isupper()
        for low in {word.lower() for word in of_note}:
            tally[low]["notes"] += 1
    share = capitals / max(inner, 1)
    places, values, gold, sizes = [], [], [], []
    for at, (document, of_note, known, (one, two)) in enumerate(
        zip(documents, words, covered, sums, strict=True)
    ):
        truth = _covered(batch[at], document.spans.spans, document)
        here: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
        for number, word in enumerate(of_note):
            here[word.lower()].append(
                (float(one[number]), float(two[number]), float(known[number]))
            )
        for number, word in enumerate(of_note):
            if (
                known[number] > 0.99
                or not any(map(str.isalnum, word))
                or max(one[number], two[number]) < LEAST
            ):
                continue
            first, second, count = float(one[number]), float(two[number]), tally[word.lower()]
            capital, digit = word[:1].isupper(), any(map(str.isdigit, word))
            rest = max(count["all"] - 1, 1)
            sides = [
                (known[n], (one[n] + two[n]) / 2) if 0 <= n < len(of_note) else (0, 0)
                for n in (number - 1, number + 1)
            ]
            same = np.array(here[word.lower()])
            places.append((at, number))
            values.append(
                [
                    _logit(first),
                    _logit(second),
                    first,
                    second,
                    first * second,
                    min(first, second),
                    max(first, second),
                    *batch[at].values[number],
                    *other[at].values[number],
                    capital,
                    digit,
                    word.isupper() and len(word) > 1,
                    len(word) == 1,
                    len(word) <= 2,
                    word.isalpha() and not capital,
                    is_ordinary(word, document.note.lang),
                    share * capital,
                    (1 - share) * capital,
                    *sides[0],
                    *sides[1],
                    np.log(count["all"]),
                    np.log(count["notes"]),
                    np.log(count["notes"] / len(documents)),
                    1 - count["capital"] / count["all"],
                    count["known"] / count["all"],
                    (count["one"] - first) / rest,
                    (count["two"] - second) / rest,
                    count["all"] == 1,
                    *same.mean(axis=0)[:2],
                    same[:, 2].max(),
                    digit * first,
                    digit * second,
                    word.isalpha() and count["capital"] == count["all"],
                    np.log(len(documents)),
                ]
            )
            gold.append(truth[number] > 0.5)
            sizes.append(len(word))
    weights = np.array(sizes, dtype=float)
    return Candidates(
        places, np.array(values, dtype=float), np.array(gold), weights / np.sqrt(weights.sum())
    )


def probabilities(
    tables: Mapping[str, Candidates], left_out: str, blend: Sequence[Scores]
) -> list[Scores]:
    """Return what the regression learnt on the other corpora says of the one left out, categories
    as the blend's.
    """
    learnt = [table for name, table in tables.items() if name != left_out]
    values = np.concatenate([table.values for table in learnt])
    mean, width = values.mean(axis=0), values.std(axis=0) + 1e-6
    weights = np.concatenate([table.weights for table in learnt])
    signs = np.where(np.concatenate([table.gold for table in learnt]), 1.0, -1.0)
    values, weights = (values - mean) / width, weights / weights.mean()

    def loss(at: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = signs * (values @ at[1:] + at[0])
        slope = -signs * weights / (1 + np.exp(np.clip(margin, -50, 50)))
        value = float((weights * np.logaddexp(0, -margin)).sum() + NORM / 2 * at[1:] @ at[1:])
        return value, np.concatenate([[slope.sum()], slope @ values + NORM * at[1:]])

    found = minimize(loss, np.zeros(values.shape[1] + 1), jac=True, method="L-BFGS-B").x
    table = tables[left_out]
    said = 1 / (
        1 + np.exp(-np.clip(((table.values - mean) / width) @ found[1:] + found[0], -50, 50))
    )
    result = [Scores(of_note.tokens, np.zeros_like(of_note.values)) for of_note in blend]
    for (note, token), probability in zip(table.places, said, strict=True):
        of_token = blend[note].values[token]
        result[note].values[token] = probability * of_token / max(float(of_token.sum()), 1e-9)
    return result


def _covered(found: Scores, spans: Sequence[object], document: Document) -> NDArray[np.float64]:
    """Return which share of each token lies in the spans."""
    mask = np.zeros(len(document.note.text) + 1)
    for span in spans:
        mask[span.start : span.end] = 1  # type: ignore[attr-defined]
    return np.array([mask[start:end].mean() for start, end in found.tokens])


def _logit(probability: float) -> float:
    clipped = min(max(probability, 1e-4), 1 - 1e-4)
    return float(np.log(clipped / (1 - clipped)))
