"""``deid suites``: expectations on the assets, and Data Docs of the results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption
from deid_assets.cli.endings import guard_command, say
from deid_assets.cli.plugged import CommandGroup
from deid_assets.cli.tables import print_json, print_table
from deid_assets.config import Settings

suites_app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="Suites of expectations that gate the assets."
)
app.add_typer(suites_app, name="suites")


@suites_app.command("list")
@guard_command
def list_suites(*, as_json: JsonOption = False) -> int:
    """List what is expected: of every installation, and of this one by its own files."""
    from deid_assets.quality.suites import (  # noqa: PLC0415 - reads files
        BUILTIN,
        builtin,
        suites_in,
    )

    settings = Settings.load()
    own = suites_in(settings.suites_folder)
    suites = [
        *((name, "every installation", builtin(name)) for name in BUILTIN),
        *((n, "own", own[n]) for n in own),
    ]
    rows = [
        (name, whose, each.check, "stops" if each.is_blocking else "warns", each.description)
        for name, whose, suite in suites
        for each in suite.expectations
    ]
    headings = ("suite", "of", "check", "a failure", "expects")
    if as_json:
        print_json([dict(zip(headings, row, strict=True)) for row in rows])
        return 0
    print_table(headings, rows)
    say(f"own suites: {settings.suites_folder}/ASSET.json")
    return 0


@suites_app.command()
@guard_command
def docs(
    out: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder for the pages.")],
    *,
    batch: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this batch; may be repeated.")
    ] = None,
) -> int:
    """Write Data Docs on what is stored: a page for each asset and batch, with counts and no text.

    The suites are asked again; nothing in the store changes.
    """
    from deid_assets.cli.installation.suite_docs import (  # noqa: PLC0415 - loads the store
        write_docs,
    )

    written, unmet = write_docs(Settings.load(), out, set(batch or ()))
    say(f"{written} pages in {out}, {unmet} with something not met; open {out / 'index.html'}")
    return 0
