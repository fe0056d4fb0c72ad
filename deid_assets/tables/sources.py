"""Rows of a table, some at a time: of a CSV or Parquet file, or of a query."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from deid_assets.config.feeds import SqlOptions
from deid_assets.config.tables import TableSettings, TableSql
from deid_assets.core.errors import InputError
from deid_assets.tables.faults import Faults
from deid_assets.tables.fhir_lines import SUFFIX, ResourceLines

BLOCK_BYTES = 8 << 20
BATCH_ROWS = 65_536
_READ_AS = {".csv": "CSV", ".parquet": "Parquet", SUFFIX: "NDJSON"}
_DIFFERENT = "the table changed while it was read; read it again when nothing writes to it"


@dataclass(slots=True)
class TableRows:
    """A table that is read once, from its first row to its last.

    Args:
        names: Of its columns, in order.
        faults: What could not be read.
        digest: SHA-256 of the file, or of the rows of a query; there once all rows are read.
        left_out: Values of FHIR resources that are not among the rows, since they may be any text.
    """

    names: list[str]
    faults: Faults
    _batches: Iterator[pa.RecordBatch] = field(repr=False)
    digest: str = ""
    left_out: Faults = field(default_factory=Faults)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows, strings in UTF-8."""
        yield from self._batches


@contextmanager
def open_table(settings: TableSettings) -> Iterator[TableRows]:
    """Open a table.

    Raises:
        InputError: It cannot be read, or changed meanwhile.
    """
    if settings.sql is not None:
        with _open_query(settings.sql) as rows:
            yield rows
        return
    path = settings.file or Path()
    try:
        before = _sha256(path)
        with path.open("rb") as file:
            rows = _rows_of(file, settings)
            rows.digest = before
            yield rows
        if _sha256(path) != before:
            raise InputError(_DIFFERENT)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check its name") from None
    except (pa.ArrowException, UnicodeError):
        raise InputError(
            f"{path}: cannot be read as {_READ_AS[path.suffix.lower()]} in {settings.encoding};"
            " export it again, or correct encoding and separator"
        ) from None


def _rows_of(file: Any, settings: TableSettings) -> TableRows:
    suffix = (settings.file or Path()).suffix.lower()
    if suffix == SUFFIX:
        return _fhir_rows(file, settings)
    return _csv_rows(file, settings) if suffix == ".csv" else _parquet_rows(file)


def _fhir_rows(file: Any, settings: TableSettings) -> TableRows:
    lines = ResourceLines(settings, Faults())
    lines.scan(file)
    file.seek(0)
    return TableRows([*lines.kinds], lines.faults, lines.batches(file), left_out=lines.left_out)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _csv_rows(file: Any, settings: TableSettings) -> TableRows:
    faults = Faults()

    def misshapen(row: Any) -> str:
        reason = f"has {row.actual_columns} columns in place of {row.expected_columns}"
        faults.add((row.number or 1) - 1, "", f"{reason}; write it again, quoted where needed")
        return "skip"

    parse = pa_csv.ParseOptions(
        delimiter=settings.separator, newlines_in_values=True, invalid_row_handler=misshapen
    )
    read = pa_csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, encoding=settings.encoding)
    names = _header(settings, parse)
    convert = pa_csv.ConvertOptions(
        check_utf8=False,
        strings_can_be_null=False,
        column_types=dict.fromkeys(names, pa.binary()),
    )
    reader = pa_csv.open_csv(file, read_options=read, parse_options=parse, convert_options=convert)
    return TableRows(reader.schema.names, faults, _texts(reader, faults))


def _header(settings: TableSettings, parse: pa_csv.ParseOptions) -> list[str]:
    """Return the names of the columns, of which the types must be said before any row is read."""
    read = pa_csv.ReadOptions(use_threads=False, block_size=1 << 20, encoding=settings.encoding)
    quiet = pa_csv.ParseOptions(
        delimiter=parse.delimiter, newlines_in_values=True, invalid_row_handler=lambda _: "skip"
    )
    convert = pa_csv.ConvertOptions(check_utf8=False)
    with pa_csv.open_csv(
        settings.file, read_options=read, parse_options=quiet, convert_options=convert
    ) as reader:
        names: list[str] = reader.schema.names
        return names


