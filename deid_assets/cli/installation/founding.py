"""``deid init``: a new installation in a folder of its own."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.cli.app import app
from deid_assets.cli.endings import guard_command, say
from deid_assets.core.errors import InputError
from deid_assets.operation.databases import VARIABLE
from deid_assets.operation.folder import write_folder


@app.command()
@guard_command
def init(
    folder: Arg[Path, typer.Argument(metavar="FOLDER", help="New, or one that lacks files.")],
    *,
    postgresql: Arg[
        bool,
        typer.Option(
            "--postgresql",
            help="Keep the store and Dagster's runs in the database of DEID_DATABASE_URL.",
        ),
    ] = False,
    login: Arg[
        bool,
        typer.Option(
            "--login", help="A proxy with a login stands before the web server; with its secret."
        ),
    ] = False,
) -> int:
    """Write a new installation: settings, secrets and folders.

    What is there stays as it is. No secret is shown: they stand in .env, for you alone to read.
    """
    url = os.environ.get(VARIABLE, "")
    if postgresql and not url:
        raise InputError(f"--postgresql: set {VARIABLE}=postgresql://user:password@host/name first")
    written = write_folder(folder, database_url=url if postgresql else "", login=login)
    for one in written:
        kept = "" if one.is_new else " (was there, left as it was)"
        say(f"{one.path}: {one.about}{kept}")
    say(f"next: cd {shlex.quote(str(folder))} && deid doctor")
    say("then put notes into landing and `deid run`; `deid ui` shows them")
    return 0
