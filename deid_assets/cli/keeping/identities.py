"""``deid identities``: make a table of a hospital's patients for detectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption, ReadOption
from deid_assets.cli.endings import guard_command, say
from deid_assets.cli.outputs import check_out, finish
from deid_assets.cli.plugged import CommandGroup
from deid_assets.cli.streams import Withheld, read_options
from deid_assets.cli.tables import print_json
from deid_assets.formats import Fault
from deid_assets.formats.identities import Identity, read_identities
from deid_assets.identities import IdentityTable, build_table

identities_app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="Tables of what is known of patients."
)
app.add_typer(identities_app, name="identities")


@identities_app.command()
@guard_command
def build(
    sources: Arg[
        list[Path],
        typer.Argument(metavar="SOURCE", help="File or folder of identities; several add up."),
    ],
    *,
    out: Arg[Path, typer.Option(metavar="FILE", help="Table to write; it holds names in clear.")],
    format_name: Arg[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="csv, or a format that deid formats says holds identities; detected if not given.",
        ),
    ] = None,
    read: ReadOption = None,
    as_json: JsonOption = False,
) -> int:
    """Make a table of identities.

    For detectors that look for them, such as known_identity. It is readable for its owner only.
    """
    check_out(out, inputs=sources, is_folder=False)
    withheld, options = Withheld(), read_options(read or [], annotations=False)

    def read_all() -> Iterator[Identity]:
        for source in sources:
            for each in read_identities(source, format=format_name, options=options):
                if isinstance(each, Fault):
                    withheld.fault(each)
                else:
                    yield each

    counts = build_table(out, read_all())
    figures = {"patients": counts.patients, "values": sum(counts.values.values())}
    return finish(figures, withheld, out, as_json=as_json)


@identities_app.command()
@guard_command
def show(
    table: Arg[Path, typer.Argument(metavar="FILE", help="A table of identities.")],
    *,
    as_json: JsonOption = False,
) -> int:
    """Say how much a table holds, by kind; none of its values."""
    counts = IdentityTable(table).counts()
    if as_json:
        print_json({"patients": counts.patients, "values": dict(counts.values)})
        return 0
    say(f"{counts.patients:,} patients")
    for kind, count in counts.values.items():
        typer.echo(f"{kind}\t{count}")
    return 0
