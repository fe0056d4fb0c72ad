"""Parquet: one note per row, read and written a batch at a time. pyarrow loads when a file is
opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deid_assets.formats.annotated import Annotated, Fault, ParsedNote, Problem, RecordError
from deid_assets.formats.fields import draft_of, note_record, span_record
from deid_assets.formats.options import Columns, ReadOptions, WriteOptions
from deid_assets.formats.source import MAX_BYTES_PER_CHAR, Source
from deid_assets.system.atomic import atomic_file

_READ_ROWS = 64
_GROUP_ROWS = 1_024
_GROUP_CHARS = 1 << 25
"""A row group is full at either count, so that no reader needs more than about 128 MiB for one."""


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield one parsed note or fault per row."""
    columns = options.columns
    required = (columns.note_id, columns.text, *columns.into_meta)
    max_bytes = options.max_note_chars * MAX_BYTES_PER_CHAR
    for row in rows(
        source, required, options.fields, text=columns.text, max_bytes=max_bytes, columns=columns
    ):
        if isinstance(row, Fault):
            yield row
            continue
        number, record = row
        try:
            meta = record.get(columns.meta)
            if isinstance(meta, list) and all(
                isinstance(pair, tuple) and isinstance(pair[0], str) for pair in meta
            ):
                record[columns.meta] = dict(meta)  # pyarrow gives a map as a list of pairs
            yield draft_of(record, options, file=source.name, line=number)
        except RecordError as error:
            note_id = record.get(columns.note_id)
            note_id = note_id if isinstance(note_id, str) else None
            yield source.fault(error.kind, error.reason, line=number, note_id=note_id)


def _describe_lacking(name: str, columns: Columns | None) -> str:
    """Return that a column is not there once, and what to do."""
    if columns is None:
        return f"no single column {name!r}; add it"
    remedy = f"add it, or name it with --read {columns.flag(name)}=NAME"
    return f"no single column {columns.show(name)}; {remedy}"


def rows(
    source: Source,
    required: tuple[str, ...],
    optional: tuple[str, ...],
    *,
    text: str = "",
    max_bytes: int = 0,
    columns: Columns | None = None,
) -> Iterator[tuple[int, dict[str, Any]] | Fault]:
    """Yield each row with its number from 1, or why it is not read.

    Args:
        source: A Parquet file.
        required: Columns without which the file is one fault.
        optional: Columns read where they are there; others are not loaded.
        text: A string column of which a cell longer than ``max_bytes`` is a fault and not made into
            a string.
        max_bytes: See ``text``.
        columns: Where the columns' names are for the user to choose.
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy
    import pyarrow.parquet as pq  # noqa: PLC0415 - heavy

    number = 0
    try:
        with pq.ParquetFile(source.path, page_checksum_verification=True) as file:
            present = file.schema_arrow.names
            lacking = [name for name in required if present.count(name) != 1]
            if lacking:
                yield source.fault("missing-field", _describe_lacking(lacking[0], columns))
                return
            wanted = [name for name in dict.fromkeys((*required, *optional)) if name in present]
            for number, row in enumerate(
                _cells(file, wanted, text=text, max_bytes=max_bytes), start=1
            ):
                yield (
                    source.fault(row.kind, row.reason, line=number)
                    if isinstance(row, Problem)
                    else (number, row)
                )
    except (pa.ArrowException, OSError, ValueError):
        reason = f"cannot be read as Parquet after row {number}; export the file again"
        yield source.fault("malformed", reason)


def _cells(
    file: Any, wanted: list[str], *, text: str, max_bytes: int
) -> Iterator[dict[str, Any] | Problem]:
    for batch in file.iter_batches(batch_size=_READ_ROWS, columns=wanted):
        sizes = _sizes(batch, text)
        for index in range(batch.num_rows):
            if sizes and (sizes[index] or 0) > max_bytes:
                yield Problem(
                    "too-large", f"text longer than {max_bytes} bytes; raise --read max_note_chars"
                )
            else:
                yield _row(batch, index)


def _sizes(batch: Any, text: str) -> list[int | None]:
    """Bytes per cell of a string column, without making strings.

    Empty where there is no such column.
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy
    import pyarrow.compute as pc  # noqa: PLC0415 - heavy

    if not text:
        return []
    column = batch.column(batch.schema.get_field_index(text))
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return []
    sizes: list[int | None] = pc.binary_length(column).to_pylist()
    return sizes


def _row(batch: Any, index: int) -> dict[str, Any] | Problem:
    try:
        return {name: batch.column(name)[index].as_py() for name in batch.schema.names}
    except UnicodeDecodeError as error:
        return Problem(
            "undecodable", f"byte {error.start} of a cell is not utf-8; convert the column"
        )
    except (ValueError, ArithmeticError):
        return Problem("malformed", "a cell has no value in Python; convert the column to strings")


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write one row per note."""
    import pyarrow as pa  # noqa: PLC0415 - heavy

    columns = options.columns
    schema = pa.schema(
        [
            (columns.note_id, pa.string()),
            (columns.lang, pa.string()),
            (columns.patient_id, pa.string()),
            (columns.text, pa.string()),
            (columns.spans, _spans_type()),
            (columns.meta, pa.map_(pa.string(), pa.string())),
        ]
    )
    with table_writer(path, schema) as add:
        for annotated in notes:
            record = note_record(annotated.note, annotated.spans, columns)
            record[columns.meta] = dict(annotated.note.meta)
            if annotated.spans is not None:
                record[columns.spans] = [span_record(span, full=True) for span in annotated.spans]
            add(record, len(annotated.note.text))


def _spans_type() -> Any:
    import pyarrow as pa  # noqa: PLC0415 - heavy

    strings = [(name, pa.string()) for name in ("label", "native_label", "source")]
    return pa.list_(
        pa.struct([("start", pa.int64()), ("end", pa.int64()), ("score", pa.float64()), *strings])
    )


def spans_schema() -> Any:
    """The schema of a spans file: no text."""
    import pyarrow as pa  # noqa: PLC0415 - heavy

    return pa.schema([("id", pa.string()), ("digest", pa.string()), ("spans", _spans_type())])


class RowGroups:
    """Collects records and writes them as row groups.

    Args:
        writer: A ``pyarrow.parquet.ParquetWriter``.
        schema: Its schema.
    """

    def __init__(self, writer: Any, schema: Any) -> None:
        self._writer = writer
        self._schema = schema
        self._records: list[Mapping[str, object]] = []
        self._chars = 0

    def __call__(self, record: Mapping[str, object], chars: int = 0) -> None:
        """Add one record, of which ``chars`` are text."""
        self._records.append(record)
        self._chars += chars
        if len(self._records) >= _GROUP_ROWS or self._chars >= _GROUP_CHARS:
            self.flush()

    def flush(self) -> None:
        """Write what is collected."""
        import pyarrow as pa  # noqa: PLC0415 - heavy

        if self._records:
            self._writer.write_batch(pa.RecordBatch.from_pylist(self._records, schema=self._schema))
        self._records, self._chars = [], 0


@contextmanager
def table_writer(path: Path, schema: Any) -> Iterator[RowGroups]:
    """Open a Parquet file, which appears whole or not at all, and give a function that adds a
    record.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - heavy

    with (
        atomic_file(path) as file,
        pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        groups = RowGroups(writer, schema)
        yield groups
        groups.flush()
