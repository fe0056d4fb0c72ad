"""Settings of the structured tables that are released with the notes."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from deid_assets.config.feeds import Variable, faults_of_url
from deid_assets.config.frozen import Frozen

TABLE_NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
RELEASED_PART = "released_table"
"""Part of the names of assets of released tables; no study and no table has it in its name."""
Kind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
"""Whose ids a column has: ``note``, ``visit`` or any other word; one kind joins over all tables."""
Columns = tuple[str, ...]
ROLES = ("dates", "births", "birth_years", "ages", "notes", "drop", "keep")
"""Roles of which each names columns."""


class TableSql(Frozen):
    """A query whose rows are a table.

    Args:
        url: As SQLAlchemy has it, without a password.
        password_env: Environment variable with the password.
        query: Gives one row for each row of the table, in an order of its own (``ORDER BY``).
        fetch: Rows held at a time.
    """

    url: Annotated[str, Field(min_length=1)]
    password_env: Variable = ""
    query: Annotated[str, Field(min_length=1)]
    fetch: int = Field(default=20_000, ge=1, le=1_000_000)


class TableSettings(Frozen):
    """A table of the same patients, released with their notes. Every column has a role.

    Args:
        file: CSV, Parquet or, of FHIR resources, NDJSON, told by its ending.
        sql: A query in place of a file.
        encoding: Of a CSV file.
        separator: Of a CSV file, one character.
        omop: Name of a table of the OMOP CDM 5.4, whose columns then have their roles by name.
        fhir: Type of the FHIR resources of an NDJSON file, whose elements then have their roles by
            name; columns are their paths without places in lists, such as ``code.coding.code``.
        patient: Column with the id of the patient, as the notes have it.
        ids: Column with other ids, to their kind: ``note`` as the notes have them, ``patient``,
            ``visit`` or any word.
        unique: Columns whose ids may not occur twice.
        dates: Columns with dates or times in ISO 8601, which become what the policy makes of dates.
        births: The same of birth; emptied where it tells an age over 89.
        birth_years: Columns with a year of birth.
        ages: Columns with an age in years.
        notes: Columns with the text of notes that the installation has, which leaves with the
            notes alone; the row's column of kind ``note`` joins it.
        quasi: Columns of which combinations are counted; kept where they have no other role.
        drop: Columns that do not leave.
        keep: Columns that leave as they are.
        dates_from: First day that is no filler.
        dates_to: Last day that is none; today where not given.
        same_day: Share of patients who may have one day, or one birthday, in a column of dates; 1
            does not look. Nine may always.
        smallest_group: Patients that have to share a combination of ``quasi``; 0 counts only.
        studies: Studies that get the table; all where not given.
    """

    file: Path | None = None
    sql: TableSql | None = None
    encoding: str = "utf-8"
    separator: Annotated[str, Field(min_length=1, max_length=1)] = ","
    omop: str = ""
    fhir: str = ""
    patient: str = ""
    ids: Mapping[str, Kind] = Field(default_factory=dict)
    unique: Columns = ()
    dates: Columns = ()
    births: Columns = ()
    birth_years: Columns = ()
    ages: Columns = ()
    notes: Columns = ()
    quasi: Columns = ()
    drop: Columns = ()
    keep: Columns = ()
    dates_from: date = date(1900, 1, 2)
    dates_to: date | None = None
    same_day: float = Field(default=0.2, gt=0, le=1)
    smallest_group: int = Field(default=0, ge=0)
    studies: tuple[str, ...] | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of all settings of the table."""
        made_of = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(made_of.encode()).hexdigest()

    def is_of(self, study: str) -> bool:
        """Whether a study gets the table; the installation's own release always does."""
        return not study or self.studies is None or study in self.studies


def faults_of_table_names(values: Any) -> Iterator[str]:
    """Yield the names of tables that make no name of an asset and a folder."""
    for name in values if isinstance(values, Mapping) else ():
        if not isinstance(name, str) or not TABLE_NAME.fullmatch(name) or RELEASED_PART in name:
            yield (
                f"tables.{name!r}: no name for a table; take up to 31 small letters, digits and"
                " underscores, with a letter first, such as [tables.admissions]"
            )


def faults_of_tables(
    tables: Mapping[str, TableSettings], studies: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what is wrong with the tables beyond what their model says."""
    for name, table in tables.items():
        yield from (f"tables.{name}.{fault}" for fault in _faults_of(table, studies))
    if tables and (clashing := [name for name in studies if RELEASED_PART in name]):
        yield f"studies.{clashing[0]}: holds {RELEASED_PART!r}, as assets of tables do; rename it"


def _faults_of(table: TableSettings, studies: Mapping[str, Any]) -> Iterator[str]:
    yield from _faults_of_source(table)
    yield from _faults_of_columns(table)
    for study in set(table.studies or ()) - set(studies):
        yield f"studies: there is no study {study!r}; name one of the settings"


def _faults_of_source(table: TableSettings) -> Iterator[str]:
    if (table.file is None) == (table.sql is None):
        yield "file: name a CSV or Parquet file, or a query in sql, and not both"
    suffix = table.file.suffix.lower() if table.file is not None else ""
    if table.file is not None and suffix not in (".csv", ".parquet", ".ndjson"):
        yield (
            "file: ends in neither .csv, .parquet nor .ndjson; convert it, or name a query in sql"
        )
    if (suffix == ".ndjson") != bool(table.fhir):
        yield "fhir: name the type of the resources, such as Patient, of an .ndjson file alone"
    if table.fhir and (table.omop or table.patient):
        yield "fhir: resources name their patient themselves; leave out patient and omop"
    if table.sql is not None:
        yield from (f"sql.{fault}" for fault in faults_of_url(table.sql.url))
    try:
        codecs.lookup(table.encoding)
    except LookupError:
        yield "encoding: is unknown to Python; write such as utf-8 or cp1252"


def _faults_of_columns(table: TableSettings) -> Iterator[str]:
    if not table.patient and not table.omop and not table.fhir:
        yield "patient: name the column with the id of the patient; rows of nobody are not released"
    named = Counter(
        [table.patient, *table.ids, *(column for role in ROLES for column in getattr(table, role))]
    )
    for column, count in named.items():
        if column and count > 1:
            yield f"column {column!r} has two roles; choose one"
    for column in set(table.quasi) & {*table.drop, *table.notes, *table.ids, table.patient}:
        yield f"quasi: column {column!r} does not leave as a value; leave it out"
    if table.notes and "note" not in table.ids.values():
        yield "notes: name in ids the column with the id of the note, such as note_id = 'note'"
