"""Learning curves: what a few annotated notes of one's own add to a detector that is
there already.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median_high
from typing import Any

from deid_assets import plugins
from deid_assets.core.detector import Detector, Failed, detect
from deid_assets.core.errors import ConfigError, InputError, TrainingError
from deid_assets.core.phi import HARMONISED, Profile
from deid_assets.core.span import SpanSet
from deid_assets.core.trainer import Document
from deid_assets.evaluation.comparison import Comparison, Ratio, Row
from deid_assets.evaluation.counts import Scheme
from deid_assets.evaluation.resampling import compare
from deid_assets.evaluation.score import evaluate_by_note, evaluate_corpus
from deid_assets.training.choosing import QueryStrategy, rank
from deid_assets.training.corpora import Corpus, check_apart, folds, owner, split, split_order
from deid_assets.training.recipe import Recipe, Strategy
from deid_assets.training.run import Materials, Progress, open_model, train_model

SIZES = (5, 10, 20, 50)
FEWEST_ROUNDS, MOST_ROUNDS = 4, 10
"""Of cross-validation, where no test notes are given.

As many as it takes to train on the largest size that can fit.
"""
MOST_LOST = 0.01
FOLDS = 3
THRESHOLDS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Least scores that are tried."""


@dataclass(frozen=True, slots=True)
class Point:
    """One size of a curve, in union with the detector that is there.

    Args:
        notes: Of one's own that were trained on; 0 for what the detector finds alone.
        min_score: Least score of the tagger's spans that count; none where no threshold is good
            enough.
        covered: Notes of which every identifier is covered.
        recall: Share of the characters of identifiers that are covered.
        precision: Share of the covered characters that are of identifiers.
        gain: Recall less that of the detector alone, with the bounds of the paired bootstrap and p;
            none at 0.
        loss: As ``gain``, of precision.
        seconds: Of training.
    """

    notes: int
    min_score: float | None
    covered: int
    recall: float | None
    precision: float | None
    gain: tuple[float, float, float, float] | None
    loss: tuple[float, float, float, float] | None
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return what a machine reads."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveRequest:
    """What a curve is drawn of.

    Args:
        recipe: How a tagger is trained.
        own: Annotated notes of one's own.
        test: Notes to score on; by cross-validation over the patients of ``own`` where not given.
        beside: Corpora that are trained on at every size, such as synthetic ones.
        sizes: Notes of one's own, ascending.
        detector: What is there already.
        options: Keyword options of that detector.
        profile: Categories that count as identifiers, where the test notes annotate them.
        choice: How the notes after the first are chosen.
        most_lost: Precision of characters that the tagger may cost on the notes that it is trained
            on.
    """

    recipe: Recipe
    own: Corpus
    test: Corpus | None = None
    beside: Sequence[Corpus] = field(default=())
    sizes: Sequence[int] = SIZES
    detector: str = "rules"
    options: Mapping[str, Any] = field(default_factory=dict)
    profile: Profile = HARMONISED
    choice: QueryStrategy = QueryStrategy.RANDOM
    most_lost: float = MOST_LOST


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """A learning curve.

    Args:
        points: The detector alone first, then each size.
        scored: Notes that were scored on.
        rounds: Of cross-validation; 1 where test notes were given.
    """

    points: Sequence[Point]
    scored: int
    rounds: int


@dataclass(frozen=True, slots=True)
class _Round:
    """What was found in the notes held out, by the notes that were trained on, with threshold and
    seconds.
    """

    held: Sequence[Document]
    found: Mapping[int, Sequence[SpanSet]]
    spent: Mapping[int, tuple[float | None, float]]


def learning_curve(wanted: CurveRequest, out: Path, *, progress: Progress) -> LearningCurve:
    """Train on ever more notes of one's own and score each model in union with the detector that is
    there.

    The first notes are drawn at random by patient, the others likewise or as the model of the size
    before chooses; the smaller sets lie inside the larger. Without test notes each patient's notes
    are held out once, and all are scored on. Development notes are taken from the corpora beside;
    without such corpora none are held out, so that every note drawn is trained on. The least score
    that counts is chosen by cross-validation over the notes drawn: the lowest at which the union
    with the detector loses no more precision than is allowed.

    Args:
        wanted: What, and how.
        out: Folder for the models; those of cross-validation are removed.
        progress: Called after each epoch.

    Raises:
        ConfigError: The sizes are not ascending numbers from 1.
        InputError: There are fewer notes than the least size, or test notes are among the training
            notes.
    """
    sizes = list(wanted.sizes)
    if not sizes or sizes != sorted(set(sizes)) or sizes[0] < 1:
        raise ConfigError(
            f"sizes {', '.join(map(str, sizes)) or 'none'}: give ascending numbers from 1"
        )
    parts = _parts(wanted)
    least = min(len(pool) for pool, _ in parts)
    if least < sizes[0]:
        raise InputError(
            f"{least} notes to draw from, {sizes[0]} wanted; annotate more, or give smaller --sizes"
        )
    fitting = [size for size in sizes if size <= least]
    detector = plugins.load(wanted.detector, options=wanted.options)
    rounds: list[_Round] = []
    for number, (pool, held) in enumerate(parts):
        check_apart(pool, held, role="test")
        folder = out if len(parts) == 1 else out / f"round-{number}"
        rounds.append(
            _round(wanted, fitting, (pool, held), detector, out=folder, progress=progress)
        )
        if folder != out:
            shutil.rmtree(folder)
    scored = [document for one in rounds for document in one.held]
    found = {size: [spans for one in rounds for spans in one.found[size]] for size in (0, *fitting)}
    spent = {size: _middle([one.spent[size] for one in rounds]) for size in (0, *fitting)}
    return LearningCurve(_points(scored, found, spent, wanted.profile), len(scored), len(rounds))


