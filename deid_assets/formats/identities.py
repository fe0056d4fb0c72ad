"""Who the notes are about, from structured data.

Names, dates, addresses and numbers that are known to identify.

One shape for every source: a value, its kind, and the patient whose notes may hold it. Neither a
value nor a patient stands in ``repr``, in a message or in a log.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Literal, cast, get_args

from deid_assets.core.errors import DeidError, InputError
from deid_assets.formats.annotated import Fault, RecordError
from deid_assets.formats.catalogue import FORMATS, Format, format_named
from deid_assets.formats.declared import check_error, declare_fault
from deid_assets.formats.fields import is_encodable
from deid_assets.formats.jsonl import decode_line
from deid_assets.formats.options import ReadOptions
from deid_assets.formats.registry import detect_format
from deid_assets.formats.source import Selection, Source, check_by_line, files, records

IdentityKind = Literal[
    "name",
    "given_name",
    "family_name",
    "alias",
    "birth_date",
    "address",
    "city",
    "zip",
    "phone",
    "email",
    "record_number",
    "national_id",
    "relative",
    "staff",
]
KINDS: tuple[IdentityKind, ...] = get_args(IdentityKind)
"""Every kind of identity."""

_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?", re.ASCII)
_MAX_ROW_BYTES = 1 << 16
_COLUMNS = ("patient_id", "kind", "value")
_DEFAULT = ReadOptions()


@dataclass(frozen=True, slots=True)
class Identity:
    """One value that is known to identify.

    Args:
        patient_id: As in ``Note.patient_id``; ``None`` for staff of no one patient, whose values
            hold for all notes.
        kind: ``name`` is a whole name, given names first; ``relative`` and ``staff`` are whole
            names of others; ``address`` is a street with its number; ``birth_date`` is ISO 8601: a
            year, a month or a day.
        value: Not empty, without white space at its ends.
    """

    patient_id: str | None = field(repr=False)
    kind: IdentityKind
    value: str = field(repr=False)


Reader = Callable[[Source, ReadOptions], Iterator[Identity | Fault]]


def identity_formats() -> list[str]:
    """Return the names of the formats that identities are read from."""
    return ["csv", *sorted(known.name for known in FORMATS.values() if known.identities_module)]


def read_identities(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    options: ReadOptions = _DEFAULT,
) -> Iterator[Identity | Fault]:
    """Yield each identity once for every place that has it, and each fault in its place.

    A fault means that identities are missing: what is looked for with the rest may be overlooked in
    the notes.

    Args:
        path: A file, or a folder with files of one format in it and below.
        format: ``csv`` (columns ``patient_id``, ``kind``, ``value``) or another of
            ``identity_formats()``; detected when not given.
        options: ``encoding`` and ``delimiter`` of CSV; ``max_note_chars`` bounds a record of the
            others.

    Raises:
        InputError: The path is not there, or the format is unknown, unclear or holds no identities.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist; name a file or folder of identities")
    name = format or detect_format(path)
    known = format_named(name)
    if name not in identity_formats():
        raise InputError(
            f"{name} holds no identities that can be read; choose one of"
            f" {', '.join(identity_formats())}"
        )
    return _read(path, known, options)


def _read(path: Path, known: Format, options: ReadOptions) -> Iterator[Identity | Fault]:
    reader = (
        read_csv
        if known.name == "csv"
        else cast("Reader", import_module(known.identities_module).identities)
    )
    is_empty = True
    for source in files(path, Selection(known.suffixes, options.ignore)):
        if isinstance(source, Fault):
            yield source
            is_empty = False
            continue
        try:
            for found in reader(source, options):
                is_empty = False
                yield declare_fault(found, known, source) if isinstance(found, Fault) else found
        except OSError:
            is_empty = False
            yield source.fault(
                "unreadable", "cannot be opened or read to its end; check its permissions"
            )
        except DeidError as error:
            check_error(error, known)
            raise
    if is_empty:
        yield Fault.at(
            ".",
            "empty-file",
            f"no identity that can be read as {known.name} is there; name another file",
        )


