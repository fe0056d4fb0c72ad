"""The commands: arguments in, one function called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.extending.commands import JsonOption, LabelsOption


def analyse(  # noqa: PLR0913 - one parameter per option of the command line
    models: Arg[
        list[Path],
        typer.Argument(metavar="MODEL...", help="Folders that deid train wrote; others are compared with the first."),
    ],
    *,
    notes: Arg[str, typer.Option(metavar="NOTES", help="Annotated notes that no model was trained on.")],
    out: Arg[Path, typer.Option(metavar="FOLDER", help="Folder for the page and its JSON.")],
    labels: LabelsOption = None,
    restricted: Arg[
        bool, typer.Option("--restricted", help="Show words and what lies near them; only you may read the files.")
    ] = False,
    words: Arg[
        list[str] | None, typer.Option("--word", metavar="WORD", help="Show the neighbours of this word too.")
    ] = None,
    learnt: Arg[
        list[str] | None, typer.Option("--train", metavar="NOTES", help="Training notes, to count words in.")
    ] = None,
    tokens: Arg[
        int, typer.Option(metavar="N", min=4, max=5_000, help="Words whose vectors are compared, at most.")
    ] = 2_000,
    seed: Arg[int, typer.Option(metavar="N", min=0, help="Seed of the drawn words and of the intervals.")] = 0,
    as_json: JsonOption = False,
) -> int:
    """Show what taggers get wrong, and what their vectors say.

    Scores and errors by label, what a change of recipe costs with its interval, and the words of the notes in space,
    before and after the network.
    """
    from deid_tagger_analysis.writing import Wanted, write_analysis  # noqa: PLC0415 - loads pydantic and Jinja

    wanted = Wanted(
        models=models,
        notes=notes,
        out=out,
        labels=labels,
        learnt=learnt or (),
        words=words or (),
        tokens=tokens,
        seed=seed,
        restricted=restricted,
    )
    return write_analysis(wanted, as_json=as_json)