def notes_for(size: int) -> int:
    """Return how many annotated notes of different patients it takes to train on so many by
    cross-validation.
    """
    return -(-size * MOST_ROUNDS // (MOST_ROUNDS - 1))


def _parts(wanted: CurveRequest) -> list[tuple[list[Document], list[Document]]]:
    """The notes to draw from with those to score on.

    Of each round of cross-validation, or as they were given.
    """
    own = list(wanted.own.documents)
    if wanted.test is not None:
        return [(own, list(wanted.test.documents))]
    patients = len({owner(document) for document in own})
    if patients < 2:
        raise InputError("the notes are of one patient only, so none can be held out; give --test")
    counts = range(min(FEWEST_ROUNDS, patients), min(MOST_ROUNDS, patients) + 1)
    rounds = [folds(own, count=count, seed=wanted.recipe.seed) for count in counts]
    pools = [min(len(pool) for pool, _ in parts) for parts in rounds]
    enough = max((size for size in wanted.sizes if size <= max(pools)), default=max(pools))
    return next(parts for parts, pool in zip(rounds, pools, strict=True) if pool >= enough)


def _round(
    wanted: CurveRequest,
    sizes: Sequence[int],
    part: tuple[Sequence[Document], Sequence[Document]],
    detector: Detector,
    *,
    out: Path,
    progress: Progress,
) -> _Round:
    """Train on ever more of the notes to draw from, and find identifiers in those held out."""
    pool, held = part
    by_chance = split_order(pool, seed=wanted.recipe.seed)
    ordered = sorted(pool, key=lambda document: (by_chance[owner(document)], document.note.note_id))
    there = _answers(detector, held)
    found: dict[int, Sequence[SpanSet]] = {0: there}
    spent: dict[int, tuple[float | None, float]] = {0: (None, 0.0)}
    for size in sizes:
        drawn = ordered[:size]
        folder = out / f"notes-{size}"
        threshold = _threshold(wanted, drawn, detector, folder, progress)
        model, seconds = _train(wanted, drawn, folder, progress)
        kept = _keep_above(_answers(model, held), threshold)
        found[size] = [_union(one, other) for one, other in zip(there, kept, strict=True)]
        spent[size] = (threshold, seconds)
        if wanted.choice is not QueryStrategy.RANDOM:
            ordered[size:] = _rank(wanted, ordered[size:], detector, model)
    return _Round(held, found, spent)


def _rank(
    wanted: CurveRequest, rest: Sequence[Document], detector: Detector, model: Detector
) -> list[Document]:
    """The notes left to draw from, as the model of the size before chooses."""
    notes = [document.note for document in rest]
    ranked = rank(notes, _answers(detector, rest), _answers(model, rest), wanted.choice)
    place = {one.note_id: number for number, one in enumerate(ranked)}
    return sorted(rest, key=lambda document: place[document.note.note_id])


def _middle(spent: Sequence[tuple[float | None, float]]) -> tuple[float | None, float]:
    """The middle threshold over the rounds, the higher of two, and the mean of the seconds."""
    threshold = median_high(math.inf if least is None else least for least, _ in spent)
    return (None if math.isinf(threshold) else threshold, fmean(seconds for _, seconds in spent))


def _train(
    wanted: CurveRequest, documents: Sequence[Document], folder: Path, progress: Progress
) -> tuple[Detector, float]:
    recipe, materials = _materials(
        wanted, Corpus(f"{wanted.own.name}, {len(documents)} notes", tuple(documents))
    )
    card = train_model(recipe, materials, folder, progress=progress)
    return open_model(recipe, folder), card.seconds


def _threshold(
    wanted: CurveRequest,
    drawn: Sequence[Document],
    detector: Detector,
    folder: Path,
    progress: Progress,
) -> float | None:
    """Return the least score that counts, by cross-validation.

    ``None`` where each costs too much.
    """
    patients = len({owner(document) for document in drawn})
    tested: list[Document] = []
    said: list[SpanSet] = []
    for number, (learnt, held) in enumerate(
        folds(drawn, count=min(FOLDS, patients), seed=1) if patients > 1 else ()
    ):
        part = folder.with_name(f"{folder.name}-fold-{number}")
        tested += held
        try:
            said += _answers(_train(wanted, learnt, part, progress)[0], held)
        except (InputError, TrainingError):  # no span to learn from in so few notes
            said += [SpanSet.of(document.note, ()) for document in held]
        shutil.rmtree(part, ignore_errors=True)
    there = _answers(detector, tested)
    alone = _precision(tested, there, wanted.profile)
    for threshold in THRESHOLDS:
        both = [
            _union(one, other)
            for one, other in zip(there, _keep_above(said, threshold), strict=True)
        ]
        if alone - _precision(tested, both, wanted.profile) <= wanted.most_lost:
            return threshold
    return None


def _precision(documents: Sequence[Document], found: Sequence[SpanSet], profile: Profile) -> float:
    evaluation = evaluate_corpus(
        ((document.spans, spans) for document, spans in zip(documents, found, strict=True)),
        profile=profile,
        scope=_scope(documents),
        lengths={document.note.note_id: len(document.note.text) for document in documents},
    )
    precision = evaluation.characters.precision
    return 1.0 if precision is None else precision


def _keep_above(found: Sequence[SpanSet], threshold: float | None) -> list[SpanSet]:
    least = math.inf if threshold is None else threshold
    return [
        SpanSet(spans.note_id, spans.digest, tuple(span for span in spans if span.score >= least))
        for spans in found
    ]


def _materials(wanted: CurveRequest, drawn: Corpus) -> tuple[Recipe, Materials]:
    if not wanted.beside:
        return _set_strategy(wanted.recipe, 1).model_copy(update={"dev_share": 0.0}), Materials(
            corpora=[drawn]
        )
    train: list[Corpus] = []
    dev: list[Document] = []
    for corpus in wanted.beside:
        rest, held = split(corpus.documents, share=wanted.recipe.dev_share, seed=wanted.recipe.seed)
        train.append(Corpus(corpus.name, tuple(rest)))
        dev += held
    return _set_strategy(wanted.recipe, len(train) + 1), Materials(
        corpora=[*train, drawn], dev=Corpus("dev", tuple(dev))
    )


def _set_strategy(recipe: Recipe, corpora: int) -> Recipe:
    return recipe.model_copy(
        update={"strategy": Strategy.MIX if corpora > 1 else Strategy.SINGLE, "corpora": ()}
    )


def _answers(detector: Detector, documents: Sequence[Document]) -> list[SpanSet]:
    outcomes = detect(detector, [document.note for document in documents])
    return [
        SpanSet.of(document.note, ()) if isinstance(outcome, Failed) else outcome
        for document, outcome in zip(documents, outcomes, strict=True)
    ]


def _union(one: SpanSet, other: SpanSet) -> SpanSet:
    return SpanSet(one.note_id, one.digest, tuple({*one.spans, *other.spans}))


def _points(
    test: Sequence[Document],
    found: Mapping[int, Sequence[SpanSet]],
    spent: Mapping[int, tuple[float | None, float]],
    profile: Profile,
) -> list[Point]:
    rows: dict[str, Mapping[str, Row]] = {}
    covered: dict[int, int] = {}
    for size, answers in found.items():
        evaluation, rows[str(size)] = evaluate_by_note(
            ((document.spans, spans) for document, spans in zip(test, answers, strict=True)),
            profile=profile,
            scope=_scope(test),
            lengths={document.note.note_id: len(document.note.text) for document in test},
        )
        covered[size] = evaluation.notes.covered
    patients = {document.note.note_id: owner(document) for document in test}
    compared = compare(rows, patients=patients)
    return [_point(compared, size, covered[size], spent[size]) for size in found]


def _scope(documents: Sequence[Document]) -> frozenset[Any]:
    return frozenset(span.label for document in documents for span in document.spans)


def _point(
    compared: Comparison, size: int, covered: int, spent: tuple[float | None, float]
) -> Point:
    values: list[float | None] = []
    gaps: list[tuple[float, float, float, float] | None] = []
    for ratio in (Ratio.RECALL, Ratio.PRECISION):
        interval = compared.interval(str(size), Scheme.CHARACTERS, ratio)
        gap = compared.difference(str(size), Scheme.CHARACTERS, ratio)
        values.append(interval.value if interval else None)
        gaps.append((gap.value, gap.low, gap.high, gap.p) if gap else None)
    return Point(size, spent[0], covered, values[0], values[1], gaps[0], gaps[1], spent[1])
