"""Folders of plain text: one file per note, named by its id, without annotation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.formats.annotated import Annotated, Fault, ParsedNote
from deid_assets.formats.members import write_member
from deid_assets.formats.options import ReadOptions, WriteOptions
from deid_assets.formats.source import Source, read_text
from deid_assets.system.atomic import atomic_folder


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield the file as one note; a byte order mark belongs to its text."""
    text = read_text(
        source, encoding=options.encoding, max_chars=options.max_note_chars, note_id=source.note_id
    )
    yield text if isinstance(text, Fault) else ParsedNote(source.name, source.note_id, text)


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write one file per note.

    Raises:
        InputError: A note has spans, which plain text cannot hold, or no text.
    """
    del options
    with atomic_folder(path) as folder:
        for annotated in notes:
            if annotated.spans is not None:
                raise InputError(
                    f"note {annotated.note.note_id!r}: plain text holds no spans; write another"
                    " format, or leave them out"
                )
            write_text(folder, annotated.note)


def write_text(folder: Path, note: Note) -> None:
    """Write the text of one note as ``<id>.txt``.

    Raises:
        InputError: The note has no text: an empty file reads as a fault.
    """
    if not note.text:
        raise InputError(
            f"note {note.note_id!r}: an empty note cannot be a text file; write jsonl, csv or"
            " parquet"
        )
    write_member(folder, note.note_id, ".txt", note.text)
