"""A logistic regression over what two taggers say of a token, and over where its word stands in
note and batch.

Part of ``leave_one_out.py``: for each corpus its weights are learnt on the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from batch_crf import NoteScores
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


@dataclass(frozen=True, slots=True)
class _Note:
    """A note and what is known of its tokens.

    Args:
        document: The note with its gold.
        batch: What one tagger says of the tokens.
        other: What the other says.
        words: The tokens.
        known: Which share of each `rules` covers.
        one: How likely each is PHI, by the first tagger.
        two: The same by the second.
    """

    document: Document
    batch: NoteScores
    other: NoteScores
    words: Sequence[str]
    known: NDArray[np.float64]
    one: NDArray[np.float64]
    two: NDArray[np.float64]

    @classmethod
    def of(cls, document: Document, rules: SpanSet, batch: NoteScores, other: NoteScores) -> _Note:
        """Return a note with its tokens, which are the same for both taggers."""
        return cls(
            document,
            batch,
            other,
            words=[document.note.text[start:end] for start, end in batch.tokens],
            known=_measure_cover(batch, rules.spans, document),
            one=batch.values.sum(axis=1),
            two=other.values.sum(axis=1),
        )

    def is_candidate(self, number: int) -> bool:
        """Whether a token is looked at: not covered, not punctuation, not given up by both."""
        if self.known[number] > 0.99 or not any(map(str.isalnum, self.words[number])):
            return False
        return bool(max(self.one[number], self.two[number]) >= LEAST)

    def by_word(self) -> dict[str, list[tuple[float, float, float]]]:
        """Return what is said of each place of a word, in lower case."""
        places: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
        for number, word in enumerate(self.words):
            said = (float(self.one[number]), float(self.two[number]), float(self.known[number]))
            places[word.lower()].append(said)
        return places


@dataclass(slots=True)
class _Tally:
    """Where the words of a batch stand.

    Args:
        words: By word in lower case: places, notes, capitals, and the sums of what is said of them.
        inner: Words within a sentence.
        capitals: Those of them with a capital.
        notes: Notes of the batch.
    """

    words: dict[str, Counter[str]]
    inner: int = 0
    capitals: int = 0
    notes: int = 0

    @classmethod
    def of(cls, notes: Sequence[_Note]) -> _Tally:
        """Count the words of a batch."""
        tally = cls(defaultdict(Counter), notes=len(notes))
        for note in notes:
            tally._add(note)
        return tally

    def _add(self, note: _Note) -> None:
        for number, word in enumerate(note.words):
            count = self.words[word.lower()]
            known = int(note.known[number] > 0.99)
            count.update(all=1, capital=int(word[:1].isupper()), known=known)
            count["one"] += float(note.one[number])  # type: ignore[assignment]
            count["two"] += float(note.two[number])  # type: ignore[assignment]
            if number and word.isalpha() and note.words[number - 1] not in ".:!?":
                self.inner += 1
                self.capitals += word[:1].isupper()
        for low in {word.lower() for word in note.words}:
            self.words[low]["notes"] += 1

    @property
    def share(self) -> float:
        """Share of the words within a sentence that have a capital."""
        return self.capitals / max(self.inner, 1)


def features(
    documents: Sequence[Document],
    rules: Sequence[SpanSet],
    batch: Sequence[NoteScores],
    other: Sequence[NoteScores],
) -> Candidates:
    """Return the candidates of a corpus, which is one batch."""
    notes = [_Note.of(*each) for each in zip(documents, rules, batch, other, strict=True)]
    tally = _Tally.of(notes)
    places, values, gold, sizes = [], [], [], []
    for at, note in enumerate(notes):
        truth = _measure_cover(note.batch, note.document.spans.spans, note.document)
        by_word = note.by_word()
        for number, word in enumerate(note.words):
            if not note.is_candidate(number):
                continue
            places.append((at, number))
            values.append(_row(note, number, tally, np.array(by_word[word.lower()])))
            gold.append(truth[number] > 0.5)
            sizes.append(len(word))
    weights = np.array(sizes, dtype=float)
    return Candidates(
        places, np.array(values, dtype=float), np.array(gold), weights / np.sqrt(weights.sum())
    )


def _row(note: _Note, number: int, tally: _Tally, same: NDArray[np.float64]) -> list[float]:
    """Return the features of a token.

    Args:
        note: Its note.
        number: Its number.
        tally: The words of the batch.
        same: (places, 3): what is said of each place of its word in the note.
    """
    word, first, second = note.words[number], float(note.one[number]), float(note.two[number])
    count = tally.words[word.lower()]
    digit = any(map(str.isdigit, word))
    return [
        *(_logit(first), _logit(second), first, second, first * second),
        *(min(first, second), max(first, second)),
        *note.batch.values[number],
        *note.other.values[number],
        *_form(word, note.document.note.lang, tally.share),
        *_side(note, number - 1),
        *_side(note, number + 1),
        *_count_features(count, first, second, notes=tally.notes),
        *same.mean(axis=0)[:2],
        same[:, 2].max(),
        digit * first,
        digit * second,
        word.isalpha() and count["capital"] == count["all"],
        np.log(tally.notes),
    ]


def _form(word: str, lang: str | None, share: float) -> list[float]:
    """Return features of how a word is written; ``share`` is of capitals in the batch."""
    capital = word[:1].isupper()
    return [
        capital,
        any(map(str.isdigit, word)),
        word.isupper() and len(word) > 1,
        len(word) == 1,
        len(word) <= 2,
        word.isalpha() and not capital,
        is_ordinary(word, lang),
        share * capital,
        (1 - share) * capital,
    ]


def _side(note: _Note, number: int) -> tuple[float, float]:
    """Return what is said of a token beside; nothing where there is none."""
    if not 0 <= number < len(note.words):
        return (0, 0)
    return (note.known[number], (note.one[number] + note.two[number]) / 2)


def _count_features(count: Counter[str], first: float, second: float, *, notes: int) -> list[float]:
    """Return features of a word in the batch: its places, notes, capitals and mean scores
    elsewhere.
    """
    rest = max(count["all"] - 1, 1)
    return [
        np.log(count["all"]),
        np.log(count["notes"]),
        np.log(count["notes"] / notes),
        1 - count["capital"] / count["all"],
        count["known"] / count["all"],
        (count["one"] - first) / rest,
        (count["two"] - second) / rest,
        count["all"] == 1,
    ]


def probabilities(
    tables: Mapping[str, Candidates], left_out: str, blend: Sequence[NoteScores]
) -> list[NoteScores]:
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
    result = [NoteScores(of_note.tokens, np.zeros_like(of_note.values)) for of_note in blend]
    for (note, token), probability in zip(table.places, said, strict=True):
        of_token = blend[note].values[token]
        result[note].values[token] = probability * of_token / max(float(of_token.sum()), 1e-9)
    return result


def _measure_cover(
    found: NoteScores, spans: Sequence[object], document: Document
) -> NDArray[np.float64]:
    """Return which share of each token lies in the spans."""
    mask = np.zeros(len(document.note.text) + 1)
    for span in spans:
        mask[span.start : span.end] = 1  # type: ignore[attr-defined]
    return np.array([mask[start:end].mean() for start, end in found.tokens])


def _logit(probability: float) -> float:
    clipped = min(max(probability, 1e-4), 1 - 1e-4)
    return float(np.log(clipped / (1 - clipped)))
