"""Entries grouped into batches of bounded size, with the notes of a patient together.

They are read twice, one at a time: once to add up what each patient has in an index on disk, once
to write them out. Memory does not grow with their number.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from deid_assets.core.errors import ProvenanceError
from deid_assets.formats.annotated import Fault, ParsedNote
from deid_assets.formats.parsed_notes import encode_parsed_note
from deid_assets.formats.registry import came_before
from deid_assets.intake.arrivals import PART_FILE

NOTE_CHARACTERS = 1_000
"""Characters that a note counts beside its text: short notes take memory too."""
_BUFFER_BYTES = 16 << 20
_INDEX = "index.sqlite"

Entries = Callable[[], Iterable[ParsedNote | Fault]]
"""Gives the same entries each time that it is called."""


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """How large a group may be.

    Args:
        characters: Of all notes, each counted as ``NOTE_CHARACTERS`` more.
        notes: Most notes; as many as there are when 0.
    """

    characters: int
    notes: int = 0

    def load(self, characters: int, notes: int) -> int:
        """Return what notes count of ``limit``, whichever bound they come nearer to."""
        return max(characters * max(1, self.notes), notes * self.characters if self.notes else 0)

    @property
    def limit(self) -> int:
        """Largest load of a group."""
        return self.characters * max(1, self.notes)


def write_groups(
    entries: Entries, folder: Path, *, name: str, limits: GroupLimits, at_least: int = 1
) -> int:
    """Write entries to ``folder/NAME-0001/notes.drafts`` and so on, and return how many groups
    there are.

    Nothing is written where they are fewer than ``at_least``. A note whose id came before is a
    fault, as it is in one batch.

    Raises:
        ProvenanceError: The second reading gave another patient than the first.
    """
    index = folder / _INDEX
    with closing(sqlite3.connect(index, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")  # of a crash nothing is kept
        _add_up(entries, database)
        first_owners = _first_owners(database, limits)
        if len(first_owners) < at_least:
            return len(first_owners)
        _write(entries, folder, name, database, first_owners)
    index.unlink()
    for path in folder.glob(f"*/{PART_FILE}"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
    return len(first_owners)


def _pair_with_owners(entries: Entries) -> Iterator[tuple[bytes, ParsedNote | Fault]]:
    """Yield each entry with its owner.

    The patient, or the entry itself where none is given.
    """
    for number, entry in enumerate(entries(), start=1):
        patient = entry.patient_id if isinstance(entry, ParsedNote) else None
        yield _digest(f"patient {patient}" if patient else f"entry {number}"), entry


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:16]


def _add_up(entries: Entries, database: sqlite3.Connection) -> None:
    """Fill the index: what each owner has, in the order in which they come."""
    database.execute(
        "CREATE TABLE owners"
        " (number INTEGER PRIMARY KEY, owner BLOB UNIQUE, size INTEGER, entries INTEGER)"
    )
    database.execute("CREATE TABLE notes (id BLOB PRIMARY KEY) WITHOUT ROWID")
    database.execute("BEGIN")
    for owner, entry in _pair_with_owners(entries):
        size = NOTE_CHARACTERS + (len(entry.text) if isinstance(entry, ParsedNote) else 0)
        database.execute(
            "INSERT INTO owners (owner, size, entries) VALUES (?, ?, 1) ON CONFLICT (owner)"
            " DO UPDATE SET size = size + excluded.size, entries = entries + 1",
            (owner, size),
        )
    database.execute("COMMIT")


def _first_owners(database: sqlite3.Connection, limits: GroupLimits) -> list[int]:
    """Return with which owner each group begins.

    All are of about one size, none larger than the limit.

    A patient with more notes than that has a group of their own.
    """
    asked = "SELECT number, size, entries FROM owners ORDER BY number"
    total = sum(limits.load(size, count) for _, size, count in database.execute(asked))
    wanted = -(-total // max(1, -(-total // limits.limit)))
    first_owners, filled = [1], 0
    for number, size, count in database.execute(asked):
        load = limits.load(size, count)
        if filled and (filled >= wanted or filled + load > limits.limit):
            first_owners.append(number)
            filled = 0
        filled += load
    return first_owners


def _write(
    entries: Entries,
    folder: Path,
    name: str,
    database: sqlite3.Connection,
    first_owners: Sequence[int],
) -> None:
    """Write each entry to its group."""
    buffers: dict[int, list[bytes]] = {}
    held = 0
    database.execute("BEGIN")
    for owner, entry in _pair_with_owners(entries):
        found = database.execute("SELECT number FROM owners WHERE owner = ?", (owner,)).fetchone()
        if found is None:
            raise ProvenanceError(f"arrival {name} changed while it was split; drop it again")
        line = encode_parsed_note(_once(entry, database))
        buffers.setdefault(bisect_right(first_owners, found[0]), []).append(line)
        held += len(line)
        if held > _BUFFER_BYTES:
            _flush(buffers, folder, name)
            held = 0
    _flush(buffers, folder, name)
    database.execute("COMMIT")


def _once(entry: ParsedNote | Fault, database: sqlite3.Connection) -> ParsedNote | Fault:
    if isinstance(entry, Fault):
        return entry
    kept = database.execute("INSERT OR IGNORE INTO notes VALUES (?)", (_digest(entry.note_id),))
    return entry if kept.rowcount else came_before(entry)


def _flush(buffers: dict[int, list[bytes]], folder: Path, name: str) -> None:
    for group, lines in sorted(buffers.items()):
        target = folder / f"{name}-{group:04d}"
        target.mkdir(mode=0o700, exist_ok=True)
        with (target / PART_FILE).open("ab") as file:
            file.writelines(lines)
    buffers.clear()
