"""CSV after RFC 4180: one note per row, any text in quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from deid_assets.formats.annotated import Annotated, Fault, ParsedNote, RecordError
from deid_assets.formats.fields import draft_of, note_record, parse_json, to_json
from deid_assets.formats.formulas import escape_formula, move_spans, unescape_formula
from deid_assets.formats.jsonl import decode_line
from deid_assets.formats.options import Columns, ReadOptions, WriteOptions
from deid_assets.formats.source import (
    MAX_BYTES_PER_CHAR,
    SLACK_BYTES,
    Source,
    check_by_line,
    records,
)
from deid_assets.system.atomic import atomic_file


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield one parsed note or fault per row.

    Python's ``csv`` is not used: its cell limit is one for the whole process.
    """
    check_by_line(options.encoding)
    header: list[str] = []
    for row in _rows(source, options):
        if isinstance(row, Fault):
            yield row
            if not header:
                return
            continue
        line, cells = row
        if not header:
            header = cells
            if (reason := _header_fault(header, options.columns)) is not None:
                yield source.fault(*reason, line=line)
                return
            continue
        yield _parse_row(
            dict(zip(header, cells, strict=False)),
            len(cells) == len(header),
            source,
            options,
            line=line,
        )


def _parse_row(
    row: dict[str, str], whole: bool, source: Source, options: ReadOptions, *, line: int
) -> ParsedNote | Fault:
    columns = options.columns
    if not whole:
        return source.fault(
            "malformed",
            "the row has more or fewer cells than the header; quote its text",
            line=line,
        )
    try:
        before = len(row[columns.text])
        if options.formulas == "escaped":
            row = {name: unescape_formula(cell) for name, cell in row.items()}
        record: dict[str, object] = {
            name: row.get(name) or None for name in (*columns.known, *columns.into_meta)
        }
        record[columns.text] = row[columns.text]
        for name in (columns.spans, columns.meta):
            if name in options.fields:
                record[name] = parse_json(row[name]) if row.get(name) else None
        record[columns.spans] = move_spans(record[columns.spans], len(row[columns.text]) - before)
        return draft_of(record, options, file=source.name, line=line)
    except RecordError as error:
        return source.fault(error.kind, error.reason, line=line, note_id=row[columns.note_id])


def _header_fault(header: list[str], columns: Columns) -> tuple[str, str] | None:
    for name in (columns.note_id, columns.text, *columns.into_meta):
        if name not in header:
            reason = (
                f"no column {columns.show(name)} in the header; add it, or name it with --read"
                f" {columns.flag(name)}=NAME, and the delimiter with --read delimiter=';'"
            )
            return "missing-field", reason
    if len(set(header)) != len(header):
        return "malformed", "two columns have the same name; rename one"
    return None


def _rows(source: Source, options: ReadOptions) -> Iterator[tuple[int, list[str]] | Fault]:
    max_bytes = options.max_note_chars * MAX_BYTES_PER_CHAR + SLACK_BYTES
    cell = _cell(options.delimiter)
    with source.path.open("rb") as file:
        for record in records(file, max_bytes=max_bytes, quote=b'"', encoding=options.encoding):
            text = decode_line(record, source, options.encoding, max_bytes=max_bytes)
            if isinstance(text, Fault):
                yield text
                continue
            row = text.removesuffix("\n").removesuffix("\r") if record.closed else text
            if not row and record.closed:
                continue
            cells = _split(row, cell) if record.closed else None
            if cells is None:
                reason = (
                    "the row is not CSV: a quote or line break stands alone; put cells that have"
                    " them in quotes"
                )
                yield source.fault("malformed", reason, line=record.line)
            else:
                yield record.line, cells


def _cell(delimiter: str) -> re.Pattern[str]:
    # Possessive, so that a cell of any length costs neither backtracking nor memory.
    mark = re.escape(delimiter)
    return re.compile(rf'(?:"((?:[^"]++|"")*+)"|([^"\r\n{mark}]*+))({mark}|\Z)')


def _split(row: str, cell: re.Pattern[str]) -> list[str] | None:
    cells: list[str] = []
    position = 0
    while match := cell.match(row, position):
        cells.append(match[2] if match[1] is None else match[1].replace('""', '"'))
        position = match.end()
        if not match[3]:
            return cells
    return None


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write a header and one row per note."""
    names = options.columns.known
    with atomic_file(path) as file:
        file.write(_row(names, options.delimiter))
        for annotated in notes:
            record = note_record(annotated.note, annotated.spans, options.columns)
            if (
                options.formulas == "escaped"
                and escape_formula(annotated.note.text) != annotated.note.text
            ):
                record[options.columns.spans] = move_spans(record.get(options.columns.spans), 1)
            for name in (options.columns.spans, options.columns.meta):
                if record.get(name) is not None:
                    record[name] = to_json(record[name])
            cells = [str(record.get(name) or "") for name in names]
            file.write(
                _row(
                    map(escape_formula, cells) if options.formulas == "escaped" else cells,
                    options.delimiter,
                )
            )


def _row(cells: Iterable[str], delimiter: str) -> bytes:
    special = re.compile(f'["\r\n{re.escape(delimiter)}]')
    quoted = (
        '"' + cell.replace('"', '""') + '"' if special.search(cell) else cell for cell in cells
    )
    return f"{delimiter.join(quoted)}\r\n".encode()
