"""Language models from the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption
from deid_assets.cli.endings import guard_command, say
from deid_assets.cli.tables import print_json
from deid_assets.cli.training.commands import SettingOption, changes_of, epochs


@app.command()
@guard_command
def pretrain(
    recipe: Arg[
        str,
        typer.Argument(metavar="RECIPE", help="A TOML file, or a name that deid recipes lists."),
    ],
    *,
    raw: Arg[
        list[str],
        typer.Option("--raw", metavar="NOTES", help="Notes to train on; several files in turn."),
    ],
    out: Arg[Path, typer.Option(metavar="FOLDER", help="Folder for the language model.")],
    changes: SettingOption = None,
    as_json: JsonOption = False,
) -> int:
    """Train a masked language model on raw notes, from nothing or from a given one.

    A second call with nothing changed does nothing; a killed run is resumed. Detectors, recipes of
    taggers and surrogates take the folder as a model.
    """
    from deid_assets.training.corpora import read_raw  # noqa: PLC0415 - loads pydantic
    from deid_assets.training.pretraining import PROMISE, pretrain_model  # noqa: PLC0415
    from deid_assets.training.recipe import load_recipe  # noqa: PLC0415

    plain = load_recipe(recipe)
    values = dict(changes_of(changes or [], None))
    if "settings" in values:
        values["settings"] = {**plain.settings, **values["settings"]}
    wanted = load_recipe(recipe, changes=values) if values else plain
    notes = [note for source in raw for note in read_raw(source)]
    with epochs() as progress:
        record = pretrain_model(
            wanted, notes, out, report=lambda epoch: progress("pre-training", epoch)
        )
    promise = record.promise
    if as_json:
        known = {"out": str(out), "notes": record.notes, "fingerprint": record.fingerprint}
        print_json({**known, "promise": promise} if promise else known)
        return 0
    say(f"{record.notes} notes; written to {out}")
    if promise:
        say(
            f"epsilon {promise['epsilon']:.3g} at delta {promise['delta']:.2g} for each patient;"
            f" {PROMISE} says what that covers"
        )
    return 0
