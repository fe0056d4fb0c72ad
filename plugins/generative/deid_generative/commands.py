"""``deid-generative``: compare trained models, explain a span, write an adapter and its base as one model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import typer

from deid_assets.extending import DeidError, Document, InputError, load
from deid_assets.extending.corpora import read_corpus
from deid_generative.compare import RATES, Row, at_best, at_epoch
from deid_generative.explain import cues
from deid_generative.folder import read_folder

BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, or 2 where it cannot."""
    given = _parser().parse_args(arguments)
    commands = {"compare": _compare, "explain": _explain, "merge": _merge}
    try:
        commands[given.command](given)
    except DeidError as error:
        typer.echo(f"deid-generative: {error}", err=True)
        return BAD_INPUT
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="deid-generative", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    compare = commands.add_parser("compare", help="models side by side, at one epoch and each at its best")
    compare.add_argument("models", type=Path, nargs="+", help="folders that deid train wrote")
    compare.add_argument("--epoch", type=int, default=7, help="of the first table; 7 in the study")
    explain = commands.add_parser("explain", help="the words that a span was found by")
    explain.add_argument("model", help="folder that deid train wrote, or the name of an installed detector")
    explain.add_argument("notes", help="annotated notes")
    explain.add_argument("--note", required=True, help="id")
    explain.add_argument("--words", type=int, default=5, help="of each span")
    explain.add_argument("--restricted", action="store_true", help="show the words; without, places alone")
    merge = commands.add_parser("merge", help="write base and adapter as one model, for servers and privacy audits")
    merge.add_argument("model", type=Path, help="folder that deid train wrote")
    merge.add_argument("out", type=Path, help="new folder")
    return parser


def _compare(given: argparse.Namespace) -> None:
    models = {path.name: read_folder(path) for path in given.models}
    for title, rows in (
        (f"At epoch {given.epoch}", at_epoch(models, given.epoch)),
        ("Each at its best", at_best(models)),
    ):
        _show(title, rows)


def _show(title: str, rows: Sequence[Row]) -> None:
    typer.echo(f"{title}\n\n| Model | Epoch | Plateau from | {' | '.join(RATES)} |")
    typer.echo("| :-- |" + " --: |" * (2 + len(RATES)))
    for row in rows:
        values = [f"{value:.4f}" if value is not None else "-" for value in row.rates.values()]
        typer.echo(" | ".join([f"| {row.name}", f"{row.epoch}", f"{row.plateau}", *values]) + " |")
    typer.echo("")


def _explain(given: argparse.Namespace) -> None:
    document = _note(given.notes, given.note)
    path = Path(given.model)
    detector = load("generative", options={"model": str(path), "checker": ""}) if path.is_dir() else load(given.model)
    (spans,) = detector.detect([document.note])
    text = document.note.text
    for span in spans:
        shown = f" {text[span.start : span.end]!r}" if given.restricted else ""
        typer.echo(f"{span.start}-{span.end} {span.label} {span.score:.2f}{shown}")
        for cue in cues(detector, document.note, span)[: given.words]:
            word = f" {text[cue.start : cue.end]!r}" if given.restricted else ""
            typer.echo(f"  {cue.drop:+.2f} {cue.start}-{cue.end}{word}")


def _note(name: str, wanted: str) -> Document:
    found = next((one for one in read_corpus(name).documents if one.note.note_id == wanted), None)
    if found is None:
        raise InputError(f"{name} has no note {wanted!r}")
    return found


def _merge(given: argparse.Namespace) -> None:
    if given.out.exists():
        raise InputError(f"{given.out} is there already; give a new folder")
    folder = read_folder(given.model)
    from deid_generative.opening import merged  # noqa: PLC0415 - loads PyTorch

    merged(folder, given.out)
    typer.echo(f"written to {given.out}; it remembers words of the notes as the adapter does")
