"""Commands of a site: ``site``, ``serve``, ``leaderboard``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import typer

from deid_assets.extending import InputError


def add(commands: Any) -> None:
    """Add the commands to a parser."""
    one = commands.add_parser("site", help="evaluate a program on notes whose labels it cannot read; only rates leave")
    one.add_argument("name", help="of the submission, on the leaderboard")
    many = commands.add_parser("serve", help="evaluate programs that come in by HTTP; only rates go out")
    for each in (one, many):
        each.add_argument("notes", type=Path, help="folder with annotated notes, which the program finds empty")
        each.add_argument("log", type=Path, help="of evaluations; a line is added, and its folder is hidden too")
        each.add_argument("--seconds", type=float, default=600, help="after which a program is ended")
    many.add_argument("--host", default="127.0.0.1")
    many.add_argument("--port", type=int, default=8731)
    one.epilog = "After -- stands the program that reads notes and writes spans."
    many.epilog = "After -- stands what runs a submitted file, such as python3."
    shown = commands.add_parser("leaderboard", help="the latest scores of each submission, of one site or more")
    shown.add_argument("logs", type=Path, nargs="+", metavar="log")


def site(given: argparse.Namespace) -> int:
    """Evaluate one program."""
    from deid_privacy.site import evaluate, record  # noqa: PLC0415

    command = given.program
    if not command:
        raise InputError("no program is named; write it after --")
    documents = _documents(given.notes)
    try:
        scores = evaluate(command, documents, hidden=[given.notes, given.log.absolute().parent], seconds=given.seconds)
    except InputError as error:
        record(given.log, given.name, command, None, str(error))
        raise
    record(given.log, given.name, command, scores)
    typer.echo(json.dumps(scores, indent=1))
    return 0


def serve(given: argparse.Namespace) -> int:
    """Evaluate what comes in, until interrupted."""
    from deid_privacy.serving import Site, server, token_of_environment  # noqa: PLC0415
    from deid_privacy.site import can_isolate  # noqa: PLC0415

    if not given.program:
        raise InputError("nothing is named that runs a submission; write it after --, such as -- python3")
    token = token_of_environment()
    if not can_isolate():
        raise InputError("this machine cannot keep a program from the labels; allow user namespaces (unshare)")
    held = Site(_documents(given.notes), given.notes, given.log, given.program, token, given.seconds)
    try:
        listening = server(held, host=given.host, port=given.port)
    except OSError as error:
        raise InputError(f"port {given.port} of {given.host}: {error.strerror}; choose another") from None
    typer.echo(f"{len(held.documents):,} notes; http://{given.host}:{listening.server_port}")
    with listening:
        try:
            listening.serve_forever()
        except KeyboardInterrupt:
            typer.echo("stopped")
    return 0


def board(given: argparse.Namespace) -> int:
    """Show the latest scores of each submission at each site."""
    from deid_privacy.site import leaderboard  # noqa: PLC0415

    for log in given.logs:
        for name, at, scores in leaderboard(log):
            covered = scores["covered"]
            place = f"{log.stem}: " if len(given.logs) > 1 else ""
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