def _texts(batches: Iterator[pa.RecordBatch], faults: Faults) -> Iterator[pa.RecordBatch]:
    """Yield the rows as strings, empty cells as null; what is not in UTF-8 is a fault."""
    first = 1
    for batch in batches:
        columns = [
            _text(batch.column(at), batch.schema.names[at], first, faults)
            for at in range(batch.num_columns)
        ]
        yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
        first += batch.num_rows


def _text(cells: pa.Array, name: str, first: int, faults: Faults) -> pa.Array:
    try:
        text = pc.cast(cells, pa.string())
    except pa.ArrowInvalid:
        values = [_decode(cell) for cell in cells.to_pylist()]
        bad = [first + at for at, value in enumerate(values) if value is None]
        faults.add_rows(bad, name, "is not in UTF-8; export the table so, or name its encoding")
        text = pa.array(values, pa.string())
    text = pc.utf8_trim_whitespace(text)
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _decode(cell: bytes) -> str | None:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


def _parquet_rows(file: Any) -> TableRows:
    table = pq.ParquetFile(file, page_checksum_verification=True)
    batches = (_plain(batch) for batch in table.iter_batches(batch_size=BATCH_ROWS))
    return TableRows(table.schema_arrow.names, Faults(), batches)


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch without dictionaries, and with one kind of string."""
    columns = []
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()  # noqa: PLW2901 - the same column
        if pa.types.is_large_string(column.type):
            column = column.cast(pa.string())  # noqa: PLW2901 - the same column
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


@contextmanager
def _open_query(given: TableSql) -> Iterator[TableRows]:
    from sqlalchemy import text  # noqa: PLC0415 - takes 0.2 s to import

    from deid_assets.feeds.sql import engine_of, failing, url_of  # noqa: PLC0415 - the same

    address = SqlOptions(url=given.url, password_env=given.password_env, query=given.query)
    engine = engine_of(url_of(address))
    try:
        with failing(), engine.connect() as connection:
            options = {"yield_per": given.fetch, "postgresql_readonly": True}
            query = text(given.query.strip().rstrip(";").replace(":", r"\:"))
            result = connection.execution_options(**options).execute(query)
            rows = TableRows([*result.keys()], Faults(), iter(()))
            rows._batches = _query_rows(result, rows)  # noqa: SLF001 - our own, made in two steps
            yield rows
    finally:
        engine.dispose()


def _query_rows(result: Any, rows: TableRows) -> Iterator[pa.RecordBatch]:
    digest, first = hashlib.sha256(), 1
    for part in result.partitions():
        columns = [[_read_cell(cell) for cell in column] for column in zip(*part, strict=True)]
        for name, column in zip(rows.names, columns, strict=True):
            bad = [first + at for at, cell in enumerate(column) if isinstance(cell, bytes)]
            rows.faults.add_rows(bad, name, "holds bytes; convert it in the query")
        texts = [[None if isinstance(cell, bytes) else cell for cell in one] for one in columns]
        digest.update(repr(texts).encode())
        first += len(part)
        arrays = [pa.array(cells, pa.string()) for cells in texts]
        yield pa.RecordBatch.from_arrays(arrays, names=rows.names)
    rows.digest = digest.hexdigest()


def _read_cell(cell: Any) -> str | bytes | None:
    """Return a cell as text, or as bytes where it is no text."""
    if cell is None:
        return None
    if isinstance(cell, bytes):
        return bytes(cell)
    if isinstance(cell, datetime):
        if cell.tzinfo is not None:
            cell = cell.astimezone(UTC)  # the session's zone is no part of what was stored
        return str(cell.isoformat(sep=" "))
    if isinstance(cell, date):
        return str(cell.isoformat())
    return str(cell).strip() or None


def report_changed() -> InputError:
    """Return the error of a table that is not what was checked."""
    return InputError("the table is not the one that was checked; check it again, then release it")
