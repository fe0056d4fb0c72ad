"""``deid denied``: rules of people: values that must be in no release, and false alarms."""

from __future__ import annotations

from typing import Annotated

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption
from deid_assets.cli.endings import guard_command, say
from deid_assets.cli.plugged import CommandGroup
from deid_assets.cli.tables import print_json, print_table

denied_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Rules of people: values that are covered in all notes, and false alarms that are left.",
)
app.add_typer(denied_app, name="denied")


@denied_app.command("list")
@guard_command
def list_rules(*, as_json: JsonOption = False) -> int:
    """List the deny and allow rules, and those that were taken back; never a value."""
    from deid_assets.cli.installation.batch_actions import (  # noqa: PLC0415 - loads the store
        installation_here,
    )
    from deid_assets.store.denials import Denials  # noqa: PLC0415

    _, files = installation_here()
    found = Denials(files).read()
    rows = [
        *((one.rule, "in force", one.category, one.by, one.created_at, "") for one in found.rules),
        *(
            (one.rule, "left", f"{one.category} {one.lang}".strip(), one.by, one.created_at, "")
            for one in found.allowed
        ),
        *((one.rule, "lifted", "", one.by, one.created_at, one.lifted_at) for one in found.lifted),
    ]
    headings = ("rule", "state", "category", "by", "since", "until")
    if as_json:
        print_json([dict(zip(headings, row, strict=True)) for row in rows])
    else:
        print_table(headings, [list(row) for row in rows])
    if not rows:
        say("there is no rule; `deid leak --deny` denies a value, `deid review rules` allows one")
    return 0


@denied_app.command("lift")
@guard_command
def lift_rule(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="As `deid denied list` names it.")],
    *,
    by: Annotated[str, typer.Option("--by", metavar="WHO", help="Who asks.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; without naming anybody.")],
) -> int:
    """Take a deny or allow rule back, which stays recorded; its value and its cases are deleted.

    What it covered is covered no more in the next run, unless a detector finds it; what it left is
    covered again.
    """
    from deid_assets.cli.installation.batch_actions import (  # noqa: PLC0415 - loads the store
        installation_here,
    )
    from deid_assets.erasure.denying import lift  # noqa: PLC0415

    settings, files = installation_here()
    batches = lift(settings, files, rule, by=by, reason=reason)
    say(f"rule {rule} is lifted; the next `deid run` makes {len(batches):,} batches again")
    return 0
