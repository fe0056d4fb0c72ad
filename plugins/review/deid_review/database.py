"""The SQLite file that a review is kept in: its tables, and one transaction at a time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from deid_assets.extending import InputError

VERSION = 1
_BUSY_S = 15.0
_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS notes (
    note_id TEXT PRIMARY KEY, digest TEXT NOT NULL, place INTEGER NOT NULL UNIQUE,
    is_sampled INTEGER NOT NULL, is_blind INTEGER NOT NULL, is_double INTEGER NOT NULL,
    characters INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS marks (
    note_id TEXT NOT NULL REFERENCES notes, mark INTEGER NOT NULL, start INTEGER NOT NULL,
    "end" INTEGER NOT NULL, label TEXT NOT NULL, score REAL NOT NULL, kinds TEXT NOT NULL,
    said TEXT NOT NULL, is_merged INTEGER NOT NULL, priority REAL NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (note_id, mark));
CREATE INDEX IF NOT EXISTS marks_by_value ON marks (value);
CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY AUTOINCREMENT, note_id TEXT NOT NULL, digest TEXT NOT NULL,
    stream TEXT NOT NULL, reviewer TEXT NOT NULL, at REAL NOT NULL, action TEXT NOT NULL,
    mark INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, label TEXT NOT NULL,
    "group" TEXT NOT NULL, undone_at REAL);
CREATE INDEX IF NOT EXISTS events_by_note ON events (note_id, stream);
CREATE INDEX IF NOT EXISTS events_undone ON events (undone_at) WHERE undone_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS leases (
    note_id TEXT PRIMARY KEY, reviewer TEXT NOT NULL, until REAL NOT NULL);
CREATE TABLE IF NOT EXISTS approvals (
    reviewer TEXT NOT NULL, at REAL NOT NULL, last INTEGER NOT NULL, notes INTEGER NOT NULL,
    undone INTEGER, made TEXT);
"""
_ADDED = {"undone": "INTEGER", "made": "TEXT"}
"""Columns that the approvals of older files lack."""


class ReviewDatabase:
    """The file of one batch's review, as a database.

    Args:
        path: It; made where it is not there.

    Raises:
        InputError: The file cannot be used: it is damaged, or of another version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        path.touch(mode=0o600)
        path.chmod(0o600)  # SQLite gives the files beside it the same mode
        self._connection = sqlite3.connect(
            path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        self._connection.row_factory = sqlite3.Row
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.executescript(_TABLES)
        except sqlite3.Error as error:
            self._connection.close()
            raise InputError(_unusable(path, error)) from None
        self._add_columns()
        if int(self.about("version") or VERSION) != VERSION:
            raise InputError(f"{path}: another version of deid-review wrote it; use that one")

    def _add_columns(self) -> None:
        """Give the approvals of an older file what they lack."""
        if not self._missing_columns():
            return
        with self.writing() as held:
            for name in self._missing_columns():  # another process may have added them meanwhile
                held.execute(f"ALTER TABLE approvals ADD COLUMN {name} {_ADDED[name]}")

    def _missing_columns(self) -> list[str]:
        there = {row["name"] for row in self._rows("PRAGMA table_info(approvals)")}
        return sorted(_ADDED.keys() - there)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Hold the file for one transaction, which is on disk when the outermost block ends.

        Raises:
            InputError: There is no room, or another process holds the file too long.
        """
        with self._lock:
            if self._connection.in_transaction:  # of this thread, which holds the lock
                yield self._connection
                return
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise InputError(_unusable(self.path, error)) from None

    def _rows(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        with self._lock:
            try:
                with closing(self._connection.execute(statement, values)) as found:
                    return found.fetchall()
            except sqlite3.Error as error:
                raise InputError(_unusable(self.path, error)) from None

    def about(self, name: str) -> str:
        """Return what is known of the review by a name; empty where nothing is."""
        found = self._rows("SELECT value FROM about WHERE name = ?", name)
        return str(found[0]["value"]) if found else ""


def _unusable(path: Path, error: sqlite3.Error) -> str:
    code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    said = {
        sqlite3.SQLITE_FULL: "there is no room on the disk, and nothing of this was stored; make"
        " room and do it again",
        sqlite3.SQLITE_IOERR: "it cannot be written, and nothing of this was stored; make room or"
        " repair the disk and do it again",
        sqlite3.SQLITE_BUSY: "another process holds it; do it again",
        sqlite3.SQLITE_READONLY: "it is read only; make it writable",
    }.get(code, "it is damaged or no file of a review; put it back from a backup")
    return f"{path.name}: {said}"
