"""The commands: arguments in, one function called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated as Arg

import typer

from deid_assets.extending.commands import JsonOption, LabelsOption, group_options

if TYPE_CHECKING:
    from deid_assets.extending.taggers import Requested


@dataclass(frozen=True, slots=True)
class Words:
    """Options on the words whose vectors are compared."""

    words: Arg[
        list[str] | None,
        typer.Option("--word", metavar="WORD", help="Show the neighbours of this word too."),
    ] = None
    learnt: Arg[
        list[str] | None,
        typer.Option("--train", metavar="NOTES", help="Training notes, to count words in."),
    ] = None
    tokens: Arg[
        int,
        typer.Option(
            metavar="N", min=4, max=5_000, help="Words whose vectors are compared, at most."
        ),
    ] = 2_000
    seed: Arg[
        int, typer.Option(metavar="N", min=0, help="Seed of the drawn words and of the intervals.")
    ] = 0


@group_options
def analyse(
    models: Arg[
        list[Path],
        typer.Argument(
            metavar="MODEL...",
            help="Folders that deid train wrote; others are compared with the first.",
        ),
    ],
    *,
    notes: Arg[
        str, typer.Option(metavar="NOTES", help="Annotated notes that no model was trained on.")
    ],
    out: Arg[Path, typer.Option(metavar="FOLDER", help="Folder for the page and its JSON.")],
    labels: LabelsOption = None,
    restricted: Arg[
        bool,
        typer.Option(
            "--restricted", help="Show words and what lies near them; only you may read the files."
        ),
    ] = False,
    compared: Words,
    as_json: JsonOption = False,
) -> int:
    """Show what taggers get wrong, and what their vectors say.

    Scores and errors by label, what a change of recipe costs with its interval, and the words of
    the notes in space, before and after the network.
    """
    from deid_tagger_analysis.writing import (  # noqa: PLC0415 - loads pydantic and Jinja
        AnalysisRequest,
        write_analysis,
    )

    wanted = AnalysisRequest(
        models=models,
        notes=notes,
        out=out,
        labels=labels,
        learnt=compared.learnt or (),
        words=compared.words or (),
        tokens=compared.tokens,
        seed=compared.seed,
        restricted=restricted,
    )
    return write_analysis(wanted, as_json=as_json)


@dataclass(frozen=True, slots=True)
class Training:
    """Options on what the recipe is trained on, and with which values."""

    train_on: Arg[
        list[str] | None,
        typer.Option("--train", metavar="NOTES", help="Training set; several in order."),
    ] = None
    dev: Arg[str | None, typer.Option(metavar="NOTES", help="Development set.")] = None
    raw: Arg[
        list[str] | None,
        typer.Option("--raw", metavar="NOTES", help="Unannotated notes for language models."),
    ] = None
    labels: LabelsOption = None
    changes: Arg[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="In place of the recipe's value."),
    ] = None

    def read(self, recipe: str, *, test: str) -> Requested:
        """Return the recipe with these values, and the notes."""
        from deid_assets.extending.taggers import (  # noqa: PLC0415 - loads pydantic and Faker
            Requested,
            changes_of,
        )

        return Requested.read(
            [recipe],
            changes_of(self.changes or [], self.labels),
            train=self.train_on,
            dev=self.dev,
            test=test,
            raw=self.raw,
        )


@group_options
def sweep(
    recipe: Arg[
        str,
        typer.Argument(metavar="RECIPE", help="A name that deid recipes lists, or a TOML file."),
    ],
    *,
    out: Arg[Path, typer.Option(metavar="FOLDER", help="Folder for the models and the page.")],
    test: Arg[
        str, typer.Option(metavar="NOTES", help="Annotated notes that all models are scored on.")
    ],
    training: Training,
    factors: Arg[
        str, typer.Option(metavar="N,N", help="Sentences grouped, the one to compare with first.")
    ] = "1,2,4,8,16,32",
    limit: Arg[
        int,
        typer.Option(metavar="N", min=0, help="Tokens that an encoder takes; 0 for the recipe's."),
    ] = 0,
    restricted: Arg[
        bool,
        typer.Option(
            "--restricted", help="Show the words that are found; only you may read the files."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Train one model for each number of sentences grouped, and show what the larger ones find.

    Six scores with a plot, the lengths of inputs, the grouping that auto takes, and the spans that
    the first factor misses and another finds.
    """
    from deid_tagger_analysis.sweeping import SweepRequest, run_sweep  # noqa: PLC0415 - loads pydantic

    read = training.read(recipe, test=test)
    (chosen,) = read.recipes
    wanted = SweepRequest(
        recipe=chosen,
        materials=read.materials[chosen.name],
        factors=factors,
        limit=limit,
        out=out,
        restricted=restricted,
    )
    return run_sweep(wanted, as_json=as_json)
