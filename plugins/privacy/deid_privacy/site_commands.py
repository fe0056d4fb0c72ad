"""``deid privacy site``, ``serve`` and ``leaderboard``: evaluation where the notes are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated as Arg
from typing import Any

import typer

from deid_assets.extending import InputError

NotesArg = Arg[
    Path, typer.Argument(metavar="NOTES", help="Folder with annotated notes, which the program finds empty.")
]
LogArg = Arg[Path, typer.Argument(metavar="LOG", help="Of evaluations; a line is added, and its folder is hidden too.")]
SecondsOption = Arg[float, typer.Option(metavar="S", min=0, help="After which a program is ended.")]


def site(
    name: Arg[str, typer.Argument(metavar="NAME", help="Of the submission, on the leaderboard.")],
    notes: NotesArg,
    log: LogArg,
    program: Arg[
        list[str], typer.Argument(metavar="-- PROGRAM", help="Reads notes, writes spans; its own options follow.")
    ],
    *,
    seconds: SecondsOption = 600,
) -> int:
    """Evaluate a program on notes whose labels it cannot read; only rates leave."""
    from deid_privacy.site import evaluate, record  # noqa: PLC0415

    documents = _documents(notes)
    try:
        scores = evaluate(program, documents, hidden=[notes, log.absolute().parent], seconds=seconds)
    except InputError as error:
        record(log, name, program, None, str(error))
        raise
    record(log, name, program, scores)
    typer.echo(json.dumps(scores, indent=1))
    return 0


def serve(
    notes: NotesArg,
    log: LogArg,
    program: Arg[list[str], typer.Argument(metavar="-- PROGRAM", help="What runs a submitted file, such as python3.")],
    *,
    seconds: SecondsOption = 600,
    host: Arg[str, typer.Option(metavar="ADDRESS", help="To listen on.")] = "127.0.0.1",
    port: Arg[int, typer.Option(metavar="N", min=0, max=65_535, help="To listen on.")] = 8731,
) -> int:
    """Evaluate programs that come in by HTTP, until interrupted; only rates go out."""
    from deid_privacy.serving import Site, server, token_of_environment  # noqa: PLC0415
    from deid_privacy.site import can_isolate  # noqa: PLC0415

    token = token_of_environment()
    if not can_isolate():
        raise InputError("this machine cannot keep a program from the labels; allow user namespaces (unshare)")
    held = Site(_documents(notes), notes, log, program, token, seconds)
    try:
        listening = server(held, host=host, port=port)
    except OSError as error:
        raise InputError(f"port {port} of {host}: {error.strerror}; choose another") from None
    typer.echo(f"{len(held.documents):,} notes; http://{host}:{listening.server_port}")
    with listening:
        try:
            listening.serve_forever()
        except KeyboardInterrupt:
            typer.echo("stopped")
    return 0


def board(
    logs: Arg[list[Path], typer.Argument(metavar="LOG...", help="Of one site or more.")],
) -> int:
    """Show the latest scores of each submission at each site."""
    from deid_privacy.site import leaderboard  # noqa: PLC0415

    for log in logs:
        for name, at, scores in leaderboard(log):
            covered = scores["covered"]
            place = f"{log.stem}: " if len(logs) > 1 else ""
            typer.echo(
                f"{place}{name:24} F1 {scores['f1']:.3f}, covered {covered['value']:.3f} [{covered['low']:.3f}, "
                f"{covered['high']:.3f}], {scores['notes']:,} notes, {at}"
            )
    return 0


def _documents(notes: Path) -> Any:
    from deid_assets.extending.corpora import read_corpus  # noqa: PLC0415

    if not notes.is_dir():
        raise InputError(f"{notes.name} is no folder; put the annotated notes into one of their own")
    return read_corpus(str(notes)).documents
