"""OMOP CDM 5.4: the table ``NOTE``.

It is read from Parquet or a database, and written as Parquet with ``NOTE_NLP``. A note is
``note_text``; its id is ``note_id`` and its patient ``person_id``. Other columns are left out: they
may identify. Column names are those of the CDM in lower or upper case. A Parquet file without
``note_text`` is another table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from decimal import Decimal

from deid_assets.extending.formats import (
    MAX_BYTES_PER_CHAR,
    Fault,
    ParsedNote,
    ReadOptions,
    RecordError,
    Source,
    optional_string,
    require_string,
    rows,
)
from deid_clinical_formats.omop_database import COLUMNS, database_of, database_rows

ENGLISH = 4180186
"""Concept of the language.

Concepts of other languages are not known here, so that ``--lang`` has to name them.
"""
_MAX_FLOAT = 2**53


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield one parsed note or fault per row.

    A file ``.omop`` names a database (see ``read_omop``).
    """
    if source.path.suffix.lower() == ".omop":
        database = database_of(source)
        found = (
            iter([database])
            if isinstance(database, Fault)
            else database_rows(database, source.name)
        )
    else:
        found = _rows(source, options)
    for row in found:
        yield row if isinstance(row, Fault) else draft_of_row(*row, file=source.name)


def _rows(
    source: Source, options: ReadOptions
) -> Iterator[tuple[int, Mapping[str, object]] | Fault]:
    """Yield each row under the names of the CDM in lower case."""
    names = _names(source)
    if names and "note_text" not in names:
        return
    actual = {name: names.get(name, name) for name in COLUMNS}
    required = (actual["note_id"], actual["note_text"])
    max_bytes = options.max_note_chars * MAX_BYTES_PER_CHAR
    for row in rows(
        source, required, (*actual.values(),), text=actual["note_text"], max_bytes=max_bytes
    ):
        yield (
            row
            if isinstance(row, Fault)
            else (row[0], {name: row[1].get(actual[name]) for name in COLUMNS})
        )


def _names(source: Source) -> dict[str, str]:
    """Return column names by their lower case.

    None where the file is no Parquet, which reading its rows reports.
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy
    import pyarrow.parquet as pq  # noqa: PLC0415 - heavy

    try:
        return {name.lower(): name for name in pq.read_schema(source.path).names}
    except (pa.ArrowException, OSError, ValueError):
        return {}


def draft_of_row(row: int, record: Mapping[str, object], *, file: str) -> ParsedNote | Fault:
    """Return the parsed of one row of ``NOTE``, or why there is none; ``row`` counts from 1."""
    note_id = None
    try:
        note_id = _note_id(record)
        person = integer(record, "person_id")
        return ParsedNote(
            file,
            note_id,
            require_string(record, "note_text", encodable=False),
            line=row,
            patient_id=None if person is None else str(person),
            lang="en" if integer(record, "language_concept_id") == ENGLISH else None,
        )
    except RecordError as error:
        return Fault.at(file, error.kind, error.reason, line=row, note_id=note_id)


def integer(record: Mapping[str, object], name: str) -> int | None:
    """Return a whole number, however the table stores it.

    Raises:
        RecordError: The column holds something else.
    """
    value = record.get(name)
    if value is None or type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) <= _MAX_FLOAT:
        return int(value)
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        return int(value)
    raise RecordError(
        "malformed", f"{name} is no whole number; OMOP has whole numbers for ids and concepts"
    )


def number_of(note_id: str) -> int:
    """Return the ``note_id`` of a note.

    The id itself where it is a whole number, else one made of its SHA-256.
    """
    if (
        note_id.isascii()
        and note_id.isdecimal()
        and str(int(note_id[:20])) == note_id
        and int(note_id) < 2**63
    ):
        return int(note_id)
    return int.from_bytes(hashlib.sha256(note_id.encode()).digest()[:8]) >> 1


def _note_id(record: Mapping[str, object]) -> str:
    """The id that the writer was given, which it keeps in ``note_source_value``.

    Else the number.
    """
    number, source_value = integer(record, "note_id"), optional_string(record, "note_source_value")
    if number is None:
        raise RecordError("missing-field", "no note_id; every note has one")
    is_ours = source_value is not None and number_of(source_value) == number
    return source_value if is_ours and source_value else str(number)
