"""retention_plan and retention: what is due to be removed, and what was."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

import pyarrow as pa

from deid_assets.assets.declarations import AssetOutput
from deid_assets.assets.display import show_lines
from deid_assets.core.errors import DeidError
from deid_assets.operation.retention import RUNS, Due, list_due_folders, remove
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import ALL

PLAN, RETENTION = "retention_plan", "retention"
DUE = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("what", pa.string(), nullable=False),
        pa.field("since", pa.string(), nullable=False),
        pa.field("files", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
    ]
)
REMOVED = pa.schema([*DUE, pa.field("removed_at", pa.string(), nullable=False)])
_SHOWN = 50

RunsDue = Callable[[], Sequence[Due]]
"""Gives the runs whose time is over."""


def make_plan(_batch: str, installation: Installation, *, runs: RunsDue) -> AssetOutput:
    """List what is due, and remove nothing.

    Args:
        installation: The installation.
        runs: Gives Dagster's records that are due.
    """
    found = [*list_due_folders(installation.settings, installation.files), *runs()]
    return AssetOutput(
        tables={"due": pa.Table.from_pylist([asdict(one) for one in found], DUE)},
        sources=[],
        counts=_counts(found),
        metadata={"due": show_lines(_lines(found))},
    )


def make_retention(
    _batch: str,
    installation: Installation,
    *,
    runs: RunsDue,
    delete_run: Callable[[str], None],
) -> AssetOutput:
    """Remove what the plan lists and is still due; the list of it is stored and signed before.

    Args:
        installation: The installation.
        runs: Gives Dagster's records that are due.
        delete_run: Removes one of them.
    """
    files, settings = installation.files, installation.settings
    plan = files.receipt(PLAN, ALL)
    listed = {(row["kind"], row["what"]) for row in files.read(PLAN, ALL, "due").to_pylist()}
    found = [
        one
        for one in [*list_due_folders(settings, files), *runs()]
        if (one.kind, one.what) in listed
    ]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    rows = [{**asdict(one), "removed_at": now} for one in found]

    def publish(_receipt: object) -> None:
        remove(found, settings)
        for one in found:
            if one.kind == RUNS:
                delete_run(one.what)

    return AssetOutput(
        tables={"removed": pa.Table.from_pylist([*_read_removed(installation), *rows], REMOVED)},
        sources=[plan],
        counts=_counts(found),
        metadata={"removed": show_lines(_lines(found))},
        remarks=_lines(found),
        publish=publish,
    )


def _read_removed(installation: Installation) -> list[dict[str, object]]:
    try:
        if installation.files.find(RETENTION, ALL) is None:
            return []
        rows: list[dict[str, object]] = installation.files.read(
            RETENTION, ALL, "removed"
        ).to_pylist()
    except DeidError:  # what was altered proves nothing; the list begins anew
        return []
    return rows


def _counts(found: Sequence[Due]) -> dict[str, int | float | str]:
    return {
        "items": len(found),
        "files": sum(one.files for one in found),
        "bytes": sum(one.bytes for one in found),
    }


def _lines(found: Sequence[Due]) -> list[str]:
    more = [f"and {len(found) - _SHOWN:,} more"] if len(found) > _SHOWN else []
    return [*(one.line for one in found[:_SHOWN]), *more]
