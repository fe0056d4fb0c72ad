"""One row of the study's table.

A threshold from development notes, and what it does on test notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deid_assets import Span
from deid_assets.extending import Document, InputError
from deid_zero_shot.calibration import Threshold, choose, refuse_common
from deid_zero_shot.categories import FeatureCounts, Taught, cross_counts, learn
from deid_zero_shot.method import Method
from deid_zero_shot.points import (
    Points,
    ValueInterval,
    average_precision,
    bootstrap,
    points_of,
    roc_auc,
    score_decisions,
    sweep,
)
from deid_zero_shot.protect import Protection
from deid_zero_shot.scorer import KEPT, ScoredNote, ScoredWord

COLUMNS = ("accuracy", "f1", "recall", "precision", "pr_auc", "roc_auc")
FEW_NOTES = 30
"""Number of test notes below which the report warns that intervals are wide."""


@dataclass(frozen=True, slots=True)
class ScoredDocuments:
    """Scored documents of one language, some to choose a threshold on and others to test it.

    Args:
        dev: Documents and their scores.
        test: Others.
    """

    dev: Sequence[tuple[Document, ScoredNote]]
    test: Sequence[tuple[Document, ScoredNote]]

    def __post_init__(self) -> None:
        known = {document.note.digest for document, _ in self.dev} | {
            document.note.note_id for document, _ in self.dev
        }
        for document, _ in self.test:
            if known & {document.note.digest, document.note.note_id}:
                raise InputError(
                    f"note {document.note.note_id!r} is among the development and the test notes"
                )

    def drop_typed(self) -> ScoredDocuments:
        """Return the documents without the words that are no PHI by their kind, as the development
        part teaches.

        Of the development part itself, each half teaches the other.
        """
        taught = [_teach(*pair) for pair in self.dev]
        known = learn(taught, others=True)
        dev = [
            (one, _drop_typed(one, scored, part))
            for (one, scored), part in zip(self.dev, cross_counts(taught), strict=True)
        ]
        return ScoredDocuments(
            dev, [(one, _drop_typed(one, scored, known)) for one, scored in self.test]
        )

    def change(
        self, *, protection: Protection | None = None, mean: bool = False
    ) -> ScoredDocuments:
        """Return the documents with scores that need no further run of the network."""
        return ScoredDocuments(
            *(
                [(one, _change(one, scored, protection, mean=mean)) for one, scored in part]
                for part in (self.dev, self.test)
            )
        )


def _change(
    document: Document, scored: ScoredNote, protection: Protection | None, *, mean: bool
) -> ScoredNote:
    places = [(word.start, word.end) for word in scored.words]
    spared = protection.words(document.note, places) if protection else frozenset()

    def score(number: int, word: ScoredWord) -> float:
        if number in spared:
            return KEPT
        return word.score / max(1, word.pieces) if mean else word.score

    return scored._replace(
        words=[word._replace(score=score(number, word)) for number, word in enumerate(scored.words)]
    )


def _teach(document: Document, scored: ScoredNote) -> Taught:
    return document.note, [(word.start, word.end) for word in scored.words], tuple(document.spans)


def _drop_typed(document: Document, scored: ScoredNote, known: FeatureCounts) -> ScoredNote:
    spared = known.no_phi(*_teach(document, scored)[:2])
    words = [
        word._replace(score=KEPT) if at in spared else word for at, word in enumerate(scored.words)
    ]
    return scored._replace(words=words)


def score_all(
    method: Method, documents: Iterable[Document], *, below: float | None = None
) -> list[tuple[Document, ScoredNote]]:
    """Return documents with the scores of their words."""
    return [(document, method.score(document.note, below=below)) for document in documents]


def points(judged: Sequence[tuple[Document, ScoredNote]]) -> Points:
    """Return the sub-tokens of judged documents."""
    return points_of((scored, document.spans) for document, scored in judged)


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A system on the test notes.

    Args:
        system: Its name.
        threshold: Chosen on the development notes; ``None`` for a system without one.
        values: Column to value and interval.
        redacted: Share of the sub-tokens that are.
        notes: Test notes.
        recalls: Recall by category.
    """

    system: str
    threshold: Threshold | None
    values: Mapping[str, ValueInterval]
    redacted: float
    notes: int
    recalls: Mapping[str, float]


def zero_shot_row(
    system: str, judged: ScoredDocuments, *, target: str = "f1", samples: int = 300, seed: int = 0
) -> StudyRow:
    """Return the row of a model whose threshold is chosen on the development part."""
    threshold = choose(points(judged.dev), target, [document.note for document, _ in judged.dev])
    refuse_common(threshold, [document.note for document, _ in judged.test])
    return row_of(
        system, points(judged.test), threshold.log_threshold, threshold, samples=samples, seed=seed
    )


def make_row(
    system: str,
    test: Sequence[tuple[Document, ScoredNote]],
    found: Sequence[Iterable[Span]],
    *,
    samples: int = 300,
    seed: int = 0,
) -> StudyRow:
    """Return the row of a detector by its spans in the test documents, over the same sub-tokens."""
    own = score_redacted(points(test), test, found)
    return row_of(system, own, -0.5, None, samples=samples, seed=seed)


