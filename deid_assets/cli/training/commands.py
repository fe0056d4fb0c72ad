"""Recipes, training, cross-validation, ONNX exports and analyses from the shell."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as Arg

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from deid_assets import plugins
from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption, group_options
from deid_assets.cli.endings import guard_command, say
from deid_assets.cli.tables import print_json, print_rows, print_table
from deid_assets.core.errors import ConfigError
from deid_assets.core.trainer import Epoch
from deid_assets.own_plugins import command

if TYPE_CHECKING:
    from deid_assets.training.export import Parity

_Paths = list[str] | None
TrainOption = Arg[
    _Paths,
    typer.Option(
        "--train",
        metavar="NOTES",
        help="Training set: annotated notes, or synthetic:LANG:NOTES; several in order.",
    ),
]
DevOption = Arg[
    str | None,
    typer.Option(
        metavar="NOTES",
        help="Development set, which chooses the model; a share of the last corpus if not given.",
    ),
]
TestOption = Arg[
    str | None, typer.Option(metavar="NOTES", help="Test set: scored, never used to choose.")
]
RawOption = Arg[
    _Paths, typer.Option("--raw", metavar="NOTES", help="Unannotated notes for language models.")
]
LabelMapOption = Arg[
    str | None,
    typer.Option("--labels", metavar="NAME", help="Label map of the notes, as deid labels lists."),
]
SettingOption = Arg[
    _Paths,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="In place of the recipe's value, as in TOML; settings.KEY too.",
    ),
]


@app.command("recipes")
@guard_command
def list_recipes(*, as_json: JsonOption = False) -> int:
    """List the recipes that come with the package, then those of plugins."""
    from deid_assets.training import load_recipe, recipe_names  # noqa: PLC0415 - loads pydantic

    trainers = plugins.available(plugins.TRAINERS)
    rows = []
    for recipe in map(load_recipe, recipe_names()):
        row = {
            "name": recipe.name,
            "plugin": recipe.plugin,
            "installed": "yes" if recipe.plugin in trainers else "no",
            "description": recipe.description,
            "differs": recipe.differs,
        }
        rows.append(row)
    if not plugins.available(plugins.RECIPES):
        say(f"recipes of published studies are in the laboratory: {command('catelli')}")
    return print_rows(rows, columns=("name", "plugin", "installed", "description"), as_json=as_json)


@dataclass(frozen=True, slots=True)
class Corpora:
    """Options on the notes that are learnt from and scored."""

    train_on: TrainOption = None
    dev: DevOption = None
    test: TestOption = None
    raw: RawOption = None
    labels: LabelMapOption = None


@dataclass(frozen=True, slots=True)
class CurveOptions:
    """Options on a learning curve."""

    curve: Arg[
        bool,
        typer.Option(
            "--curve",
            help="Learning curve instead: what 5, 10, 20, 50 notes of --train add to rules.",
        ),
    ] = False
    sizes: Arg[str, typer.Option(metavar="N,N", help="Notes of the learning curve.")] = "5,10,20,50"
    choose: Arg[
        str,
        typer.Option(
            metavar="HOW",
            help="How the curve draws notes after the first: random, disagreement, uncertainty.",
        ),
    ] = "random"


@app.command()
@guard_command
@group_options
def train(
    recipe: Arg[
        list[str],
        typer.Argument(metavar="RECIPE...", help="Names that deid recipes lists, or TOML files."),
    ],
    *,
    out: Arg[
        Path,
        typer.Option(
            metavar="FOLDER", help="Model folder; with several recipes or folds one in it each."
        ),
    ],
    corpora: Corpora,
    changes: SettingOption = None,
    folds: Arg[
        int, typer.Option(metavar="N", min=0, help="Cross-validate over the last corpus instead.")
    ] = 0,
    curve: CurveOptions,
    as_json: JsonOption = False,
) -> int:
    """Train taggers as recipes say.

    A second call with nothing changed does nothing; a killed run is resumed where its plugin can.
    With several recipes, all are scored on --test and compared in a table.
    """
    from deid_assets.cli.training.runs import (  # noqa: PLC0415 - heavy
        Requested,
        compare_wanted,
        cross_validated,
        train_one,
    )

    changed = changes_of(changes or [], corpora.labels)
    if curve.curve:
        return _draw_curve(recipe, changed, corpora, curve, out, as_json=as_json)
    wanted = Requested.read(
        recipe,
        changed,
        train=corpora.train_on,
        dev=corpora.dev,
        test=corpora.test,
        raw=corpora.raw,
    )
    with epochs() as progress:
        if folds:
            return cross_validated(wanted, out, folds, progress, as_json=as_json)
        if len(wanted.recipes) > 1:
            return compare_wanted(wanted, out, progress, as_json=as_json)
        return train_one(wanted, out, progress, as_json=as_json)


def _draw_curve(
    names: Sequence[str],
    changes: Mapping[str, Any],
    corpora: Corpora,
    curve: CurveOptions,
    out: Path,
    *,
    as_json: bool,
) -> int:
    from deid_assets.cli.training.curve import CurveArguments, draw_curve  # noqa: PLC0415 - heavy

    with epochs() as progress:
        requested = CurveArguments.read(
            names,
            changes,
            train=corpora.train_on or [],
            test=corpora.test,
            sizes=curve.sizes,
            choice=curve.choose,
        )
        return draw_curve(requested, progress, out=out, as_json=as_json)


@app.command()
@guard_command
def export(
    model: Arg[Path, typer.Argument(metavar="MODEL", help="Folder that deid train wrote.")],
    *,
    notes: Arg[
        str,
        typer.Option(
            metavar="NOTES", help="Annotated notes on which export and network are compared."
        ),
    ],
    out: Arg[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder to write; MODEL-onnx when not given."),
    ] = None,
    labels: LabelMapOption = None,
    as_json: JsonOption = False,
) -> int:
    """Export a network to ONNX.

    The fp32 graph is kept only if it finds the same spans on every note; what fp16 and int8 lose is
    measured.
    """
    from deid_assets.training import read_card, read_corpus  # noqa: PLC0415 - loads pydantic
    from deid_assets.training.export import export_model, file_of  # noqa: PLC0415

    card = read_card(model)
    target = out or model.with_name(model.name + "-onnx")
    runner = plugins.available(plugins.TRAINERS)[str(card.recipe["plugin"])].runner
    corpus = read_corpus(notes, labels=labels or str(card.recipe["label_map"]))
    _, parities = export_model(model, target, corpus.documents)
    sizes = {one.precision: (target / file_of(one.precision)).stat().st_size for one in parities}
    if as_json:
        rows = [_parity_json(one, sizes[one.precision]) for one in parities]
        print_json({"out": str(target), "precisions": rows})
        return 0
    shown = [_parity_row(one, sizes[one.precision]) for one in parities]
    print_table(("precision", "usable", "MB", "other spans", "F1", "change"), shown, numbers_from=2)
    say(f"written to {target}; use it with --detector {runner}={target}")
    return 0


def _parity_json(parity: Parity, size: int) -> dict[str, Any]:
    return {
        "precision": parity.precision,
        "size_bytes": size,
        "differing_spans": parity.differing_spans,
        "spans": parity.spans,
        "f1": round(parity.exported_f1, 4),
        "f1_change": round(parity.change, 4),
        "usable": parity.holds,
    }


def _parity_row(parity: Parity, size: int) -> tuple[str, ...]:
    return (
        parity.precision,
        "yes" if parity.holds else "no",
        f"{size / 1e6:.1f}",
        f"{parity.differing_spans} of {parity.spans}",
        f"{parity.exported_f1:.4f}",
        f"{parity.change:+.4f}",
    )


@app.command("next")
@guard_command
def next_notes(
    model: Arg[
        Path,
        typer.Argument(
            metavar="MODEL", help="Folder that deid train wrote, of the notes annotated so far."
        ),
    ],
    *,
    notes: Arg[str, typer.Option(metavar="NOTES", help="Notes to choose from, not annotated.")],
    out: Arg[Path, typer.Option(metavar="FOLDER", help="Folder for the page and its JSON.")],
    by: Arg[
        str, typer.Option(metavar="HOW", help="disagreement (with rules), or uncertainty.")
    ] = "disagreement",
    most: Arg[int, typer.Option(metavar="N", min=1, help="Notes on the page.")] = 50,
    restricted: Arg[
        bool,
        typer.Option(
            "--restricted", help="Show the words in question; only you may read the files."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Say which notes to annotate next.

    Those on which a tagger and rules disagree, or of which it is unsure.
    """
    from deid_assets.cli.training.choosing import (  # noqa: PLC0415 - loads pydantic and Jinja
        ChoosingOptions,
        choose_notes,
    )

    wanted = ChoosingOptions(
        model=model, notes=notes, out=out, choice=by, most=most, restricted=restricted
    )
    return choose_notes(wanted, as_json=as_json)


@contextmanager
def epochs() -> Iterator[Any]:
    """Show the last epoch on a terminal; call the value with the run and the epoch."""
    console = Console(file=sys.stderr)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("training", total=None)

        def show(run: str, epoch: Epoch) -> None:
            f1 = "" if epoch.dev_f1 is None else f", dev F1 {epoch.dev_f1:.4f}"
            place = f"{run}, phase {epoch.phase + 1}, epoch {epoch.epoch}"
            bar.update(task, description=f"training: {place}: loss {epoch.loss:.4f}{f1}")

        yield show


def changes_of(settings: Sequence[str], labels: str | None) -> Mapping[str, Any]:
    """Return recipe values from ``KEY=VALUE``.

    Raises:
        ConfigError: There is no equals sign.
    """
    found: dict[str, Any] = {"label_map": labels} if labels else {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set {setting!r} must read KEY=VALUE, the value as in TOML")
        try:
            parsed = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            parsed = value
        if key.startswith("settings."):
            found.setdefault("settings", {})[key.removeprefix("settings.")] = parsed
        else:
            found[key] = parsed
    return found
