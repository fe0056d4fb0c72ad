"""Incremental retraining.

New gold, a new model, and the one in use replaced only by one that is shown to be better.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deid_assets.core.detector import detect
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.trainer import Document
from deid_assets.evaluation.comparison import BaselineDifference, Ratio
from deid_assets.evaluation.counts import Counts, Scheme
from deid_assets.evaluation.resampling import compare
from deid_assets.system.atomic import replace_folder
from deid_assets.training.card import Card, close_folder, read_card
from deid_assets.training.corpora import Corpus, check_apart, owner, split
from deid_assets.training.recipe import Recipe, Strategy
from deid_assets.training.run import Materials, Progress, open_model, train_model
from deid_assets.training.scoring import TagScores, score_outcomes, strict_rows
from deid_assets.training.seen import check_unseen

HELD_OUT = 0.5
"""Share of the patients of new gold that judges, where no test notes are given."""
HELD_OUT_SEED = 4_099
"""Draws those patients, whatever the seed of the recipe.

Who judges one round is not trained on in the next.
"""
CANDIDATE, BEFORE = ".candidate", ".before"
"""Follow the name of the model's folder.

The one newly trained, and the one that a better one replaced.
"""
_IN_USE, _NEW = "in use", "new"


@dataclass(frozen=True, slots=True)
class Round:
    """A newly trained model beside the one in use, on notes that neither has seen.

    Args:
        in_use: Strict counts under the tag labels.
        candidate: Of the new one.
        difference: Strict F1 of the new one less that of the other, with the 95 % interval of the
            paired bootstrap; none where an F1 is not defined.
        notes: That both were scored on.
        unit: ``patient`` or ``note``: what was drawn.
        units: How many there are.
    """

    in_use: Counts
    candidate: Counts
    difference: BaselineDifference | None
    notes: int
    unit: str
    units: int

    @property
    def is_better(self) -> bool:
        """Whether the whole interval of the difference lies above zero."""
        return self.difference is not None and self.difference.low > 0

    def to_json(self) -> dict[str, Any]:
        """Return what a machine reads."""
        models = {
            name: {
                **asdict(counts),
                "precision": counts.precision,
                "recall": counts.recall,
                "f1": counts.f1,
            }
            for name, counts in (("in_use", self.in_use), ("new", self.candidate))
        }
        gap = asdict(self.difference) if self.difference else None
        judged = {"notes": self.notes, "unit": self.unit, "units": self.units}
        return {"promoted": self.is_better, **models, "difference": gap, **judged}


def judge(in_use: Path, candidate: Path, documents: Sequence[Document]) -> Round:
    """Compare two models on annotated notes that neither was trained on or chosen by.

    Raises:
        InputError: There is no note, one of the models has seen one, or their tags carry different
            labels.
        TrainingError: A model fails on every note.
    """
    if not documents:
        raise InputError(
            "no held-out annotated notes: the model in use stays; annotate notes of patients that"
            " neither has seen"
        )
    cards = {_IN_USE: read_card(in_use, verify=True), _NEW: read_card(candidate, verify=True)}
    if len({card.recipe["labels"] for card in cards.values()}) > 1:
        raise InputError(
            "one model tags categories and the other native labels; train both alike to compare"
            " them"
        )
    for name, card in cards.items():
        check_unseen(
            card, documents, model=f"the model {name}" if name == _IN_USE else "the new model"
        )
    folders = {_IN_USE: in_use, _NEW: candidate}
    scores = {name: _score(cards[name], folders[name], documents) for name in cards}
    patients = {document.note.note_id: owner(document) for document in documents}
    compared = compare(
        {name: strict_rows(of, documents) for name, of in scores.items()}, patients=patients
    )
    return Round(
        scores[_IN_USE].micro,
        scores[_NEW].micro,
        compared.difference(_NEW, Scheme.STRICT, Ratio.F1),
        len(documents),
        compared.unit,
        compared.units,
    )


def _score(card: Card, folder: Path, documents: Sequence[Document]) -> TagScores:
    recipe = Recipe.model_validate(card.recipe)
    outcomes = detect(open_model(recipe, folder), [document.note for document in documents])
    return score_outcomes(outcomes, documents, native=recipe.native)


def retrain(
    in_use: Path,
    gold: Mapping[str, Corpus],
    *,
    others: Mapping[str, Corpus],
    test: Corpus | None = None,
    held_out: float = HELD_OUT,
    progress: Progress,
) -> Round:
    """Train a model on new gold as the one in use was, and put it in that one's place if it is
    better.

    The new model is trained beside, in ``NAME.candidate``, and stays there where it is not better.
    The one that it replaces is kept as ``NAME.before``. A text that comes again is trained on once.

    Args:
        in_use: Folder that ``train_model`` wrote.
        gold: Newly annotated notes, by what the new recipe names; those that came before may be
            among them.
        others: What is trained on beside, likewise; notes of held-out patients are left out.
        test: Notes that judge; a share of the patients of ``gold`` where there are none.
        held_out: That share.
        progress: Called after each epoch.

    Raises:
        ConfigError: The share is not between 0 and 1.
        InputError: As for ``judge`` and ``train_model``.
        PluginError: The plugin is not installed.
        TrainingError: The run gives no model.
    """
    if not 0 < held_out < 1:
        raise ConfigError(f"share {held_out:g} to hold out: give one between 0 and 1")
    card = read_card(in_use, verify=True)
    judging = _choose_judges(gold, test, held_out=held_out)
    check_unseen(card, judging, model="the model in use")  # before an hour of training
    corpora = _drop_judges({**others, **gold}, judging)
    recipe = _recipe_like(card, list(corpora))
    candidate = in_use.with_name(in_use.name + CANDIDATE)
    train_model(recipe, Materials(corpora=list(corpora.values())), candidate, progress=progress)
    done = judge(in_use, candidate, judging)
    if done.is_better:
        _promote(candidate, in_use)
    return done


def _choose_judges(
    gold: Mapping[str, Corpus], test: Corpus | None, *, held_out: float
) -> list[Document]:
    """Return the notes that judge.

    Raises:
        InputError: A note of the gold is among those given for the test.
    """
    pool = [document for corpus in gold.values() for document in corpus.documents]
    if test is None:
        return split(pool, share=held_out, seed=HELD_OUT_SEED)[1]
    judging = list(test.documents)
    check_apart(pool, judging, role="test")
    return judging


def _recipe_like(card: Card, corpora: list[str]) -> Recipe:
    """Return the recipe of a model for other corpora, with a strategy that fits their number."""
    strategy = Strategy(card.recipe["strategy"])
    if strategy is not Strategy.SEQUENTIAL or len(corpora) == 1:
        strategy = Strategy.MIX if len(corpora) > 1 else Strategy.SINGLE
    return Recipe.model_validate({**card.recipe, "strategy": strategy, "corpora": corpora})


def _drop_judges(corpora: Mapping[str, Corpus], judging: Sequence[Document]) -> dict[str, Corpus]:
    """Return the corpora without the notes of those who judge.

    A text that comes again is kept in the last.
    """
    owners = {owner(document) for document in judging}
    texts = {document.note.digest for document in judging}
    found = {}
    for source, corpus in reversed(list(corpora.items())):
        kept = []
        for document in corpus.documents:
            if document.note.digest not in texts and owner(document) not in owners:
                kept.append(document)
                texts.add(document.note.digest)
        if kept:
            found[source] = Corpus(corpus.name, tuple(kept))
    return dict(reversed(list(found.items())))


def _promote(candidate: Path, in_use: Path) -> None:
    before = in_use.with_name(in_use.name + BEFORE)
    copied = in_use.with_name(in_use.name + ".copy")
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(in_use, copied)
    close_folder(copied)
    replace_folder(copied, before)
    replace_folder(candidate, in_use)
