"""The table of known identities: one SQLite file, clustered by patient, opened read-only.

It holds names and numbers of patients in clear, so it belongs into the restricted zone; it is made
readable for its owner only.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from deid_assets.core.errors import InputError
from deid_assets.formats.identities import KINDS, Identity
from deid_assets.system.atomic import atomic_path

FORMAT = 1
_CHUNK = 20_000
_PATIENTS_AT_ONCE = 500
_EVERYBODY = ""
"""Patient of values that hold for all notes."""
_SCHEMA = """
CREATE TABLE about (format INTEGER NOT NULL, made TEXT NOT NULL);
CREATE TABLE identity (
  patient TEXT NOT NULL, kind INTEGER NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (patient, kind, value)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class TableCounts:
    """Counts of a table.

    Args:
        patients: With one value or more.
        values: By kind, those of staff included.
    """

    patients: int
    values: Mapping[str, int]


def build_table(path: Path, identities: Iterable[Identity]) -> TableCounts:
    """Write a table; it takes the place of ``path`` when it is whole.

    Raises:
        InputError: There was no identity.
    """
    with atomic_path(path, mode=0o600) as part:
        with closing(sqlite3.connect(part)) as connection:
            connection.executescript(
                f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_SCHEMA}"
            )
            rows = (
                (each.patient_id or _EVERYBODY, KINDS.index(each.kind), each.value)
                for each in identities
            )
            while chunk := sorted(islice(rows, _CHUNK)):
                connection.executemany("INSERT OR IGNORE INTO identity VALUES (?, ?, ?)", chunk)
            connection.execute("INSERT INTO about VALUES (?, ?)", (FORMAT, secrets.token_hex(8)))
            connection.commit()
            counts = _counts(connection)
        if not counts.values:
            raise InputError(f"no identity for {path.name}; name a source that has some")
    return counts


def _counts(connection: sqlite3.Connection) -> TableCounts:
    (patients,) = connection.execute(
        "SELECT count(DISTINCT patient) FROM identity WHERE patient <> ''"
    ).fetchone()
    kinds = connection.execute(
        "SELECT kind, count(*) FROM identity GROUP BY kind ORDER BY kind"
    ).fetchall()
    return TableCounts(int(patients), {KINDS[kind]: int(count) for kind, count in kinds})


class IdentityTable:
    """A table that ``build_table`` made; values are read when asked for, none stays in memory here.

    Args:
        path: Of the table.

    Raises:
        InputError: It is missing, or no such table.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise InputError(
                f"table of identities {path} does not exist; make it with deid identities build"
            )
        try:
            self._connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True
            )
            about = self._connection.execute("SELECT format, made FROM about").fetchone()
        except sqlite3.Error:
            about = None
        if about is None or about[0] != FORMAT:
            raise InputError(
                f"{path} is no table of identities of this version; make it with deid identities"
                " build"
            )
        self.made = str(about[1])
        """Differs for every table that was made."""

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def counts(self) -> TableCounts:
        """Return the counts; reads the whole table."""
        return _counts(self._connection)

    def of_patients(self, patient_ids: Sequence[str]) -> dict[str, list[Identity]]:
        """Return the identities of each patient; of one that is not known, none."""
        found: dict[str, list[Identity]] = {patient_id: [] for patient_id in patient_ids}
        wanted = [patient_id for patient_id in found if patient_id != _EVERYBODY]
        for start in range(0, len(wanted), _PATIENTS_AT_ONCE):
            some = wanted[start : start + _PATIENTS_AT_ONCE]
            marks = ",".join("?" * len(some))
            rows = self._connection.execute(
                f"SELECT patient, kind, value FROM identity WHERE patient IN ({marks})",  # noqa: S608 - marks only
                some,
            )
            for patient, kind, value in rows:
                found[patient].append(Identity(patient, KINDS[kind], value))
        return found

    def of_everybody(self) -> list[Identity]:
        """Return the identities that hold for all notes, such as staff."""
        rows = self._connection.execute("SELECT kind, value FROM identity WHERE patient = ''")
        return [Identity(None, KINDS[kind], value) for kind, value in rows]