def score_redacted(
    own: Points, judged: Sequence[tuple[Document, ScoredNote]], found: Sequence[Iterable[Span]]
) -> Points:
    """Return the sub-tokens scored -1 where a span covers them, and 0 elsewhere."""
    scores: list[float] = []
    for (_, scored), spans in zip(judged, found, strict=True):
        encoded = scored.encoded
        covered = np.zeros(len(encoded.ids), bool)
        for span in spans:
            covered |= (encoded.starts < span.end) & (encoded.ends > span.start)
        scores += np.where(covered, -1.0, KEPT)[encoded.ends > encoded.starts].tolist()
    return Points(np.array(scores), own.gold, own.notes, own.labels)


def chance_rows(
    test: Sequence[tuple[Document, ScoredNote]],
    prevalence: float,
    *,
    samples: int = 300,
    seed: int = 0,
) -> list[StudyRow]:
    """Return the rows of redacting everything, nothing, and a share of the sub-tokens at random.

    Args:
        test: Scored documents.
        prevalence: That share; of PHI in the development notes.
        samples: Of the bootstrap.
        seed: Of the draw and the bootstrap.
    """
    own = points(test)
    drawn = np.random.default_rng([seed, 7]).random(len(own.gold)) < prevalence
    decisions = {
        "redact all": np.ones(len(own.gold), bool),
        "redact nothing": np.zeros(len(own.gold), bool),
        "random, as often as PHI": drawn,
    }
    return [
        row_of(
            name,
            Points(np.where(redacted, -1.0, KEPT), own.gold, own.notes, own.labels),
            -0.5,
            None,
            samples=samples,
            seed=seed,
        )
        for name, redacted in decisions.items()
    ]


def row_of(
    system: str,
    own: Points,
    log_threshold: float,
    threshold: Threshold | None,
    *,
    samples: int = 300,
    seed: int = 0,
) -> StudyRow:
    """Return the row of decisions: what scores below a threshold is redacted.

    Args:
        system: Its name.
        own: Sub-tokens of the test notes.
        log_threshold: Natural logarithm.
        threshold: Where it was chosen on development notes.
        samples: Of the bootstrap.
        seed: Of the bootstrap.
    """

    def statistics(one: Points) -> list[float | None]:
        rates = score_decisions(one.gold, one.scores < log_threshold)
        return [
            rates.accuracy,
            rates.f1,
            rates.recall,
            rates.precision,
            average_precision(one),
            roc_auc(one),
        ]

    redacted = own.scores < log_threshold
    values = dict(zip(COLUMNS, bootstrap(own, statistics, samples=samples, seed=seed), strict=True))
    return StudyRow(
        system,
        threshold,
        values,
        float(redacted.mean()),
        len(np.unique(own.notes)),
        _by_label(own, redacted),
    )


def _by_label(own: Points, redacted: NDArray[np.bool_]) -> Mapping[str, float]:
    labels = np.array(own.labels)
    return {
        str(label): float(redacted[labels == label].mean())
        for label in sorted(set(own.labels) - {""})
    }


@dataclass(frozen=True, slots=True)
class Gain:
    """What a model adds to another detector at no loss of precision.

    Args:
        alone: Recall and precision of the other detector on the test notes.
        together: Of both.
        difference: In recall.
        log_threshold: Of the model, chosen on the development notes.
    """

    alone: tuple[float | None, float | None]
    together: tuple[float | None, float | None]
    difference: ValueInterval
    log_threshold: float


def ensemble_gain(
    judged: ScoredDocuments,
    dev: Sequence[Iterable[Span]],
    test: Sequence[Iterable[Span]],
    *,
    samples: int = 300,
    seed: int = 0,
) -> Gain:
    """Return what the union with a model gains in recall at the precision of the other detector.

    The threshold is the highest at which the union keeps that precision on the development notes.
    """
    own, other = points(judged.dev), score_redacted(points(judged.dev), judged.dev, dev)
    wanted = score_decisions(own.gold, other.scores < KEPT).precision or 0.0
    chosen = -np.inf
    for log_threshold in sweep(own).below(KEPT).thresholds:
        precision = score_decisions(
            own.gold, (other.scores < KEPT) | (own.scores < log_threshold)
        ).precision
        if precision is not None and precision >= wanted:
            chosen = max(chosen, float(log_threshold))
    own, other = points(judged.test), score_redacted(points(judged.test), judged.test, test)
    alone = other.scores < KEPT
    both = alone | (own.scores < chosen)
    first, second = score_decisions(own.gold, alone), score_decisions(own.gold, both)
    # the bootstrap resamples both decisions as one column
    coded = Points(alone + 2.0 * both, own.gold, own.notes)

    def difference(one: Points) -> list[float | None]:
        before = score_decisions(one.gold, one.scores % 2 == 1).recall
        after = score_decisions(one.gold, one.scores >= 2).recall
        return [None if before is None or after is None else after - before]

    (gained,) = bootstrap(coded, difference, samples=samples, seed=seed)
    return Gain((first.recall, first.precision), (second.recall, second.precision), gained, chosen)
