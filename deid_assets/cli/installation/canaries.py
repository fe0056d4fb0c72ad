"""``deid canaries``: what was found of the canary patients, batch by batch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption
from deid_assets.cli.endings import guard_command, say
from deid_assets.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from deid_assets.config import Settings
    from deid_assets.store.files import StoreFiles

_EVERY = "ALL"


@app.command("canaries")
@guard_command
def canaries(
    *,
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="FILE", help="Write a page with a plot over the batches."),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Show what was found of the canary patients, batch by batch, per category and language."""
    from deid_assets.cli.installation.batch_actions import (  # noqa: PLC0415 - loads the store
        installation_here,
    )

    settings, files = installation_here()
    rows = _rows(settings, files)
    if as_json:
        print_json(rows)
    else:
        headings = ("batch", "arrived", "lang", "label", "spans", "covered", "recall")
        print_table(headings, [[str(row[name]) for name in headings] for row in rows])
    if not rows:
        say("no batch has canary patients; gates.canaries sets how many go with each")
        return 0
    if page is not None:
        _write(page, rows)
        say(f"written: {page}")
    return 0


def _rows(settings: Settings, files: StoreFiles) -> list[dict[str, Any]]:
    """Return the scores that are stored, the earliest batch first."""
    from deid_assets.intake.arrivals import find_arrival  # noqa: PLC0415 - loads the store
    from deid_assets.intake.states import open_batches  # noqa: PLC0415
    from deid_assets.pipeline.resolving import MERGED_SPANS  # noqa: PLC0415

    rows: list[dict[str, Any]] = []
    for batch in open_batches(settings, files):
        merged = files.find(MERGED_SPANS, batch)
        if merged is None or "canaries" not in merged.outputs:
            continue
        arrival = find_arrival(files, batch)
        about = {"batch": batch, "arrived": arrival.arrived_at[:16] if arrival else ""}
        for one in files.read(MERGED_SPANS, batch, "canaries").to_pylist():
            recall = round(one["covered"] / one["spans"], 4)
            rows.append({**about, **one, "recall": recall})
    return sorted(rows, key=lambda row: (row["arrived"], row["batch"]))


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    from deid_assets.reports.canaries import canaries_page  # noqa: PLC0415 - loads Matplotlib
    from deid_assets.system.atomic import atomic_file  # noqa: PLC0415

    with atomic_file(path) as file:
        file.write(canaries_page(rows).encode())
