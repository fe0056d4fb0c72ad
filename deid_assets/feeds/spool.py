"""What one run of a feed found, on disk: memory does not grow with the number of notes.

It lies in the restricted zone and holds text. A run that dies leaves it to the next, which removes
it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from deid_assets.feeds.source import Unit
from deid_assets.formats.annotated import Fault, ParsedNote
from deid_assets.formats.parsed_notes import encode_parsed_note, read_parsed_notes

_TABLES = (
    "units (unit TEXT PRIMARY KEY, name TEXT, version TEXT, is_read INT, since TEXT, mark TEXT)",
    "seen (note TEXT PRIMARY KEY)",
    "taken (note TEXT PRIMARY KEY, unit TEXT, digest TEXT, is_fault INTEGER, batch TEXT)",
    "changes (batch TEXT, note TEXT, line BLOB, PRIMARY KEY (batch, note))",
    "deleted (note TEXT PRIMARY KEY)",
)
_NEW = "new.drafts"
_INDEX = "spool.sqlite"


@dataclass(frozen=True, slots=True)
class Taken:
    """A note as it will be known.

    Args:
        note: Keyed id.
        unit: Keyed name of what it was read from.
        digest: Keyed digest of what it says.
        is_fault: Whether it could not be read.
        batch: That it is in; empty where it is new and not in one yet.
    """

    note: str
    unit: str
    digest: str
    is_fault: bool
    batch: str = ""


class Spool:
    """The notes and decisions of one run.

    Args:
        folder: Empty, and open to its owner only.
    """

    def __init__(self, folder: Path) -> None:
        self.new = folder / _NEW
        self._file = self.new.open("xb")
        self._database = sqlite3.connect(folder / _INDEX, isolation_level=None)
        for pragma in ("synchronous = OFF", "journal_mode = OFF"):  # of a crash nothing is kept
            self._database.execute(f"PRAGMA {pragma}")
        for table in _TABLES:
            self._database.execute(f"CREATE TABLE {table} WITHOUT ROWID")
        self._database.execute("BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._database.close()

    def list_unit(self, unit: str, found: Unit, *, version: str, is_read: bool, since: str) -> None:
        """Enter a unit that is there, and whether it is to be read."""
        self._database.execute(
            "INSERT OR REPLACE INTO units VALUES (?, ?, ?, ?, ?, '')",
            (unit, found.name, version, is_read, since),
        )

    def units_to_read(self) -> Iterator[tuple[str, Unit, str]]:
        """Yield keyed name, unit and mark of every unit to read, sorted by name."""
        asked = "SELECT unit, name, since FROM units WHERE is_read ORDER BY name"
        for unit, name, since in self._database.execute(asked).fetchall():
            yield unit, Unit(name), since

    def mark_unit(self, unit: str, mark: str) -> None:
        """Enter how far a unit was read."""
        self._database.execute("UPDATE units SET mark = ? WHERE unit = ?", (mark, unit))

    def read_units(self) -> Iterator[tuple[str, str, str]]:
        """Yield keyed name, version and mark of every unit that was read."""
        yield from self._database.execute("SELECT unit, version, mark FROM units WHERE is_read")

    def has_unit(self, unit: str) -> bool:
        """Whether a unit is there."""
        return self._is_one("SELECT 1 FROM units WHERE unit = ?", unit)

    def is_unread(self, unit: str) -> bool:
        """Whether a unit is there as it was, so that it is not read again."""
        return self._is_one("SELECT 1 FROM units WHERE unit = ? AND NOT is_read", unit)

    def see(self, note: str) -> bool:
        """Enter that a note is there, and return whether this is the first time."""
        return bool(
            self._database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (note,)).rowcount
        )

    def is_seen(self, note: str) -> bool:
        """Whether a note is there."""
        return self._is_one("SELECT 1 FROM seen WHERE note = ?", note)

    def add(self, taken: Taken, entry: ParsedNote | Fault) -> None:
        """Enter a new note."""
        self._file.write(encode_parsed_note(entry))
        self.know(taken)

    def change(self, taken: Taken, entry: ParsedNote | Fault) -> None:
        """Enter a note that takes the place of an earlier version in its batch."""
        self._replace(taken.batch, taken.note, encode_parsed_note(entry))
        self.know(taken)

    def know(self, taken: Taken) -> None:
        """Enter how a note will be known."""
        self._database.execute(
            "INSERT OR REPLACE INTO taken VALUES (?, ?, ?, ?, ?)",
            (taken.note, taken.unit, taken.digest, taken.is_fault, taken.batch),
        )

    def delete(self, note: str, batch: str) -> None:
        """Enter that a note is gone from its batch."""
        self._replace(batch, note, None)
        self._database.execute("INSERT OR IGNORE INTO deleted VALUES (?)", (note,))

    def place(self, note: str, batch: str) -> None:
        """Enter the batch that a new note is in."""
        self._database.execute("UPDATE taken SET batch = ? WHERE note = ?", (batch, note))

    def read_new_entries(self) -> Iterator[ParsedNote | Fault]:
        """Yield the new notes."""
        self._file.flush()
        return read_parsed_notes([self.new])

    def list_changed_batches(self) -> list[str]:
        """Return the batches in which notes are replaced or deleted, sorted."""
        asked = self._database.execute("SELECT DISTINCT batch FROM changes ORDER BY batch")
        return [batch for (batch,) in asked]

    def changes_of(self, batch: str) -> dict[str, bytes | None]:
        """Return what takes the place of each changed note of a batch, a line; nothing of one that
        is deleted.
        """
        asked = "SELECT note, line FROM changes WHERE batch = ?"
        return dict(self._database.execute(asked, (batch,)))

    def read_taken(self) -> Iterator[Taken]:
        """Yield every note that was taken or changed."""
        for note, unit, digest, is_fault, batch in self._database.execute("SELECT * FROM taken"):
            yield Taken(note, unit, digest, bool(is_fault), batch)

    def read_deleted(self) -> Iterable[str]:
        """Yield the keyed ids of the notes that are gone."""
        return (note for (note,) in self._database.execute("SELECT note FROM deleted"))

    def _replace(self, batch: str, note: str, line: bytes | None) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO changes VALUES (?, ?, ?)", (batch, note, line)
        )

    def _is_one(self, asked: str, name: str) -> bool:
        return self._database.execute(asked, (name,)).fetchone() is not None
