"""The asset that takes notes from a table of somebody else's asset."""

import hashlib
from collections.abc import Mapping
from dataclasses import astuple
from functools import partial
from typing import Any

import dagster as dg
from dagster._core.definitions.assets.definition.asset_spec import (
    SYSTEM_METADATA_KEY_AUTO_CREATED_STUB_ASSET as STUB,
)

from deid_assets.assets.declarations import AssetDeclaration
from deid_assets.assets.notes_table import (
    CHECKS,
    LANDED_NOTES,
    ROWS,
    NotesTable,
    make_landed_notes,
)
from deid_assets.core.errors import InputError
from deid_assets.defs.audit import build_audited_asset
from deid_assets.defs.automation import eager_and_gated, never_taken
from deid_assets.runtime.snapshot import software_version


def build_landed_notes(table: NotesTable) -> dg.AssetsDefinition:
    """Return the asset that makes arrivals of a table's rows."""
    columns = hashlib.sha256("\n".join(astuple(table)).encode()).hexdigest()[:12]
    return build_audited_asset(
        partial(make_landed_notes, table=table),
        AssetDeclaration(
            key=LANDED_NOTES,
            checks=CHECKS,
            deps=[],
            code_version=f"{software_version()}+{columns}",
            group="intake",
            description=(
                f"Rows of `{table.asset}` that were taken as notes, each once. New and changed rows"
                " become an arrival, of which the landing sensor makes a batch. No text."
            ),
            kinds={"parquet"},
            schema=ROWS,
            partitioned=False,
        ),
        upstream=[dg.AssetKey.from_user_string(table.asset)],
        given=partial(_table_of, table=table),
        condition=eager_and_gated | never_taken,
    )


def _table_of(context: dg.AssetExecutionContext, *, table: NotesTable) -> Mapping[str, Any]:
    """Load what the asset holds, by its own IO manager.

    Raises:
        InputError: There is no such asset, or it was never made.
    """
    key = dg.AssetKey.from_user_string(table.asset)
    graph = context.job_def.asset_layer.asset_graph
    if not graph.has(key) or graph.get(key).metadata.get(STUB):
        raise InputError(
            f"notes.asset: this project has no asset {table.asset!r}; name one that holds a table"
            " of notes, its parts joined by slashes"
        )
    try:
        return {"frame": context.load_asset_value(key)}
    except Exception:
        # What its IO manager says may hold text; one that was reported from outside may be there.
        if context.instance.get_latest_materialization_event(key):
            raise
    raise InputError(f"notes.asset: {table.asset} was never materialized; materialize it first")
