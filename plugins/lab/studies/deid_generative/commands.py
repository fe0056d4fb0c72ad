"""``deid generative``.

Compare trained models, explain a span, write an adapter and its base as one model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.extending import Document, InputError, load
from deid_assets.extending.commands import CommandGroup, guard_command
from deid_assets.extending.corpora import read_corpus
from deid_generative.compare import RATES, ModelRow, at_best, at_epoch
from deid_generative.explain import cues
from deid_generative.folder import read_folder

generative_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Trained models that rewrite notes.",
)

ModelArg = Arg[Path, typer.Argument(metavar="MODEL", help="Folder that deid train wrote.")]


@generative_app.command("compare")
@guard_command
def compare(
    models: Arg[
        list[Path], typer.Argument(metavar="MODEL...", help="Folders that deid train wrote.")
    ],
    *,
    epoch: Arg[
        int, typer.Option(metavar="N", min=1, help="Of the first table; 7 in the study.")
    ] = 7,
) -> int:
    """Set models side by side, at one epoch and each at its best."""
    known = {path.name: read_folder(path) for path in models}
    for title, rows in (
        (f"At epoch {epoch}", at_epoch(known, epoch)),
        ("Each at its best", at_best(known)),
    ):
        _show(title, rows)
    return 0


def _show(title: str, rows: Sequence[ModelRow]) -> None:
    typer.echo(f"{title}\n\n| Model | Epoch | Plateau from | {' | '.join(RATES)} |")
    typer.echo("| :-- |" + " --: |" * (2 + len(RATES)))
    for row in rows:
        values = [f"{value:.4f}" if value is not None else "-" for value in row.rates.values()]
        typer.echo(" | ".join([f"| {row.name}", f"{row.epoch}", f"{row.plateau}", *values]) + " |")
    typer.echo("")


@generative_app.command("explain")
@guard_command
def explain(
    model: Arg[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Folder that deid train wrote, or the name of an installed detector.",
        ),
    ],
    notes: Arg[str, typer.Argument(metavar="NOTES", help="Annotated notes.")],
    *,
    note: Arg[str, typer.Option(metavar="ID", help="The note to explain.")],
    words: Arg[int, typer.Option(metavar="N", min=1, help="Words shown of each span.")] = 5,
    restricted: Arg[
        bool, typer.Option("--restricted", help="Show the words; without, places alone.")
    ] = False,
) -> int:
    """Show the words that a span was found by."""
    document = _note(notes, note)
    path = Path(model)
    detector = (
        load("generative", options={"model": str(path), "checker": ""})
        if path.is_dir()
        else load(model)
    )
    (spans,) = detector.detect([document.note])
    text = document.note.text
    for span in spans:
        shown = f" {text[span.start : span.end]!r}" if restricted else ""
        typer.echo(f"{span.start}-{span.end} {span.label} {span.score:.2f}{shown}")
        for cue in cues(detector, document.note, span)[:words]:
            word = f" {text[cue.start : cue.end]!r}" if restricted else ""
            typer.echo(f"  {cue.drop:+.2f} {cue.start}-{cue.end}{word}")
    return 0


def _note(name: str, wanted: str) -> Document:
    found = next((one for one in read_corpus(name).documents if one.note.note_id == wanted), None)
    if found is None:
        raise InputError(f"{name} has no note {wanted!r}")
    return found


@generative_app.command("merge")
@guard_command
def merge(
    model: ModelArg, out: Arg[Path, typer.Argument(metavar="OUT", help="New folder.")]
) -> int:
    """Write base and adapter as one model, for servers and privacy audits."""
    if out.exists():
        raise InputError(f"{out} is there already; give a new folder")
    folder = read_folder(model)
    from deid_generative.opening import merge_model  # noqa: PLC0415 - loads PyTorch

    merge_model(folder, out)
    typer.echo(f"written to {out}; it remembers words of the notes as the adapter does")
    return 0
