"""``deid retrain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption
from deid_assets.cli.endings import guard_command
from deid_assets.cli.training.commands import LabelMapOption, epochs


@app.command("retrain")
@guard_command
def retrain_model(
    model: Arg[
        Path,
        typer.Argument(metavar="MODEL", help="Folder of the model in use, which deid train wrote."),
    ],
    *,
    gold: Arg[
        list[str],
        typer.Option(metavar="NOTES", help="Newly annotated notes, alone or with earlier ones."),
    ],
    train_on: Arg[
        list[str] | None,
        typer.Option(
            "--train",
            metavar="NOTES",
            help="Corpora beside; those that the model was trained on when not given.",
        ),
    ] = None,
    test: Arg[
        str | None,
        typer.Option(
            metavar="NOTES", help="Notes that judge; patients held out of --gold when not given."
        ),
    ] = None,
    held_out: Arg[
        float,
        typer.Option("--held-out", metavar="SHARE", help="Of the patients of --gold, to judge on."),
    ] = 0.5,
    labels: LabelMapOption = None,
    as_json: JsonOption = False,
) -> int:
    """Train a model on new annotated notes, and use it only if it is better.

    It replaces MODEL if the 95 % interval of the difference in strict F1, by paired bootstrap over
    patients that neither model has seen, lies above zero; else the old one stays.
    """
    from deid_assets.cli.training.promotion import (  # noqa: PLC0415 - loads pydantic and Faker
        PromotionOptions,
        run_round,
    )

    wanted = PromotionOptions(
        model=model, gold=gold, others=train_on, test=test, held_out=held_out, labels=labels
    )
    with epochs() as progress:
        return run_round(wanted, progress, as_json=as_json)
