"""The vault: what redaction took out of each note, sealed row by row."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, event, insert, select
from sqlalchemy.exc import SQLAlchemyError

from deid_assets.core.errors import InputError, PolicyError, ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Redacted
from deid_assets.edits.maps import digest_of
from deid_assets.store.database import Database
from deid_assets.vault import tables
from deid_assets.vault.keys import Keyring, Sealed
from deid_assets.vault.log import Log, LogRow

_PAD_BYTES = 64
"""Sealed values are filled up to a multiple of this, so that their size tells little of
the words.
"""


@dataclass(frozen=True, slots=True)
class VaultEntry:
    """A redacted note with its original.

    Args:
        note: The original.
        redacted: What became of it.
        other_ids: Ids under which the redacted note goes out besides its own.
    """

    note: Note
    redacted: Redacted
    other_ids: tuple[str, ...] = ()


class Vault:
    """One vault, made on first use.

    Args:
        url: ``sqlite:///path/to/vault.db`` or ``postgresql://user@host/name``: a database of its
            own.
        keyring: Its keys.
        require_patient: Refuse notes without patient id; else such a note counts as a patient of
            its own.

    Raises:
        ConfigError: The URL cannot be read, or the keys are not those of this vault.
    """

    def __init__(self, url: str, keyring: Keyring, *, require_patient: bool = True) -> None:
        self._keyring = keyring
        self._require_patient = require_patient
        self._database = Database(url)
        if self._database.is_sqlite:
            _make_private(self._database.engine.url.database)
            event.listen(self._database.engine, "connect", _overwrite_deleted)

    def __repr__(self) -> str:
        return f"Vault({self._database!r})"

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def settle(self) -> None:
        """Remove deleted rows from SQLite's journal too; does nothing for PostgreSQL."""
        if self._database.is_sqlite:
            connection = self._database.engine.raw_connection()
            try:
                connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                connection.close()

    def check_patient(self, note: Note) -> None:
        """Refuse a note that no erasure of a patient would reach.

        Raises:
            PolicyError: It has no patient id, and one is required.
        """
        if self._require_patient and note.patient_id is None:
            raise PolicyError(
                f"note {note.note_id!r}: no patient id, without which the vault cannot erase a"
                " patient; give the note one, or let notes without one count as patients of"
                " their own"
            )

    def store(self, entries: Iterable[VaultEntry]) -> int:
        """Seal what was taken out of each note, in place of what the same redacted note had.

        Return how many edits.

        Raises:
            PolicyError: A note has no patient id, and one is required; nothing is stored.
        """
        rows = [self._rows(entry) for entry in entries]
        with self.begin() as connection:
            records = [note["record"] for note, _, _ in rows]
            for table in (tables.notes, tables.edits, tables.names):
                for some in _by_hundreds(records):
                    connection.execute(delete(table).where(table.c.record.in_(some)))
            _insert(connection, tables.notes, [note for note, _, _ in rows])
            _insert(connection, tables.edits, [edit for _, edits, _ in rows for edit in edits])
            # An id under which another text went out before may come again for this one.
            _insert(connection, tables.names, [name for _, _, names in rows for name in names])
        return sum(len(edits) for _, edits, _ in rows)

    def record_of(self, connection: Connection, note_id: str, text: str) -> str | None:
        """Return the keyed id of a redacted note, or ``None`` where the vault does not hold it."""
        own = self._id("note", note_id, digest_of(text))
        if connection.execute(
            select(tables.notes.c.record).where(tables.notes.c.record == own)
        ).first():
            return own
        name = self._id("name", note_id, digest_of(text))
        found: str | None = connection.execute(
            select(tables.names.c.record).where(tables.names.c.name == name)
        ).scalar_one_or_none()
        return found

    def original(self, connection: Connection, record: str, note_id: str, text: str) -> Note:
        """Return the original of a redacted note, under its own id.

        Raises:
            ProvenanceError: A row is missing, altered or moved.
        """
        what = f"note {note_id!r} in the vault"
        header = self.header(connection, record, what=what)
        if note_id not in header["ids"] or header["new_digest"] != digest_of(text):
            raise ProvenanceError(
                f"{what}: its entry is of another note; restore the vault from a backup"
            )
        parts: list[str] = []
        cursor = 0
        for _, _, new_start, new_end, _, original in self.read_sealed_edits(
            connection, record, header, what=what
        ):
            parts += (text[cursor:new_start], original)
            cursor = new_end
        restored = "".join([*parts, text[cursor:]])
        if digest_of(restored) != header["digest"]:
            raise ProvenanceError(
                f"{what}: does not give the original back; restore the vault from a backup"
            )
        return Note(header["note_id"], restored, header["patient_id"], header["lang"])

    def header(self, connection: Connection, record: str, *, what: str) -> dict[str, Any]:
        """Return the opened row of a note, with ``patient`` and ``edits`` as stored.

        Raises:
            ProvenanceError: It is missing, altered or moved.
        """
        row = (
            connection.execute(select(tables.notes).where(tables.notes.c.record == record))
            .mappings()
            .first()
        )
        if row is None:
            raise ProvenanceError(f"{what}: its row is missing; restore the vault from a backup")
        place = place_of("note", row["patient"], record, row["edits"])
        opened: dict[str, Any] = json.loads(
            self._keyring.open(_read_sealed(row), place=place, what=what)
        )
        return {**opened, "patient": row["patient"], "edits": row["edits"]}

    def read_sealed_edits(
        self, connection: Connection, record: str, header: dict[str, Any], *, what: str
    ) -> Iterator[tuple[int, int, int, int, str, str]]:
        """Yield the edits of a note in order: both ranges, category and original.

        Raises:
            ProvenanceError: One is missing, altered or moved.
        """
        table = tables.edits
        rows = connection.execute(
            select(table).where(table.c.record == record).order_by(table.c.position)
        ).mappings()
        number = -1
        for number, row in enumerate(rows):
            place = place_of("edit", header["patient"], record, number)
            yield tuple(
                json.loads(
                    self._keyring.open(
                        _read_sealed(row), place=place, what=f"{what}, edit {number}"
                    )
                )
            )
        if number + 1 != header["edits"]:
            raise ProvenanceError(
                f"{what}: has {number + 1} of {header['edits']} edits; restore it from a backup"
            )

    def patient(self, *, patient_id: str | None = None, note_id: str | None = None) -> str:
        """Return the keyed id of a patient, or of a note that counts as one."""
        return (
            self._id("patient", patient_id)
            if patient_id is not None
            else self._id("own patient", note_id or "")
        )

    def log_rows(self) -> list[LogRow]:
        """Return the log, checked.

        Raises:
            ProvenanceError: A row is altered or missing.
        """
        with self.begin() as connection:
            return list(self.log.rows(connection))

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Open a connection in a transaction, committed when the block ends without an error.

        Raises:
            InputError: The database refuses; its message, which may quote a row, is not shown.
        """
        try:
            _ = self._id_key
            with self._database.engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise InputError(
                f"the vault's database cannot be used ({type(error).__name__}); check the URL and"
                " its rights"
            ) from None

    @property
    def log(self) -> Log:
        """Return the log: who opened or changed what."""
        return Log(self._keyring, self._id_key)

    @cached_property
    def _id_key(self) -> bytes:
        """The key that ids are derived from.

        Made with the vault, kept in it sealed, the same after a rotation.
        """
        tables.metadata.create_all(self._database.engine)
        with self._database.engine.begin() as connection:
            row = (
                connection.execute(select(tables.meta).where(tables.meta.c.name == "id_key"))
                .mappings()
                .first()
            )
            if row is not None:
                return self._keyring.open(_read_sealed(row), place="meta id_key", what="the vault")
            made = secrets.token_bytes(32)
            sealed = self._keyring.seal(made, place="meta id_key")
            connection.execute(insert(tables.meta).values(name="id_key", **sealed._asdict()))
            Log(self._keyring, made).begin(connection)
            return made

    def _id(self, *parts: str) -> str:
        return Key(self._id_key).derive("vault", *parts).hex()[:32]

    def _rows(
        self, entry: VaultEntry
    ) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
        note, redacted = entry.note, entry.redacted
        self.check_patient(note)
        new_digest = digest_of(redacted.text)
        record = self._id("note", note.note_id, new_digest)
        patient = self.patient(patient_id=note.patient_id, note_id=note.note_id)
        header = {
            "note_id": note.note_id,
            "patient_id": note.patient_id,
            "lang": note.lang,
            "digest": note.digest,
            "new_digest": new_digest,
            "ids": [note.note_id, *entry.other_ids],
        }
        place = place_of("note", patient, record, len(redacted.edits))
        sealed = self._keyring.seal(_pad(header), place=place)
        row = {
            "record": record,
            "patient": patient,
            "edits": len(redacted.edits),
            **sealed._asdict(),
        }
        edits = []
        for number, edit in enumerate(redacted.edits):
            value = [edit.start, edit.end, edit.new_start, edit.new_end, edit.label.value]
            plain = _pad([*value, note.text[edit.start : edit.end]])
            sealed = self._keyring.seal(plain, place=place_of("edit", patient, record, number))
            edits.append(
                {"record": record, "position": number, "patient": patient, **sealed._asdict()}
            )
        names = [
            {"name": self._id("name", other, new_digest), "record": record}
            for other in entry.other_ids
        ]
        return row, edits, names


def place_of(kind: str, patient: str, record: str, number: int) -> str:
    """Return what a row is sealed to, so that it cannot stand for another patient, note or edit."""
    return f"deid vault 1/{kind}/{patient}/{record}/{number}"


def _read_sealed(row: Any) -> Sealed:
    return Sealed(row["key_id"], row["nonce"], row["ciphertext"])


def _pad(value: Any) -> bytes:
    plain = json.dumps(value, ensure_ascii=False).encode()
    return plain + b" " * (-len(plain) % _PAD_BYTES)


def _by_hundreds(values: Sequence[str]) -> Iterator[Sequence[str]]:
    return (values[at : at + 100] for at in range(0, len(values), 100))


def _insert(connection: Connection, table: Any, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), rows)


def _make_private(file: str | None) -> None:
    """Make the file readable for its owner only, before SQLite makes it for all."""
    if file and file != ":memory:":
        os.close(os.open(Path(file), os.O_CREAT | os.O_RDWR, 0o600))


def _overwrite_deleted(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA secure_delete = ON")
