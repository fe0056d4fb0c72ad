"""Inputs and outputs of ``deid train --curve``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_assets.cli.app import say
from deid_assets.cli.tables import print_json, print_table
from deid_assets.core.errors import ConfigError, did_you_mean
from deid_assets.training import load_recipe, read_corpus
from deid_assets.training.choosing import Choice
from deid_assets.training.curve import Point, Wanted, learning_curve
from deid_assets.training.run import Progress


def draw_curve(  # noqa: PLR0913 - one parameter per option of the command line
    names: Sequence[str],
    changes: Mapping[str, Any],
    progress: Progress,
    *,
    train: Sequence[str],
    test: str | None,
    sizes: str,
    choice: str,
    out: Path,
    as_json: bool,
) -> int:
    """Train on ever more of one's own notes and print what they add.

    Raises:
        ConfigError: There is more than one recipe or corpus, or a size is no number.
        InputError: A corpus cannot be read, or is too small.
    """
    if len(names) != 1 or len(train) != 1:
        raise ConfigError("--curve takes one recipe and one --train: the annotated notes of your own")
    if not all(size.strip().isdecimal() for size in sizes.split(",")):
        raise ConfigError(f"--sizes {sizes!r} must read as 5,10,20,50")
    changed = dict(changes)
    recipe = load_recipe(names[0])
    if "settings" in changed:
        changed["settings"] = {**recipe.settings, **changed["settings"]}
    recipe = load_recipe(names[0], changes=changed) if changed else recipe
    wanted = Wanted(
        recipe=recipe,
        own=read_corpus(train[0], labels=recipe.label_map),
        test=read_corpus(test, labels=recipe.label_map) if test else None,
        beside=[read_corpus(source, labels=recipe.label_map) for source in recipe.corpora],
        sizes=[int(size) for size in sizes.split(",")],
        choice=_choice(choice),
    )
    points, scored = learning_curve(wanted, out, progress=progress)
    if as_json:
        print_json({"detector": wanted.detector, "scored_notes": scored, "points": [one.to_json() for one in points]})
        return 0
    _show(points, scored, wanted)
    return 0


def _choice(name: str) -> Choice:
    known = [choice.value for choice in Choice]
    if name not in known:
        raise ConfigError(f"--choose {name!r}{did_you_mean(name, known)}; choose one of {', '.join(known)}")
    return Choice(name)


def _show(points: Sequence[Point], scored: int, wanted: Wanted) -> None:
    rows = [
        (
            str(one.notes) if one.notes else wanted.detector,
            _ratio(one.recall),
            _gap(one.gain),
            _ratio(one.precision),
            _gap(one.loss),
            f"{one.covered:,}/{scored:,}",
            _score(one, points[0]),
            f"{one.seconds:.0f}",
        )
        for one in points
    ]
    print_table(
        ("own notes", "recall", "gain", "precision", "change", "notes covered", "min_score", "s"), rows, numbers_from=1
    )
    left_out = [size for size in wanted.sizes if size > points[-1].notes]
    say(
        f"characters of identifiers, {wanted.detector} and tagger together, on {scored:,} notes that none was trained on; "
        "gain and change are against it alone, with 95 % of a paired bootstrap over patients"
        + (f"; left out, for want of notes: {', '.join(map(str, left_out))}" if left_out else "")
    )


def _score(one: Point, alone: Point) -> str:
    if one is alone:
        return ""
    return "none is good enough" if one.min_score is None else f"{one.min_score:g}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _gap(gap: tuple[float, float, float, float] | None) -> str:
    return "" if gap is None else f"{gap[0]:+.4f} ({gap[1]:+.4f} to {gap[2]:+.4f})"
