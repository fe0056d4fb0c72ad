"""JSON Lines: one note per line, the exchange format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from deid_assets.formats.annotated import Annotated, Fault, ParsedNote, RecordError
from deid_assets.formats.fields import check_spans_count, draft_of, note_record, parse_json, to_json
from deid_assets.formats.options import ReadOptions, WriteOptions
from deid_assets.formats.source import (
    MAX_BYTES_PER_CHAR,
    SLACK_BYTES,
    Record,
    Source,
    check_by_line,
    records,
    undecodable,
)
from deid_assets.system.atomic import atomic_file


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield one parsed note or fault per line that is not blank.

    A byte order mark at the start is no content.
    """
    for line in lines(source, options):
        if isinstance(line, Fault):
            yield line
            continue
        number, text = line
        record: object = None
        try:
            if options.annotations:
                # beforehand: as objects they take twenty times the line
                check_spans_count(text.count('"start"'))
            record = parse_json(text)
            yield draft_of(record, options, file=source.name, line=number)
        except RecordError as error:
            note_id = record.get(options.columns.note_id) if isinstance(record, dict) else None
            note_id = note_id if isinstance(note_id, str) else None
            yield source.fault(error.kind, error.reason, line=number, note_id=note_id)


def lines(source: Source, options: ReadOptions) -> Iterator[tuple[int, str] | Fault]:
    """Yield each line that is not blank with its number, or why it is not read."""
    check_by_line(options.encoding)
    max_bytes = options.max_note_chars * MAX_BYTES_PER_CHAR + SLACK_BYTES
    with source.path.open("rb") as file:
        for record in records(file, max_bytes=max_bytes, encoding=options.encoding):
            text = decode_line(record, source, options.encoding, max_bytes=max_bytes)
            if isinstance(text, Fault):
                yield text
            elif text and not text.isspace():
                yield record.line, text


def decode_line(record: Record, source: Source, encoding: str, *, max_bytes: int) -> str | Fault:
    """Return the text of a line or row, without the byte order mark of the file, or why it is not
    read.
    """
    if record.content is None:
        return source.fault(
            "too-large",
            f"longer than {max_bytes} bytes; raise --read max_note_chars",
            line=record.line,
        )
    try:
        text = record.content.decode(encoding)
    except UnicodeDecodeError as error:
        return undecodable(
            source, encoding=encoding, byte=record.byte + error.start, line=record.line
        )
    return text.removeprefix("\ufeff") if record.byte == 0 else text


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write one note per line."""
    with atomic_file(path) as file:
        for annotated in notes:
            record = note_record(annotated.note, annotated.spans, options.columns)
            file.write(f"{to_json(record)}\n".encode())
