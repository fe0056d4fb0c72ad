"""``deid tables``: structured tables that leave with the notes."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption
from deid_assets.cli.endings import BAD_INPUT, PARTIAL, guard_command, say
from deid_assets.cli.plugged import CommandGroup
from deid_assets.core.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from deid_assets.config import Settings
    from deid_assets.pipeline.leaks import LeakedValues
    from deid_assets.store.files import StoreFiles

tables_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Tables: structured data of the same patients, released with their notes.",
)
app.add_typer(tables_app, name="tables")

NameArg = Annotated[str, typer.Argument(metavar="NAME", help="As in the settings, [tables.NAME].")]
StudyOption = Annotated[
    str, typer.Option("--study", metavar="NAME", help="Study; the installation's own if none.")
]


@tables_app.command("check")
@guard_command
def check(name: NameArg, *, as_json: JsonOption = False) -> int:
    """Read a table once and say what is wrong with it, a line each; nothing is written.

    Rows and columns are named, values never. The graph checks the same before it releases.
    """
    from deid_assets.cli.tables import print_json, print_table  # noqa: PLC0415 - loads Rich
    from deid_assets.config import Settings  # noqa: PLC0415 - loads pydantic
    from deid_assets.tables.checking import check_table  # noqa: PLC0415 - loads Arrow

    settings = Settings.load()
    _check_table(settings, name)
    found = check_table(settings.tables[name])
    faults = [line for one in found.faults for line in one.told]
    left_out = found.left_out.told
    if as_json:
        columns = [asdict(one) for one in found.plan.columns]
        lists = {"columns": columns, "faults": faults, "left_out": left_out}
        print_json({"table": name, "rows": found.rows, **lists})
    else:
        rows = [[one.name, one.role.value, one.kind] for one in found.plan.columns]
        print_table(("column", "role", "kind"), rows)
    for line in [*faults, *left_out]:
        say(line)
    count = sum(one.count for one in found.faults)
    say(f"{found.rows:,} rows, {count:,} faults, {found.left_out.count:,} values left out")
    return BAD_INPUT if count else 0


@tables_app.command("withdraw")
@guard_command
def withdraw(name: NameArg, *, study: StudyOption = "") -> int:
    """Take a released table back, and keep it from being released."""
    from deid_assets.cli.installation.batch_actions import (  # noqa: PLC0415 - loads the store
        installation_here,
    )
    from deid_assets.intake.table_leaks import withdraw_table  # noqa: PLC0415

    settings, files = installation_here()
    _check_study(settings, study)
    withdraw_table(settings, files, name, study)
    say(f"table {name} withdrawn{f' from study {study}' if study else ''}")
    return 0


@tables_app.command("retry")
@guard_command
def retry(name: NameArg, *, study: StudyOption = "") -> int:
    """Bring a withdrawn table back; the next `deid run` releases it."""
    from deid_assets.cli.installation.batch_actions import (  # noqa: PLC0415 - loads the store
        installation_here,
    )
    from deid_assets.core.assets import ReleaseAssets  # noqa: PLC0415
    from deid_assets.store.table_withdrawals import TableWithdrawals  # noqa: PLC0415

    settings, files = installation_here()
    _check_table(settings, name)
    _check_study(settings, study)
    TableWithdrawals(files, ReleaseAssets(study)).take_in(name)
    say(f"table {name} is released again by the next `deid run`")
    return 0


def say_leaks_in_tables(
    settings: Settings, files: StoreFiles, leaked: LeakedValues, *, withdraws: bool
) -> int:
    """Say which released tables hold a value, withdraw them where asked, and return the exit
    code: 0 where none does.
    """
    from deid_assets.intake.table_leaks import tables_with, withdraw_table  # noqa: PLC0415

    found = tables_with(settings, files, leaked)
    for one in found:
        whose = f" of study {one.study}" if one.study else ""
        if one.fault:
            say(f"not looked at: table {one.table}{whose}: {one.fault}")
            continue
        say(f"{one.cells:,} cells of table {one.table}{whose} hold it")
        if withdraws:
            withdraw_table(settings, files, one.table, one.study)
            say(f"table {one.table}{whose} withdrawn")
    if any(one.fault for one in found):
        return BAD_INPUT
    return PARTIAL if found else 0


def _check_table(settings: Settings, name: str) -> None:
    if name not in settings.tables:
        near = did_you_mean(name, settings.tables)
        raise InputError(f"there is no table {name!r} in the settings{near}; docs/tables.md")


def _check_study(settings: Settings, name: str) -> None:
    from deid_assets.intake.withdrawal import list_known_studies  # noqa: PLC0415 - loads the store

    known = list_known_studies(settings)
    if name and name not in known:
        raise InputError(
            f"there is no study {name!r}{did_you_mean(name, known)}; `deid studies list` names them"
        )
