"""The command ``deid corpus make``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.extending.commands import (
    Annotated,
    JsonOption,
    ToOption,
    check_out,
    out_format,
    print_json,
    say,
    write_notes,
    write_options,
)
from deid_synthesis.corpus import make_corpus


def make(
    *,
    lang: Arg[str, typer.Option(metavar="CODE", help="Language of the notes.")] = "en",
    notes: Arg[int, typer.Option(metavar="N", min=1, help="Number of notes.")] = 200,
    seed: Arg[int, typer.Option(metavar="N", help="Seed; the same one gives the same notes.")] = 1,
    mix: Arg[
        str,
        typer.Option(
            metavar="NAME",
            help=(
                "hospital; bare: no word announces what follows; triage: emergency notes, in"
                " French."
            ),
        ),
    ] = "hospital",
    out: Arg[
        Path, typer.Option(metavar="PATH", help="Notes to write; the suffix chooses the format.")
    ],
    to: ToOption = None,
    as_json: JsonOption = False,
) -> int:
    """Make synthetic notes with annotated spans."""
    written_as = out_format(out, to)
    check_out(out, inputs=[], is_folder=written_as.is_folder)
    made = (
        Annotated(note, spans)
        for note, spans in make_corpus(lang=lang, notes=notes, seed=seed, mix=mix)
    )
    count = write_notes(out, made, format=written_as.name, options=write_options())
    if as_json:
        print_json({"notes": count, "out": str(out)})
    else:
        say(f"{count:,} notes written to {out}")
    return 0
