"""``deid studies``: the studies of the settings, and taking a release back from one."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption
from deid_assets.cli.endings import PARTIAL, guard_command, say
from deid_assets.cli.plugged import CommandGroup
from deid_assets.core.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from deid_assets.config import Settings
    from deid_assets.intake.studies import StudyStatus

studies_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Studies: releases of their own from the spans that were found once.",
)
app.add_typer(studies_app, name="studies")

NameArg = Annotated[str, typer.Argument(metavar="NAME", help="As in the settings, [studies.NAME].")]


@studies_app.command("list")
@guard_command
def list_studies(*, as_json: JsonOption = False) -> int:
    """List the studies with what each released, and what is wrong with its lists.

    A study that takes no note, or whose list names patients who are in no batch, is said in a line
    of its own, and the exit code is 1.
    """
    from deid_assets.cli.installation.batch_actions import (  # noqa: PLC0415 - loads the store
        installation_here,
    )
    from deid_assets.cli.tables import print_json, print_table  # noqa: PLC0415 - loads Rich
    from deid_assets.intake.studies import study_states  # noqa: PLC0415

    settings, files = installation_here()
    found = study_states(settings, files)
    if as_json:
        print_json([{**asdict(one), "state": one.state} for one in found])
    else:
        headings = (
            "study",
            "state",
            "policy",
            "batches",
            "notes",
            "agree no more",
            "withheld",
            "reason",
        )
        print_table(headings, [_cells(one) for one in found])
        if not found:
            say("the settings have no study; docs/studies.md shows one")
    faults = [fault for one in found for fault in one.faults]
    for fault in faults:
        say(fault)
    return PARTIAL if faults else 0


@studies_app.command("withdraw")
@guard_command
def withdraw(
    name: NameArg,
    batches: Annotated[
        list[str] | None,
        typer.Argument(metavar="[BATCH]...", help="Batches; all that it released if none."),
    ] = None,
) -> int:
    """Take releases back from a study, and keep their batches out of it.

    The installation's own release and other studies stay as they are.
    """
    from deid_assets.cli.installation.batch_actions import (  # noqa: PLC0415 - loads the store
        installation_here,
    )
    from deid_assets.intake.states import batch_ids  # noqa: PLC0415
    from deid_assets.intake.studies import list_released_batches  # noqa: PLC0415
    from deid_assets.intake.withdrawal import withdraw_from_study  # noqa: PLC0415

    settings, files = installation_here()
    _check_study(settings, name)
    chosen = batches or list_released_batches(settings, files, name)
    if not chosen:
        raise InputError(f"study {name} has no release; name the batches that it must not have")
    if unknown := set(chosen) - set(batch_ids(settings)):
        raise InputError(f"no such batch: {min(unknown)}; `deid batches list` names them")
    for batch in chosen:
        withdraw_from_study(settings, files, name, batch)
        say(
            f"{batch} withdrawn from study {name}; `deid studies retry {name} {batch}` brings it"
            " back"
        )
    return 0


@studies_app.command("retry")
@guard_command
def retry(
    name: NameArg,
    batch: Annotated[str, typer.Argument(metavar="BATCH", help="Id of a batch.")],
) -> int:
    """Bring a batch back into a study; the next `make run` releases it."""
    from deid_assets.cli.installation.batch_actions import (  # noqa: PLC0415 - loads the store
        installation_here,
    )
    from deid_assets.intake.states import batch_ids  # noqa: PLC0415
    from deid_assets.intake.withdrawal import take_into_study  # noqa: PLC0415

    settings, files = installation_here()
    _check_study(settings, name)
    if batch not in batch_ids(settings):
        raise InputError("no such batch; `deid batches list` names them")
    take_into_study(files, name, batch)
    say(f"{batch} is made again for study {name} by the next `deid run` or backfill")
    return 0


def _check_study(settings: Settings, name: str) -> None:
    from deid_assets.intake.withdrawal import list_known_studies  # noqa: PLC0415 - loads the store

    known = list_known_studies(settings)
    if name not in known:
        raise InputError(
            f"there is no study {name!r}{did_you_mean(name, known)}; `deid studies list` names them"
        )


def _cells(one: StudyStatus) -> list[str]:
    return [
        one.study,
        one.state,
        one.policy,
        f"{one.released:,} of {one.batches:,}",
        f"{one.notes:,}",
        "?" if one.revoked is None else f"{one.revoked:,}",
        f"{one.withheld:,}",
        next(iter(one.reasons), ""),
    ]
