"""Notes and spans on their way through a command, a chunk at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from deid_assets.cli.app import say
from deid_assets.core.detector import Failed
from deid_assets.core.errors import InputError
from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.formats import Annotated, Fault, read_notes, read_spans

CHUNK_CHARS = 500_000


class Withheld:
    """Counts what could not be processed and names each on standard error."""

    def __init__(self) -> None:
        self.notes = 0

    def fault(self, fault: Fault) -> None:
        """Report a fault of the input."""
        self.notes += 1
        say(fault.message)

    def failed(self, failed: Failed) -> None:
        """Report a note that a stage could not process."""
        self.notes += 1
        say(f"note {failed.note_id!r}: {failed.error} in {failed.stage}; withheld")


def annotated(
    path: Path, withheld: Withheld, *, format_name: str | None, labels: str, lang: str | None = None
) -> Iterator[Annotated]:
    """Yield the notes of a file or folder; faults are reported and passed over."""
    for found in read_notes(path, format=format_name, labels=label_map(labels)):
        if isinstance(found, Fault):
            withheld.fault(found)
        elif lang is not None and found.note.lang is None:
            note = Note(found.note.note_id, found.note.text, found.note.patient_id, lang, found.note.meta)
            yield Annotated(note, found.spans)
        else:
            yield found


def chunks(notes: Iterator[Annotated]) -> Iterator[list[Note]]:
    """Yield lists of notes of about half a million characters."""
    chunk: list[Note] = []
    size = 0
    for found in notes:
        chunk.append(found.note)
        size += len(found.note.text)
        if size >= CHUNK_CHARS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def spans_by_note(path: Path) -> dict[str, SpanSet]:
    """Return a spans file by note id.

    Raises:
        InputError: A line is wrong. A spans file is ours to write, so a fault in it stops the command.
    """
    found: dict[str, SpanSet] = {}
    for spans in read_spans(path):
        if isinstance(spans, Fault):
            raise InputError(spans.message)
        found[spans.note_id] = spans
    return found


@contextmanager
def progress(what: str) -> Iterator[Any]:
    """Show how many notes are done on a terminal; call the value with the number of new ones."""
    console = Console(file=sys.stderr)
    columns = (SpinnerColumn(), TextColumn(what), MofNCompleteColumn(), TextColumn("notes"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda notes: bar.advance(task, notes)