def identity(patient_id: str | None, kind: str, value: str) -> Identity:
    """Return an identity after checking it.

    Raises:
        RecordError: The kind is unknown, the value empty or not of its kind, or a patient is
            lacking.
    """
    if kind not in KINDS:
        raise RecordError("malformed", f"the kind is none of {', '.join(KINDS)}; choose one")
    value = value.strip()
    patient_id = patient_id.strip() if patient_id else None
    if not value:
        raise RecordError("missing-field", f"the value of a {kind} is empty; fill it or remove it")
    if not is_encodable(value) or not is_encodable(patient_id or ""):
        raise RecordError(
            "undecodable", f"a {kind} holds a lone surrogate; decode the source as UTF-8 or UTF-16"
        )
    if kind == "birth_date" and not _DATE.fullmatch(value):
        raise RecordError(
            "malformed", "a birth_date is not YYYY, YYYY-MM or YYYY-MM-DD; write it so"
        )
    if not patient_id and kind != "staff":
        raise RecordError(
            "missing-field", f"a {kind} has no patient_id; only staff belong to no one patient"
        )
    return Identity(patient_id or None, kind, value)


Known = tuple[str | None, str, str]
"""Patient, kind and value, unchecked."""


def check_values(
    known: Iterable[Known], source: Source, *, line: int | None = None, place: str = ""
) -> Iterator[Identity | Fault]:
    """Yield an identity, or a fault, for each value.

    Where the values themselves break off, a fault is the last.

    Args:
        known: Raises ``RecordError`` where a record cannot be read any further.
        source: The file.
        line: Of the record.
        place: Begins the reason of a fault.
    """
    try:
        for patient_id, kind, value in known:
            try:
                found: Identity | Fault = identity(patient_id, kind, value)
            except RecordError as error:
                found = source.fault(error.kind, place + error.reason, line=line)
            yield found
    except RecordError as error:
        yield source.fault(error.kind, place + error.reason, line=line)


def read_csv(source: Source, options: ReadOptions = _DEFAULT) -> Iterator[Identity | Fault]:
    """Yield one identity or fault per row of a CSV file with a header that has the
    three columns.
    """
    check_by_line(options.encoding)
    header: list[str] = []
    with source.path.open("rb") as file:
        for record in records(file, max_bytes=_MAX_ROW_BYTES, quote=b'"'):
            text = decode_line(record, source, options.encoding, max_bytes=_MAX_ROW_BYTES)
            if isinstance(text, Fault):
                yield text
                continue
            try:
                row = _cells(text, options.delimiter, is_closed=record.closed)
                if not header:
                    _check_header(row)
                    header = row
                elif row:
                    yield _of_row(header, row)
            except RecordError as error:
                yield source.fault(error.kind, error.reason, line=record.line)
                if not header:
                    return


def _cells(text: str, delimiter: str, *, is_closed: bool) -> list[str]:
    row = text.removesuffix("\n").removesuffix("\r")
    try:
        (cells,) = (
            csv.reader([row], delimiter=delimiter, strict=True) if row and is_closed else ([],)
        )
    except (csv.Error, ValueError):
        is_closed = False
    if not is_closed:
        raise RecordError(
            "malformed",
            "the row is not CSV: a quote or line break stands alone; put the cell in quotes",
        )
    return cells


def _check_header(header: list[str]) -> None:
    if any(header.count(name) != 1 for name in _COLUMNS):
        raise RecordError(
            "missing-field", "the header has not one patient_id, one kind and one value; write them"
        )


def _of_row(header: list[str], row: list[str]) -> Identity:
    if len(row) != len(header):
        raise RecordError(
            "malformed",
            "the row has more or fewer cells than the header; quote a cell with a comma",
        )
    patient_id, kind, value = (row[header.index(name)] for name in _COLUMNS)
    return identity(patient_id, kind.strip(), value)
