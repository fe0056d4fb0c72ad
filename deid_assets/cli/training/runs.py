"""Inputs and outputs of ``deid train``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from deid_assets.cli.endings import say
from deid_assets.cli.tables import print_json, print_table
from deid_assets.core.errors import ConfigError
from deid_assets.system.atomic import atomic_file
from deid_assets.training import (
    CARD,
    Card,
    Corpus,
    Materials,
    Recipe,
    load_recipe,
    read_corpus,
    train_model,
)
from deid_assets.training.comparison import (
    ComparisonRow,
    compare_recipes,
    cross_validate,
    differences,
    runs_json,
)
from deid_assets.training.corpora import read_raw
from deid_assets.training.recipe import Strategy
from deid_assets.training.run import Progress

RUNS = "runs.json"
"""Recipes compared, beside their models."""
_SIX = ("S_E", "C_E", "B_E", "S_T", "C_T", "B_T")


@dataclass(frozen=True, slots=True)
class Requested:
    """Recipes and what each is trained on.

    Args:
        recipes: At least one.
        materials: Recipe name to materials.
    """

    recipes: Sequence[Recipe]
    materials: Mapping[str, Materials]

    @classmethod
    def read(
        cls,
        names: Sequence[str],
        changes: Mapping[str, Any],
        *,
        train: Sequence[str] | None,
        dev: str | None,
        test: str | None,
        raw: Sequence[str] | None,
    ) -> Self:
        """Read recipes and corpora; a corpus that several recipes use is read once.

        Raises:
            ConfigError: A recipe is wrong.
            InputError: A corpus is.
        """
        known: dict[tuple[str, str], Corpus] = {}

        def corpus(source: str, recipe: Recipe) -> Corpus:
            key = (source, recipe.label_map)
            if key not in known:
                known[key] = read_corpus(source, labels=recipe.label_map)
            return known[key]

        recipes = [_recipe(name, changes, train) for name in names]
        materials = {}
        for recipe in recipes:
            materials[recipe.name] = Materials(
                corpora=[corpus(source, recipe) for source in recipe.corpora],
                dev=corpus(dev, recipe) if dev else None,
                test=corpus(test, recipe) if test else None,
                raw=[note for source in raw or recipe.raw for note in read_raw(source)],
            )
        return cls(recipes, materials)


def _recipe(name: str, changes: Mapping[str, Any], train: Sequence[str] | None) -> Recipe:
    """Return a recipe with the changes.

    ``settings`` are merged, and ``single`` becomes ``mix`` for several corpora.
    """
    recipe = load_recipe(name)
    values = dict(changes)
    if "settings" in values:
        values["settings"] = {**recipe.settings, **values["settings"]}
    if train:
        values["corpora"] = list(train)
        one = len(train) == 1
        if "strategy" not in values and (one or recipe.strategy is Strategy.SINGLE):
            values["strategy"] = "single" if one else "mix"
    return load_recipe(name, changes=values) if values else recipe


def train_one(wanted: Requested, out: Path, progress: Progress, *, as_json: bool) -> int:
    """Train one recipe and say how it does."""
    (recipe,) = wanted.recipes
    if recipe.differs and not as_json:
        say(f"{recipe.name} differs from the published system in: {recipe.differs}")
    before = (out / CARD).stat().st_mtime_ns if (out / CARD).exists() else None
    card = train_model(recipe, wanted.materials[recipe.name], out, progress=progress)
    if as_json:
        print_json(card.model_dump(mode="json", exclude={"seen"}))
        return 0
    if before == (out / CARD).stat().st_mtime_ns:
        say(f"{out} is up to date")
    _show_card(card)
    say(f"written to {out}; use it with --detector {recipe.plugin}={out}")
    return 0


def _show_card(card: Card) -> None:
    judged = {"dev": card.dev} | ({"test": card.test} if card.test else {})
    rows = []
    for role, scores in judged.items():
        for label, row in scores["labels"].items():
            annotated = f"{row['tp'] + row['fn']:,}"
            ratios = [_ratio(row[name]) for name in ("precision", "recall", "f1")]
            rows.append((role, label, annotated, *ratios))
    print_table(("notes", "label", "annotated", "P", "R", "F1"), rows, numbers_from=2)
    low, high = (card.test or card.dev)["labels"]["ALL"]["f1_interval"]
    grouping = f"sentences in groups of {card.grouping}"
    if isinstance(card.grouping, str):
        grouping = f"in chunks of {card.grouping}"
    say(
        f"strict F1 {low:.4f} to {high:.4f} (95 %, by note); {card.seconds:.0f} s,"
        f" {card.size_bytes / 1e6:.1f} MB, {grouping}"
    )


def compare_wanted(wanted: Requested, out: Path, progress: Progress, *, as_json: bool) -> int:
    """Train several recipes and print them in one table."""
    return _show_rows(
        compare_recipes(wanted.recipes, wanted.materials, out, progress=progress),
        out,
        as_json=as_json,
    )


def cross_validated(
    wanted: Requested, out: Path, folds: int, progress: Progress, *, as_json: bool
) -> int:
    """Train recipes over folds and print the mean and deviation."""
    if folds < 2:
        raise ConfigError(f"--folds {folds}: give 2 or more")
    rows = [
        cross_validate(recipe, wanted.materials[recipe.name], out, count=folds, progress=progress)
        for recipe in wanted.recipes
    ]
    return _show_rows(rows, out, as_json=as_json)


def _show_rows(rows: Sequence[ComparisonRow], out: Path, *, as_json: bool) -> int:
    told = runs_json(rows)
    with atomic_file(out / RUNS) as file:
        file.write(json.dumps(told).encode())
    if as_json:
        print_json(told["rows"])
        return 0
    _show_means(rows)
    over = rows[0].over
    if over == "folds":
        _show_folds(rows)
    _show_differences(rows)
    say(
        f"means ± standard deviation over the same {over}. F1: strict, on test notes, under the tag"
        " labels. S, C, B: the six scores of i2b2 2014 by sub-category, category and PHI or not,"
        " of entities (E) and tokens (T). s: seconds of training. U: Mann and Whitney's,"
        f" two-sided; better: share of the pairs. {out / RUNS} holds it all for deid evaluate"
        " --runs"
    )
    return 0


def _show_means(rows: Sequence[ComparisonRow]) -> None:
    shown = []
    for row in sorted(rows, key=lambda row: -row.mean):
        f1 = _spread(row.mean, row.deviation)
        shown.append((row.recipe, str(len(row.f1)), f1, *_six(row), f"{row.seconds:.0f}"))
    print_table(("recipe", rows[0].over, "F1", *_SIX, "s"), shown, numbers_from=1)


def _show_folds(rows: Sequence[ComparisonRow]) -> None:
    shown = []
    for row in rows:
        for fold, f1 in enumerate(row.f1, start=1):
            six = map(_ratio, row.six[fold - 1].values()) if row.six else ["-"] * len(_SIX)
            shown.append((row.recipe, str(fold), _ratio(f1), *six))
    print_table(("recipe", "fold", "F1", *_SIX), shown, numbers_from=1)


def _show_differences(rows: Sequence[ComparisonRow]) -> None:
    """Print what each recipe differs by from the first; nothing where there is one recipe."""
    shown = [
        (
            one.recipe,
            f"{one.mean:+.4f} ±{one.deviation:.4f}",
            f"{one.u:g}",
            f"{one.p:.4f}",
            f"{one.p_corrected:.4f}",
            f"{one.effect:.2f}",
        )
        for one in differences(rows)
    ]
    if not shown:
        return
    headings = (f"against {rows[0].recipe}", "F1", "U", "p", "p (Holm)", "better")
    print_table(headings, shown, numbers_from=1)


def _six(row: ComparisonRow) -> list[str]:
    return [_spread(*found) for found in row.six_f1().values()] or ["-"] * len(_SIX)


def _spread(mean: float | None, deviation: float | None) -> str:
    return _ratio(mean) + (f" ±{deviation:.4f}" if deviation is not None else "")


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
