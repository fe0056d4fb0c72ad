"""Several recipes, or one over folds, in one table: means and standard deviations over seeds or folds."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from deid_assets.core.detector import Failed, detect
from deid_assets.core.errors import ConfigError
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.six_scores import Granularity, Level, SixScores, six_scores
from deid_assets.training.card import Card
from deid_assets.training.corpora import Corpus, folds
from deid_assets.training.recipe import Recipe
from deid_assets.training.run import Materials, Progress, open_model, train_model


@dataclass(frozen=True, slots=True)
class Row:
    """One recipe of a table.

    Args:
        recipe: Its name.
        cards: Of its model, or of one model per fold.
        f1: Strict micro F1 on test notes under the tag labels, one per seed, or per fold.
        six: The six scores of the kept models; those of folds are pooled.
    """

    recipe: str
    cards: Sequence[Card] = field(repr=False)
    f1: Sequence[float]
    six: SixScores = field(repr=False)

    @property
    def mean(self) -> float:
        """Mean over seeds or folds."""
        return fmean(self.f1)

    @property
    def deviation(self) -> float | None:
        """Standard deviation, where there are two or more."""
        return stdev(self.f1) if len(self.f1) > 1 else None

    @property
    def seconds(self) -> float:
        """Seconds of training, all seeds and folds."""
        return sum(card.seconds for card in self.cards)

    def six_f1(self) -> dict[str, float | None]:
        """Return micro F1 by level and granularity, in the order of Catelli (2021), table 4.1."""
        return {
            f"{level.value} {granularity.value}": self.six.micro(level, granularity).f1
            for level in (Level.ENTITY, Level.TOKEN)
            for granularity in Granularity
        }

    def to_json(self) -> dict[str, Any]:
        """Return what a machine reads."""
        return {
            "recipe": self.recipe,
            "f1": list(self.f1),
            "mean": self.mean,
            "deviation": self.deviation,
            "seconds": self.seconds,
            "six": self.six_f1(),
        }


def compare_recipes(
    recipes: Sequence[Recipe], materials: Mapping[str, Materials], out: Path, *, progress: Progress
) -> list[Row]:
    """Train each recipe on its materials and score it on its test notes.

    Args:
        recipes: With different names.
        materials: Recipe name to materials, with test notes.
        out: Folder; a model folder per recipe is made in it, and one that is up to date is not trained again.
        progress: Called after each epoch.

    Raises:
        ConfigError: Two recipes have one name, or one has no test notes.
    """
    names = [recipe.name for recipe in recipes]
    if len(set(names)) < len(names):
        raise ConfigError("two recipes have the same name; give each its own")
    rows = []
    for recipe in recipes:
        test = materials[recipe.name].test
        if test is None:
            raise ConfigError("a table of recipes compares them on test notes; give --test")
        folder = out / recipe.name
        card = train_model(recipe, materials[recipe.name], folder, progress=progress)
        f1 = [run.test_f1 for run in card.runs if run.test_f1 is not None]
        rows.append(Row(recipe.name, [card], f1, _six(recipe, folder, test)))
    return rows


def cross_validate(
    recipe: Recipe, materials: Materials, out: Path, *, count: int, progress: Progress, keep: bool = False
) -> Row:
    """Train a recipe once per fold of its last corpus and score each fold by the model that has not seen it.

    Args:
        recipe: How; its other corpora are trained on in every fold.
        materials: The last corpus is the one that is divided; neither dev nor test notes are used.
        out: Folder for the models.
        count: Folds.
        progress: Called after each epoch.
        keep: Keep the models.

    Raises:
        ConfigError: There are test or development notes: they are taken from the folds.
        InputError: There are fewer patients than folds.
    """
    if materials.dev is not None or materials.test is not None:
        raise ConfigError("folds take their own test and development notes; leave out --dev and --test")
    *others, divided = materials.corpora
    cards, f1, six = [], [], SixScores()
    for number, (train, test) in enumerate(folds(divided.documents, count=count, seed=recipe.seed), start=1):
        folder = out / f"{recipe.name}-fold-{number}"
        fold = Materials(
            corpora=[*others, Corpus(divided.name, tuple(train))],
            test=Corpus(divided.name, tuple(test)),
            raw=materials.raw,
        )
        card = train_model(recipe, fold, folder, progress=progress)
        cards.append(card)
        f1 += [run.test_f1 for run in card.runs if run.test_f1 is not None and run.kept]
        six += _six(recipe, folder, Corpus(divided.name, tuple(test)))
        if not keep:
            shutil.rmtree(folder)
    return Row(recipe.name, cards, f1, six)


def _six(recipe: Recipe, folder: Path, test: Corpus) -> SixScores:
    outcomes = detect(open_model(recipe, folder), [document.note for document in test.documents])
    found = [
        SpanSet.of(document.note, ()) if isinstance(outcome, Failed) else outcome
        for document, outcome in zip(test.documents, outcomes, strict=True)
    ]
    return six_scores(
        (document.note, document.spans, spans) for document, spans in zip(test.documents, found, strict=True)
    )
