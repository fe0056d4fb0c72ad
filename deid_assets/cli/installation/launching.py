"""``deid run``, ``deid backfill`` and ``deid ui``: the graph of the installation in this folder.

Each becomes the program that does it, since this one knows no Dagster.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated as Arg
from typing import NoReturn

import typer

from deid_assets.cli.app import app
from deid_assets.cli.endings import guard_command
from deid_assets.config import Settings
from deid_assets.operation.environment import ENVIRONMENT

_UI_PORT, _REPORTS_PORT = 3000, 3001
PortOption = Arg[int, typer.Option("--port", min=1, max=65535, help="Of Dagster's web server.")]
ReportsPortOption = Arg[
    int, typer.Option("--reports-port", min=1, max=65535, help="Of the reports.")
]


@app.command()
@guard_command
def run(
    *,
    notes: Arg[
        Path | None,
        typer.Option(metavar="PATH", help="A file or folder to copy into the landing folder."),
    ] = None,
    other_settings: Arg[
        bool,
        typer.Option(
            "--other-settings",
            help="Go on under these settings, also where the installation had others.",
        ),
    ] = False,
) -> int:
    """Make what is not up to date of the installation, and say what to do next.

    What lies in the landing folder is taken in first. A new installation without notes makes a
    sample of its own.
    """
    options = [*(("--notes", str(notes)) if notes else ())]
    options += ["--other-settings"] if other_settings else []
    become("deid_assets.quickstart", options)


@app.command()
@guard_command
def backfill(
    asset: Arg[
        list[str] | None,
        typer.Argument(metavar="[ASSET]...", help="Such as spans_crf; all if none."),
    ] = None,
    *,
    batch: Arg[
        list[str] | None,
        typer.Option("--batch", metavar="ID", help="May be given again; all if not given."),
    ] = None,
    again: Arg[bool, typer.Option("--again", help="Also make what is up to date.")] = False,
) -> int:
    """Make assets of every batch in one process.

    Each batch is a run of its own, as Dagster shows it.
    """
    options = [part for one in batch or [] for part in ("--batch", one)]
    options += ["--again"] if again else []
    become("deid_assets.backfill", [*options, "--", *(asset or [])])


@app.command()
@guard_command
def ui(
    *,
    port: PortOption = _UI_PORT,
    reports_port: ReportsPortOption = _REPORTS_PORT,
    other_users: Arg[
        bool, typer.Option("--other-users", help="Let other users of this machine in too.")
    ] = False,
) -> int:
    """Serve Dagster and the reports to this machine.

    To this user's programs on this machine alone: Dagster asks for no login. Pages of other sites
    are refused.
    """
    os.environ.setdefault("DEID_REPORTS_URL", f"http://127.0.0.1:{reports_port}")
    options = ["--port", str(port), "--reports-port", str(reports_port)]
    options += ["--other-users"] if other_users else []
    become("deid_assets.quickstart.ui", options)


def become(module: str, options: Sequence[str]) -> NoReturn:
    """Go on as another program of this package, in the environment of this installation."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("DAGSTER_HOME", str(Settings.load().dagster_home))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", module, *options])  # noqa: S606 - our own
