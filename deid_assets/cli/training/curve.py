"""Inputs and outputs of ``deid train --curve``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from deid_assets.cli.endings import say
from deid_assets.cli.restricted import write_files
from deid_assets.cli.tables import print_json, print_table
from deid_assets.core.errors import ConfigError, did_you_mean
from deid_assets.reports.page import render
from deid_assets.training import Recipe, load_recipe, read_corpus
from deid_assets.training.choosing import QueryStrategy
from deid_assets.training.curve import CurveRequest, LearningCurve, Point, learning_curve, notes_for
from deid_assets.training.run import Progress

PAGE, DOCUMENT = "curve.html", "curve.json"
_COLUMNS = ("own notes", "recall", "gain", "precision", "change", "notes covered", "min_score", "s")


@dataclass(frozen=True, slots=True)
class CurveArguments:
    """A learning curve as the command line asks for it.

    Args:
        recipe: Its name or file, as it was named.
        source: Annotated notes of one's own, as they were named.
        wanted: What is trained and scored.
    """

    recipe: str
    source: str
    wanted: CurveRequest

    @classmethod
    def read(
        cls,
        names: Sequence[str],
        changes: Mapping[str, Any],
        *,
        train: Sequence[str],
        test: str | None,
        sizes: str,
        choice: str,
    ) -> Self:
        """Read the recipe and the corpora.

        Raises:
            ConfigError: There is more than one recipe or corpus, or a size is no number.
            InputError: A corpus cannot be read.
        """
        if len(names) != 1 or len(train) != 1:
            raise ConfigError(
                "--curve takes one recipe and one --train: the annotated notes of your own"
            )
        if not all(size.strip().isdecimal() for size in sizes.split(",")):
            raise ConfigError(f"--sizes {sizes!r} must read as 5,10,20,50")
        recipe = _recipe(names[0], changes)
        wanted = CurveRequest(
            recipe=recipe,
            own=read_corpus(train[0], labels=recipe.label_map),
            test=read_corpus(test, labels=recipe.label_map) if test else None,
            beside=[read_corpus(source, labels=recipe.label_map) for source in recipe.corpora],
            sizes=[int(size) for size in sizes.split(",")],
            choice=_choice(choice),
        )
        return cls(names[0], train[0], wanted)


def draw_curve(requested: CurveArguments, progress: Progress, *, out: Path, as_json: bool) -> int:
    """Train on ever more of one's own notes and print what they add.

    Raises:
        InputError: A corpus is too small.
    """
    wanted = requested.wanted
    curve = learning_curve(wanted, out, progress=progress)
    advice = _advice(curve, requested)
    document = {
        "detector": wanted.detector,
        "scored_notes": curve.scored,
        "rounds": curve.rounds,
        "points": [one.to_json() for one in curve.points],
        "joined_annotations": wanted.own.joined,
        "advice": advice,
    }
    page = render(
        "curve.html.j2",
        columns=_COLUMNS,
        rows=_rows(curve, wanted),
        how=_how(curve, wanted),
        advice=advice,
        own=len(wanted.own.documents),
    )
    write_files(
        out,
        {DOCUMENT: json.dumps(document, ensure_ascii=False) + "\n", PAGE: page},
        restricted=False,
    )
    if as_json:
        print_json(document)
        return 0
    print_table(_COLUMNS, _rows(curve, wanted), numbers_from=1)
    for line in (_how(curve, wanted), *advice, f"written to {out / PAGE}"):
        say(line)
    return 0


def _recipe(name: str, changes: Mapping[str, Any]) -> Recipe:
    """Return a recipe with the changes; ``settings`` are merged."""
    recipe = load_recipe(name)
    if not changes:
        return recipe
    changed = dict(changes)
    if "settings" in changed:
        changed["settings"] = {**recipe.settings, **changed["settings"]}
    return load_recipe(name, changes=changed)


def _choice(name: str) -> QueryStrategy:
    known = [choice.value for choice in QueryStrategy]
    if name not in known:
        raise ConfigError(
            f"--choose {name!r}{did_you_mean(name, known)}; choose one of {', '.join(known)}"
        )
    return QueryStrategy(name)


def _rows(curve: LearningCurve, wanted: CurveRequest) -> list[tuple[str, ...]]:
    alone = curve.points[0]
    rows: list[tuple[str, ...]] = []
    for one in curve.points:
        row = (
            str(one.notes) if one.notes else wanted.detector,
            _ratio(one.recall),
            _gap(one.gain),
            _ratio(one.precision),
            _gap(one.loss),
            f"{one.covered:,}/{curve.scored:,}",
            _score(one, alone),
            f"{one.seconds:.0f}",
        )
        rows.append(row)
    return rows


def _how(curve: LearningCurve, wanted: CurveRequest) -> str:
    held = f", each held out once in {curve.rounds} rounds" if curve.rounds > 1 else ""
    return (
        f"characters of identifiers, {wanted.detector} and tagger together, on {curve.scored:,}"
        f" notes{held}; none was trained on when it was scored; gain and change are against"
        f" {wanted.detector} alone, with 95 % of a paired bootstrap over patients"
    )


def _advice(curve: LearningCurve, requested: CurveArguments) -> list[str]:
    """Return what was done to the annotations, what the curve says, and what to do next."""
    wanted = requested.wanted
    said = []
    if joined := wanted.own.joined:
        said.append(
            "annotations that overlapped others and became one with them, in the category of the"
            f" longest: {joined:,}"
        )
    alone, last = curve.points[0], curve.points[-1]
    train = f"deid train {requested.recipe} --train {requested.source}"
    if last.gain is not None and last.gain[1] > 0 and last.min_score is not None:
        missed = 1 - (alone.recall or 0.0)
        said.append(
            f"{last.notes} notes find {last.gain[0] / missed:.0%} of what {wanted.detector} misses"
        )
        said.append(
            f"next: {train} --set settings.min_score={last.min_score:g} --out model, and detect"
            " with it too"
        )
    else:
        said.append(
            f"what {last.notes} notes add is within chance on {curve.scored:,} notes: annotate more"
        )
        said.append(
            f"next: {train} --out model; deid next model --notes NOTES --out next says which"
        )
    if left_out := [size for size in wanted.sizes if size > last.notes]:
        wants = ", ".join(
            f"{size} takes {notes_for(size)}" if wanted.test is None else str(size)
            for size in left_out
        )
        said.append(f"left out, for want of annotated notes of different patients: {wants}")
    return said


def _score(one: Point, alone: Point) -> str:
    if one is alone:
        return ""
    return "none is good enough" if one.min_score is None else f"{one.min_score:g}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _gap(gap: tuple[float, float, float, float] | None) -> str:
    return "" if gap is None else f"{gap[0]:+.4f} ({gap[1]:+.4f} to {gap[2]:+.4f})"
