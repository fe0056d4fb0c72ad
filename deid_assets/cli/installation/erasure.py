"""``deid erase``: one patient out of all that an installation keeps."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption, group_options
from deid_assets.cli.endings import PARTIAL, guard_command, say, say_in_amber
from deid_assets.cli.keeping.vault import ByOption, ReasonOption
from deid_assets.cli.tables import print_json, print_table
from deid_assets.core.errors import InputError

if TYPE_CHECKING:
    from deid_assets.config import Settings
    from deid_assets.erasure.certificate import CertificateItem
    from deid_assets.erasure.planning import ErasureOrder

_HEADINGS = ("What", "Which", "Status", "Notes", "Remark")


@dataclass(frozen=True, slots=True)
class ErasureOptions:
    """Options on what goes with the patient."""

    plan: Annotated[
        bool, typer.Option("--plan", help="Say what would be done, and erase nothing.")
    ] = False
    delete_models: Annotated[
        bool,
        typer.Option(
            "--delete-models",
            help="Delete models that rest on the notes at once, and do not only mark them.",
        ),
    ] = False
    drop_unreadable: Annotated[
        bool,
        typer.Option(
            "--drop-unreadable",
            help="Let entries go that cannot be read, with the files they stand in.",
        ),
    ] = False


@app.command("erase")
@guard_command
@group_options
def erase(
    patient: Annotated[
        str,
        typer.Argument(
            metavar="PATIENT", help="Id of the patient; - reads it from standard input."
        ),
    ],
    *,
    by: ByOption,
    reason: ReasonOption,
    options: ErasureOptions,
    as_json: JsonOption = False,
) -> int:
    """Erase one patient from the installation, with a certificate.

    Batches are written again without the patient's notes, their releases are taken back, and models
    are marked. What was killed is completed by the same call.
    """
    from deid_assets.cli.installation.batch_actions import (  # noqa: PLC0415 - loads the store
        installation_here,
    )
    from deid_assets.erasure.carrying import erase_patient, next_number  # noqa: PLC0415
    from deid_assets.erasure.planning import ErasureOrder  # noqa: PLC0415
    from deid_assets.vault.log import AccessRequest  # noqa: PLC0415

    settings, _ = installation_here()
    patient = _patient(patient)
    order = ErasureOrder(
        patient,
        AccessRequest(by, reason),
        deletes_models=options.delete_models,
        drops_unreadable=options.drop_unreadable,
        number=next_number(settings, patient),
    )
    if options.plan:
        return _show_plan(settings, order, as_json=as_json)
    certificate = erase_patient(settings, order)
    if certificate is None:
        return _say_nothing_is_held(order.number)
    if as_json:
        print_json(certificate.document)
    else:
        _print_items(certificate.document["items"])
    return _finish(certificate.document, certificate.path, certificate.page)


def _patient(given: str) -> str:
    """Return the id that was given, or the one line of standard input."""
    if given != "-":
        return given
    lines = sys.stdin.read().splitlines()
    if len(lines) != 1 or not lines[0]:
        raise InputError("standard input must be one line, the id of the patient")
    return lines[0]


def _show_plan(settings: Settings, order: ErasureOrder, *, as_json: bool) -> int:
    """Show what an erasure would reach, and return the exit code."""
    from deid_assets.erasure.carrying import look_for  # noqa: PLC0415 - loads the store
    from deid_assets.erasure.certificate import items_of  # noqa: PLC0415 - likewise

    found = look_for(settings, order)
    if found.is_nothing:
        return _say_nothing_is_held(order.number)
    _show(list(items_of(settings, found)), as_json=as_json)
    say("nothing was erased: leave --plan out")
    return 0


def _say_nothing_is_held(number: int) -> int:
    """End a call that found nothing: well where a certificate says why, else badly."""
    if number == 1:
        raise InputError("nothing is held of that patient; check the id")
    say(f"nothing is held of that patient any more; {number - 1:,} certificates say why")
    return 0


def _finish(document: dict[str, Any], path: Path, page: Path) -> int:
    open_items = [item for item in document["items"] if item["status"] == "to be retrained"]
    say(f"{document['notes']:,} notes erased; certificate {path}, as a page {page}")
    if open_items:
        say_in_amber(
            f"{len(open_items):,} models are to be retrained: `deid run`, or give --delete-models"
        )
        return PARTIAL
    return 0


def _show(items: list[CertificateItem], *, as_json: bool) -> None:
    from dataclasses import asdict  # noqa: PLC0415

    rows = [asdict(item) for item in items]
    if as_json:
        print_json(rows)
    else:
        _print_items(rows)


def _print_items(items: list[dict[str, object]]) -> None:
    rows = [
        [
            str(item["what"]),
            str(item["name"]),
            str(item["status"]),
            "" if item["count"] is None else f"{item['count']:,}",
            str(item["remark"]),
        ]
        for item in items
    ]
    print_table(_HEADINGS, rows)
