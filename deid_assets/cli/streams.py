"""Notes and spans on their way through a command, a chunk at a time."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from deid_assets.cli.endings import say
from deid_assets.config.secret import secret_of_environment
from deid_assets.core.detector import Failed
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note, chunks_of
from deid_assets.core.phi import LabelMap
from deid_assets.core.span import SpanSet
from deid_assets.formats import (
    Annotated,
    Fault,
    ReadOptions,
    detect_format,
    format_named,
    read_notes,
    read_spans,
)
from deid_assets.formats.by_note import ByNote
from deid_assets.formats.read_settings import READ_SETTINGS, read_options
from deid_assets.languages import language_of
from deid_assets.store.sealing import DigestSeal

__all__ = [
    "READ_SETTINGS",
    "NoteSource",
    "SpansFile",
    "Withheld",
    "progress",
    "read_options",
    "seal_of_environment",
]

CHUNK_CHARS = 250_000
"""Text given to a detector at once, and a step of the progress line."""
MAX_CHUNK_CHARS = 2_000_000
QUICK_S = 1.0
BATCH_CHARS = 16_000_000
"""Text of a batch, about, as in the graph.

A draw of its notes is searched, and no surrogate is one of its values.
"""
PATIENTS_CHARS = 1_000_000
"""Text of a batch where nothing is drawn: enough to hold the notes of a patient together."""


class Withheld:
    """Counts the notes that could not be processed and names each on standard error."""

    def __init__(self) -> None:
        self._notes: dict[str, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._notes)

    def fault(self, fault: Fault) -> None:
        """Report a fault of the input; a note with several counts once."""
        place = fault.file if fault.line is None else f"{fault.file}:{fault.line}"
        is_second = fault.kind == "duplicate-id"  # its id is that of another, good note
        self._add(
            place if is_second or fault.note_id is None else fault.note_id,
            fault.note_id,
            place,
            fault.kind,
        )
        say(fault.message)

    def report_failed(self, failed: Failed) -> None:
        """Report a note that a stage could not process."""
        self._add(failed.note_id, failed.note_id, None, f"{failed.error} in {failed.stage}")
        say(f"note {failed.note_id!r}: {failed.error} in {failed.stage}; withheld")

    def to_json(self) -> list[dict[str, Any]]:
        """Return each note with its place in the input and the reason."""
        return list(self._notes.values())

    def _add(self, key: str, note_id: str | None, place: str | None, reason: str) -> None:
        self._notes.setdefault(key, {"note": note_id, "place": place, "reason": reason})


@dataclass(frozen=True, slots=True)
class NoteSource:
    """The notes of a command.

    Args:
        path: File or folder.
        chosen_format: Name of the format; detected where not given.
        lang: For notes that name no language, ISO 639-1; detected from the text when not given.
        options: How they are read.

    Raises:
        InputError: The path is not there, or its format unknown or unclear.
        ConfigError: ``lang`` is no code.
    """

    path: Path
    chosen_format: str | None
    lang: str | None
    options: ReadOptions
    format_name: str = field(init=False)

    def __post_init__(self) -> None:
        if self.lang is not None and not re.fullmatch("[a-z]{2}", self.lang):
            raise ConfigError(
                f"--lang is {self.lang!r}; give a code of two letters as in ISO 639-1, such as en"
            )
        if not self.path.exists():
            raise InputError(f"{self.path} does not exist; name a file or folder of notes")
        if not (self.path.is_file() or self.path.is_dir()):
            raise InputError(
                f"{self.path} is a pipe or a device; write its content to a file and name that"
            )
        object.__setattr__(self, "format_name", self.chosen_format or detect_format(self.path))
        format_named(self.format_name)

    def read(self, labels: LabelMap | None = None) -> Iterator[Annotated | Fault]:
        """Yield notes, with the language given or detected where they have none, and faults."""
        notes = read_notes(
            self.path,
            format=self.format_name,
            labels=labels,
            options=self.options,
            ignored=_say_ignored,
        )
        for found in notes:
            if isinstance(found, Annotated) and found.note.lang is None:
                lang = self.lang or language_of(found.body)
                yield replace(found, note=replace(found.note, lang=lang))
            else:
                yield found

    def batches(self, withheld: Withheld, *, chars: int = BATCH_CHARS) -> Iterator[list[Note]]:
        """Yield lists of notes of about so many characters, each with all notes of its patients.

        Faults are reported and passed over. An input of more than one batch is read twice: to see
        where each patient's last note stands, and to give its notes. Memory is that of a batch, and
        grows with how far apart the notes of one patient stand.

        Raises:
            InputError: There was no note that could be read.
        """
        is_empty = True
        for batch in self._batches(chars):
            for found in batch:
                if isinstance(found, Fault):
                    withheld.fault(found)
            notes = [found.note for found in batch if isinstance(found, Annotated)]
            is_empty = is_empty and not notes
            if notes:
                yield notes
        if is_empty:
            raise InputError(f"{self.path}: no note could be read; nothing was written")

    def _batches(self, chars: int) -> Iterator[list[Annotated | Fault]]:
        entries, last, size = list[Annotated | Fault](), dict[str | None, int](), 0
        for number, found in enumerate(self.read()):
            size += _size(found)
            if size < chars:
                entries.append(found)
            else:
                entries.clear()
            if isinstance(found, Annotated) and found.note.patient_id is not None:
                last[found.note.patient_id] = number
        if size < chars:
            yield entries
        else:
            yield from _batch_patients(self.read(), last, chars)

    def chunks(self, withheld: Withheld, *, growing: bool = False) -> Iterator[list[Note]]:
        """Yield lists of notes of about ``CHUNK_CHARS`` characters or more.

        Faults are reported and passed over.

        Args:
            withheld: Where faults are reported.
            growing: Whether they grow up to ``MAX_CHUNK_CHARS`` where each is done before the next
                is taken, and soon.

        Raises:
            InputError: There was no note that could be read.
        """
        is_empty = True

        def notes() -> Iterator[Note]:
            nonlocal is_empty
            for found in self.read():
                if isinstance(found, Fault):
                    withheld.fault(found)
                else:
                    is_empty = False
                    yield found.note

        yield from _growing_chunks(notes()) if growing else chunks_of(notes(), CHUNK_CHARS)
        if is_empty:
            raise InputError(f"{self.path}: no note could be read; nothing was written")


def _growing_chunks(notes: Iterator[Note]) -> Iterator[list[Note]]:
    """Yield lists of notes, twice as much text as before while a list is done within ``QUICK_S``.

    A quick detector reads much text at once faster, as its tables stay in the processor's cache;
    with a slow one, the progress line must move.
    """
    chars = CHUNK_CHARS
    while chunk := next(chunks_of(notes, chars), None):
        started = time.monotonic()
        yield chunk
        if time.monotonic() - started < QUICK_S:
            chars = min(2 * chars, MAX_CHUNK_CHARS)


def _batch_patients(
    entries: Iterable[Annotated | Fault], last: Mapping[str | None, int], chars: int
) -> Iterator[list[Annotated | Fault]]:
    """Yield entries in batches, each in the order of the input.

    ``last`` has the place of each patient's last note.
    """
    waiting: dict[str, list[tuple[int, Annotated | Fault]]] = {}
    batch: list[tuple[int, Annotated | Fault]] = []
    size = 0
    for number, found in enumerate(entries):
        owner = found.note.patient_id if isinstance(found, Annotated) else None
        if owner is not None and last[owner] > number:
            waiting.setdefault(owner, []).append((number, found))
            continue
        ready = [*(waiting.pop(owner, ()) if owner is not None else ()), (number, found)]
        batch += ready
        size += sum(_size(entry) for _, entry in ready)
        if size >= chars:
            yield [entry for _, entry in sorted(batch, key=itemgetter(0))]
            batch, size = [], 0
    if batch:
        yield [entry for _, entry in sorted(batch, key=itemgetter(0))]


def _size(found: Annotated | Fault) -> int:
    return len(found.note.text) if isinstance(found, Annotated) else 0


def _say_ignored(name: str, rule: str) -> None:
    say(f"{name}: not a note by the rule {rule!r}; passed over")


class SpansFile(ByNote[SpanSet]):
    """Spans looked up by note id, read no further than needed.

    Memory stays flat where notes and spans come in the same order, as ``deid detect`` writes them.

    Raises:
        InputError: It is not there. Taking spans raises it for a line that is wrong: a spans file
            is ours to write, so a fault in it stops the command.
    """

    def __init__(self, path: Path) -> None:
        seal = seal_of_environment()

        def tell() -> None:
            if seal is not None:
                say(
                    f"{path.name}: plain digests, which confirm a guess at a note; write the file"
                    " anew to have them sealed"
                )

        super().__init__(_refuse_faults(read_spans(path, seal=seal, on_plain=tell)))


def seal_of_environment() -> DigestSeal | None:
    """Return what seals the digests in spans files, or nothing where ``DEID_KEY`` is not set.

    Raises:
        ConfigError: The key is too short, or no key.
    """
    secret = secret_of_environment()
    return None if secret is None else DigestSeal(Key(secret))


def _refuse_faults(found: Iterator[SpanSet | Fault]) -> Iterator[SpanSet]:
    for spans in found:
        if isinstance(spans, Fault):
            raise InputError(spans.message)
        yield spans


@contextmanager
def progress(what: str) -> Iterator[Any]:
    """Show how many notes are done on a terminal; call the value with the number of new ones."""
    if not _is_terminal():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - loaded where it is seen
    from rich.progress import (  # noqa: PLC0415 - as above
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn(what),
        TextColumn("{task.completed:,} notes"),
        TimeElapsedColumn(),
    )
    # a stream of its own, so that it is shown while detectors are silenced
    own = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding=sys.stderr.encoding)
    with Progress(*columns, console=Console(file=own), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda notes: bar.advance(task, notes)


def _is_terminal() -> bool:
    try:
        return os.isatty(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):  # standard error is not a file, or closed
        return False
