"""Several recipes, or one over folds, in one table.

All figures of a row are of the same runs or folds.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import hypot
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from deid_assets.core.errors import ConfigError
from deid_assets.evaluation.folds import correct_p_values, mann_whitney
from deid_assets.training.card import Card
from deid_assets.training.corpora import Corpus, folds
from deid_assets.training.recipe import Recipe
from deid_assets.training.run import Materials, Progress, train_model

SCHEMA, VERSION = "deid-assets/recipe-runs", 1
"""Name and version of the document of a table.

The version rises when a field changes its meaning or goes away.
"""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One recipe of a table.

    Args:
        recipe: Its name.
        cards: Of its model, or of one model per fold.
        f1: Strict micro F1 on test notes under the tag labels, one per run, or per fold.
        six: Micro F1 of the six scores of the same runs or folds; empty for one of an older
            version.
        over: What they are of: ``runs`` or ``folds``.
    """

    recipe: str
    cards: Sequence[Card] = field(repr=False)
    f1: Sequence[float]
    six: Sequence[Mapping[str, float | None]] = field(repr=False)
    over: str = "runs"

    @property
    def mean(self) -> float:
        """Mean over runs or folds."""
        return fmean(self.f1)

    @property
    def deviation(self) -> float | None:
        """Standard deviation, where there are two or more."""
        return stdev(self.f1) if len(self.f1) > 1 else None

    @property
    def seconds(self) -> float:
        """Seconds of training, all seeds and folds."""
        return sum(card.seconds for card in self.cards)

    def six_f1(self) -> dict[str, tuple[float | None, float | None]]:
        """Return mean and standard deviation of each of the six scores.

        No mean where a run has none of it.
        """
        found: dict[str, tuple[float | None, float | None]] = {}
        for name in self.six[0] if self.six else ():
            values = [one[name] for one in self.six]
            known = [value for value in values if value is not None]
            whole = len(known) == len(values)
            found[name] = (
                fmean(known) if whole else None,
                stdev(known) if whole and len(known) > 1 else None,
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """Return what a machine reads."""
        six = self.six_f1()
        return {
            "recipe": self.recipe,
            "over": self.over,
            "f1": list(self.f1),
            "mean": self.mean,
            "deviation": self.deviation,
            "seconds": self.seconds,
            "six": {name: mean for name, (mean, _) in six.items()},
            "six_deviation": {name: deviation for name, (_, deviation) in six.items()},
            "each": [dict(one) for one in self.six],
        }


@dataclass(frozen=True, slots=True)
class RecipeDifference:
    """A recipe against the first of a table.

    Args:
        recipe: Its name.
        mean: Its mean F1 less the first's.
        deviation: Of that, both deviations propagated (Vakili 2025).
        u: Mann-Whitney's U over runs or folds.
        p: Two-sided, not corrected.
        p_corrected: Holm's, over all recipes of the table.
        effect: Share of the pairs in which the recipe is better, ties counting one half.
    """

    recipe: str
    mean: float
    deviation: float
    u: float
    p: float
    p_corrected: float
    effect: float

    def to_json(self) -> dict[str, Any]:
        """Return what a machine reads."""
        return asdict(self)


def differences(rows: Sequence[ComparisonRow]) -> list[RecipeDifference]:
    """Return each recipe against the first.

    Those with fewer than two runs or folds have no deviation and are left out.
    """
    spread = [row for row in rows if row.deviation is not None]
    if not spread:
        return []
    first, *others = spread
    tests = {row.recipe: mann_whitney(row.f1, first.f1) for row in others}
    p = correct_p_values({name: test.p for name, test in tests.items()})
    return [
        RecipeDifference(
            row.recipe,
            row.mean - first.mean,
            hypot(row.deviation or 0.0, first.deviation or 0.0),
            tests[row.recipe].u,
            tests[row.recipe].p,
            p[row.recipe],
            tests[row.recipe].effect,
        )
        for row in others
    ]


def runs_json(rows: Sequence[ComparisonRow]) -> dict[str, Any]:
    """Return the document of a table, which ``deid evaluate --runs`` reads.

    Each row with its difference to the first.
    """
    found = {one.recipe: {"difference": one.to_json()} for one in differences(rows)}
    told = [row.to_json() | found.get(row.recipe, {}) for row in rows]
    return {"schema": SCHEMA, "version": VERSION, "rows": told}


def compare_recipes(
    recipes: Sequence[Recipe], materials: Mapping[str, Materials], out: Path, *, progress: Progress
) -> list[ComparisonRow]:
    """Train each recipe on its materials and score it on its test notes.

    Args:
        recipes: With different names.
        materials: Recipe name to materials, with test notes.
        out: Folder; a model folder per recipe is made in it, and one that is up to date is not
            trained again.
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
        rows.append(_row(recipe.name, [card], kept_alone=False))
    return rows


def cross_validate(
    recipe: Recipe,
    materials: Materials,
    out: Path,
    *,
    count: int,
    progress: Progress,
    keep: bool = False,
) -> ComparisonRow:
    """Train a recipe once per fold of its last corpus and score each fold by the model that has not
    seen it.

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
        raise ConfigError(
            "folds take their own test and development notes; leave out --dev and --test"
        )
    *others, divided = materials.corpora
    cards = []
    for number, (train, test) in enumerate(
        folds(divided.documents, count=count, seed=recipe.seed), start=1
    ):
        folder = out / f"{recipe.name}-fold-{number}"
        fold = Materials(
            corpora=[*others, Corpus(divided.name, tuple(train))],
            test=Corpus(divided.name, tuple(test)),
            raw=materials.raw,
        )
        card = train_model(recipe, fold, folder, progress=progress)
        cards.append(card)
        if not keep:
            shutil.rmtree(folder)
    return _row(recipe.name, cards, kept_alone=True)


def _row(recipe: str, cards: Sequence[Card], *, kept_alone: bool) -> ComparisonRow:
    """Return a row of every run of a model, or of the kept run of each fold."""
    runs = [run for card in cards for run in card.runs if run.kept or not kept_alone]
    f1 = [run.test_f1 for run in runs if run.test_f1 is not None]
    six = [run.six for run in runs if run.six is not None]
    return ComparisonRow(
        recipe, cards, f1, six if len(six) == len(f1) else [], "folds" if kept_alone else "runs"
    )
