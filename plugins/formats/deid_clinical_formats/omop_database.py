"""Rows of the OMOP table ``NOTE`` from a database. SQLAlchemy loads when one is opened.

Neither the address of a database nor what it says of an error stands in a message: both may hold a
password or text.
"""

from __future__ import annotations

import os
import re
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

from deid_assets.extending.formats import Fault, Source, read_bytes

COLUMNS = ("note_id", "note_text", "person_id", "language_concept_id", "note_source_value")
"""Those of ``NOTE`` that are read."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_MAX_BYTES = 1 << 16
_MAX_BATCH = 100_000


@dataclass(frozen=True, slots=True)
class NoteTable:
    """Location of a ``NOTE`` table.

    Args:
        url: As SQLAlchemy has it, hidden from ``repr``.
        table: Its name.
        schema: Its schema, where it is not the default one.
        batch: Rows held at a time.
    """

    url: str = field(repr=False)
    table: str = "note"
    schema: str | None = None
    batch: int = 256


def database_of(source: Source) -> NoteTable | Fault:
    """Return the database that a TOML file names.

    The file names it by ``url_env``, and by ``table``, ``schema`` and ``batch``.
    """
    blob = read_bytes(source, max_bytes=_MAX_BYTES)
    if isinstance(blob, Fault):
        return blob
    try:
        settings = tomllib.loads(blob.decode())
    except (ValueError, RecursionError):
        return source.fault(
            "malformed", "is not TOML in UTF-8; write url_env, and table, schema or batch"
        )
    variable = settings.pop("url_env", None)
    if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
        reason = (
            "names no environment variable; set url_env to the name of the one that holds the"
            " database's URL"
        )
        return source.fault("missing-field", reason)
    url = os.environ.get(variable)
    if not url:
        reason = f"the environment variable {variable} is not set; set it to the database's URL"
        return source.fault("missing-field", reason)
    known = {entry.name: entry.type for entry in fields(NoteTable)} | {"url": None}
    for name, value in settings.items():
        if name not in known or name == "url" or not _is_valid(name, value):
            shown = name if name in known else "a key"
            reason = (
                f"{shown} is not known or not of its type; write url_env, table, schema and batch"
                " only"
            )
            return source.fault("malformed", reason)
    return NoteTable(url, **settings)


def _is_valid(name: str, value: object) -> bool:
    if name == "batch":
        return type(value) is int and 0 < value <= _MAX_BATCH
    return isinstance(value, str) and bool(value)


def database_rows(
    database: NoteTable, file: str
) -> Iterator[tuple[int, Mapping[str, object]] | Fault]:
    """Yield each row with its number from 1, in the order of ``note_id``; a failure is the last.

    Args:
        database: Where to read.
        file: What a fault names as its place.
    """
    from sqlalchemy import column, create_engine, select, table  # noqa: PLC0415 - heavy
    from sqlalchemy.exc import SAWarning, SQLAlchemyError  # noqa: PLC0415 - heavy

    notes = table(database.table, *map(column, COLUMNS), schema=database.schema)
    number = 0
    try:
        with warnings.catch_warnings(action="ignore", category=SAWarning):
            # they show parts of the URL
            engine = create_engine(database.url, hide_parameters=True)
        try:
            with engine.connect().execution_options(yield_per=database.batch) as connection:
                for number, row in enumerate(
                    connection.execute(select(notes).order_by(notes.c.note_id)), start=1
                ):
                    yield number, dict(zip(COLUMNS, row, strict=True))
        finally:
            engine.dispose()
    except (SQLAlchemyError, ImportError, TypeError, ValueError, OSError) as error:
        kind = type(error).__name__
        reason = (
            f"the database failed after row {number} ({kind}); check its URL, its driver, the table"
            " and the rights"
        )
        yield Fault.at(file, "unreadable", reason)
