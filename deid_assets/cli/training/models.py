"""``deid models``: models that others published, made detectors by the plugin that runs them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated as Arg
from typing import Any

import typer

from deid_assets import plugins
from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption, group_options
from deid_assets.cli.endings import guard_command, say
from deid_assets.cli.plugged import CommandGroup
from deid_assets.cli.tables import print_json, print_rows
from deid_assets.core.errors import PluginError
from deid_assets.own_plugins import remedy

IMPORTERS = "deid_assets.importers"
models_app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="Published models as detectors."
)
app.add_typer(models_app, name="models")


def _importers() -> list[Any]:
    known = plugins.available(IMPORTERS)
    if not known:
        raise PluginError(f"no plugin adds published models; {remedy('published[add]')}")
    return [plugins.build(name, IMPORTERS, "importer", {}) for name in known]


def _importer(source: str) -> Any:
    """Return what adds a model.

    The plugin that recognises its folder, otherwise that of token classifiers.
    """
    found = _importers()
    plain = next((one for one in found if one.name == "published"), found[0])
    return next((one for one in found if one is not plain and one.recognises(Path(source))), plain)


@dataclass(frozen=True, slots=True)
class DecodingOptions:
    """Options on how words are made of what the model says of sub-tokens."""

    aggregation: Arg[
        str,
        typer.Option(
            metavar="HOW", help="simple, first, max, average or viterbi; the map's if not given."
        ),
    ] = ""
    words: Arg[
        str,
        typer.Option(
            metavar="HOW", help="text, or pipeline for the words of Hugging Face's pipeline."
        ),
    ] = ""
    window: Arg[
        int,
        typer.Option(
            metavar="N", min=0, help="Sub-tokens or words in a window; 0 for the model's own."
        ),
    ] = 0


@dataclass(frozen=True, slots=True)
class Fetching:
    """Options on where the weights are from."""

    fetch: Arg[bool, typer.Option("--fetch", help="Fetch the model from the hub.")] = False
    revision: Arg[str, typer.Option(metavar="COMMIT", help="Commit to fetch, 40 digits.")] = ""
    trust: Arg[bool, typer.Option("--trust", help="Read weights that are pickles.")] = False


@models_app.command("add")
@guard_command
@group_options
def add_model(
    source: Arg[
        str,
        typer.Argument(
            metavar="PATH_OR_HUB_NAME", help="Folder of the model, or its name with --fetch."
        ),
    ],
    *,
    name: Arg[str, typer.Option("--as", metavar="NAME", help="What it is called.")],
    labels: Arg[
        str,
        typer.Option(
            metavar="MAP", help="Label map: a file, or a name that deid models maps lists."
        ),
    ] = "",
    out: Arg[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder to write; models/NAME when not given."),
    ] = None,
    notes: Arg[
        str,
        typer.Option(
            metavar="NOTES", help="Notes on which export and network must find the same spans."
        ),
    ] = "synthetic:en:20",
    decoding: DecodingOptions,
    fetching: Fetching,
    as_json: JsonOption = False,
) -> int:
    """Make a published model a detector.

    A token classifier of Hugging Face, or what another plugin recognises.

    Every label must be decided by a label map; where there is none, one is proposed in a file and
    nothing is added.
    """
    from deid_assets.training.corpora import read_raw  # noqa: PLC0415 - loads pydantic

    target = out or Path("models") / name
    options = {"source": source, "name": name, "out": target, "labels": labels}
    options |= {**asdict(decoding), **asdict(fetching)}
    importer = _importer(source)
    card = importer.add(options, read_raw(notes))
    if as_json:
        print_json(card)
        return 0
    say(importer.said(card))
    say(f"written to {target}; use it with --detector {importer.name}={target}")
    return 0


@models_app.command("maps")
@guard_command
def list_maps(*, as_json: JsonOption = False) -> int:
    """List the label maps of published models."""
    columns = ("name", "languages", "licence", "size", "models", "sure")
    rows = [
        {"name": name, "models": ", ".join(choice.models) or "-", **choice.facts}
        for importer in _importers()
        for name, choice in importer.maps().items()
    ]
    return print_rows(rows, columns=columns, as_json=as_json)
