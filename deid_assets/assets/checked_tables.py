"""table_NAME: a structured table as it is read once, before it may leave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.core.errors import InputError
from deid_assets.quality import Verdict
from deid_assets.runtime.installation import Installation
from deid_assets.tables.checking import TableCheck, check_table
from deid_assets.tables.columns import TablePlan
from deid_assets.tables.faults import Faults

CHECKS = (
    Check("readable", "Every cell is what its column is declared as."),
    Check("in_range", "No date is a filler: each lies in the range, and few patients share one."),
    Check("no_free_text", "No cell that is kept looks like free text, or like a date."),
    Check("unique_ids", "Ids of columns in unique occur once."),
    Check(
        "values_known",
        "No unit or version of a FHIR resource is left out since it may be any text.",
        blocking=False,
    ),
)
COLUMNS = pa.schema([("column", pa.string()), ("role", pa.string()), ("kind", pa.string())])
DIGEST, ROWS, SETTINGS = "digest", "rows", "settings"
"""Counts of a table's receipt that say what was checked."""


def make_table(batch: str, installation: Installation, *, table: str) -> AssetOutput:
    """Read a table once, and say what is wrong with it. Nothing of its rows is stored.

    Raises:
        InputError: It cannot be read, changed meanwhile, or a column has no role.
    """
    del batch
    settings = installation.settings.tables[table]
    with naming(table):
        found = check_table(settings)
    return AssetOutput(
        tables={"columns": tabulate_columns(found.plan)},
        sources=[],
        verdicts=verdicts_of(found),
        counts={
            ROWS: found.rows,
            DIGEST: key_digest(installation, found.digest),
            SETTINGS: settings.digest[:12],
        },
    )


def verdicts_of(found: TableCheck) -> list[Verdict]:
    """Return what the first reading of a table says of it."""
    faults = (found.unread, found.out_of_range, found.free_text, found.doubled, found.left_out)
    return [judge_faults(check, one) for check, one in zip(CHECKS, faults, strict=True)]


def judge_faults(check: Check, faults: Faults) -> Verdict:
    """Return a check's verdict, which passes where there is no fault."""
    return Verdict(
        check.name,
        passed=not faults.count,
        blocking=check.blocking,
        counts={"bad": faults.count},
        description=check.description,
        reasons=faults.told,
    )


def tabulate_columns(plan: TablePlan) -> pa.Table:
    """Return the columns of a table with their roles, as ``COLUMNS``."""
    rows = [{"column": one.name, "role": one.role.value, "kind": one.kind} for one in plan.columns]
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def key_digest(installation: Installation, digest: str) -> str:
    """Return a table's digest under the key of the house, which tells nothing of the rows."""
    return installation.house.key.derive("table", digest).hex()[:32]


@contextmanager
def naming(table: str) -> Iterator[None]:
    """Name the table in what is wrong with it.

    Raises:
        InputError: As raised inside.
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"table {table}: {error}") from None
