"""Operations on a whole vault.

Opening notes for someone, erasing a patient, changing the key, checking it all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from sqlalchemy import Connection, RowMapping, Table, delete, func, select

from deid_assets.core.errors import InputError, ProvenanceError
from deid_assets.core.note import Note
from deid_assets.vault import tables
from deid_assets.vault.keys import Keyring, Sealed
from deid_assets.vault.log import AccessRequest
from deid_assets.vault.store import Vault, place_of

_AT_ONCE = 500
PlaceIn = Callable[[RowMapping], str]


def reidentify(vault: Vault, notes: Sequence[Note], request: AccessRequest) -> list[Note | None]:
    """Return the original of each redacted note, in order.

    ``None`` where the vault does not hold it.

    The log has its row, with every note that is opened, before anything is given.

    Raises:
        ProvenanceError: A row of the vault is missing, altered or moved; nothing is given.
    """
    with vault.begin() as connection:
        records = [vault.record_of(connection, note.note_id, note.text) for note in notes]
        originals = [
            None if record is None else vault.original(connection, record, note.note_id, note.text)
            for note, record in zip(notes, records, strict=True)
        ]
        vault.log.add(
            connection, "reidentify", request, [record for record in records if record is not None]
        )
    return originals


def erase(
    vault: Vault,
    request: AccessRequest,
    *,
    patient_id: str | None = None,
    note_id: str | None = None,
) -> tuple[int, int]:
    """Delete all that the vault holds of a patient, or of a note without patient.

    Return notes and edits deleted.

    Raises:
        InputError: It holds nothing.
    """
    patient = vault.patient(patient_id=patient_id, note_id=note_id)
    with vault.begin() as connection:
        records = connection.execute(
            select(tables.notes.c.record).where(tables.notes.c.patient == patient)
        ).scalars()
        found = list(records)
        for record in found:
            connection.execute(delete(tables.names).where(tables.names.c.record == record))
        notes = connection.execute(
            delete(tables.notes).where(tables.notes.c.patient == patient)
        ).rowcount
        edits = connection.execute(
            delete(tables.edits).where(tables.edits.c.patient == patient)
        ).rowcount
        if not notes and not edits:
            whose = "that patient" if patient_id is not None else "that note"
            raise InputError(f"the vault holds nothing of {whose}; check the id")
        vault.log.add(connection, "erase", request, [patient])
    vault.settle()
    return notes, edits


def count_held(vault: Vault, patient_id: str) -> tuple[int, int]:
    """Return how many notes and edits a vault holds of a patient."""
    patient = vault.patient(patient_id=patient_id)
    with vault.begin() as connection:
        notes, edits = (
            connection.execute(
                select(func.count()).select_from(table).where(table.c.patient == patient)
            ).scalar_one()
            for table in (tables.notes, tables.edits)
        )
    return int(notes), int(edits)


def rotate(vault: Vault, keyring: Keyring, request: AccessRequest) -> int:
    """Re-encrypt every value that is not under the current key, some hundreds at a time.

    Return how many.

    It may be interrupted and run again. Afterwards the older keys are of no use to this vault.
    """
    total = 0
    steps: tuple[tuple[Table, PlaceIn], ...] = (
        (tables.notes, lambda row: place_of("note", row["patient"], row["record"], row["edits"])),
        (
            tables.edits,
            lambda row: place_of("edit", row["patient"], row["record"], row["position"]),
        ),
        (tables.meta, lambda row: f"meta {row['name']}"),
    )
    for table, place_in in steps:
        while done := _reseal(vault, keyring, table, place_in):
            total += done
    with vault.begin() as connection:
        vault.log.add(connection, "rotate", request, [keyring.current])
    return total


def verify(vault: Vault) -> Counter[str]:
    """Open every value of a vault and follow its log.

    Return what it holds, and how many values each key seals.

    Raises:
        ConfigError: A value is sealed with a key that is not given.
        ProvenanceError: Anything is missing, altered or moved.
    """
    counts: Counter[str] = Counter()
    with vault.begin() as connection:
        counts["log rows"] = sum(1 for _ in vault.log.rows(connection))
        for record in connection.execute(select(tables.notes.c.record)).scalars().all():
            what = f"record {record[:8]} of the vault"
            header = vault.header(connection, record, what=what)
            counts["notes"] += 1
            counts["edits"] += sum(
                1 for _ in vault.read_sealed_edits(connection, record, header, what=what)
            )
        for table in (tables.edits, tables.names):
            stray = connection.execute(
                select(func.count()).where(table.c.record.not_in(select(tables.notes.c.record)))
            ).scalar_one()
            if stray:
                raise ProvenanceError(
                    f"{table.name}: {stray} rows belong to no note; restore the vault from a backup"
                )
        counts["patients"] = connection.execute(
            select(func.count(tables.notes.c.patient.distinct()))
        ).scalar_one()
        counts.update(_by_key(connection))
    return counts


def _by_key(connection: Connection) -> Iterable[str]:
    for table in (tables.meta, tables.notes, tables.edits):
        rows = connection.execute(select(table.c.key_id, func.count()).group_by(table.c.key_id))
        for key_id, number in rows:
            yield from [f"key {key_id}"] * number


def _reseal(vault: Vault, keyring: Keyring, table: Table, place_in: PlaceIn) -> int:
    with vault.begin() as connection:
        old = select(table).where(table.c.key_id != keyring.current).limit(_AT_ONCE)
        rows = connection.execute(old).mappings().all()
        for row in rows:
            place = place_in(row)
            plain = keyring.open(
                Sealed(row["key_id"], row["nonce"], row["ciphertext"]), place=place, what=table.name
            )
            own = [column == row[column.name] for column in table.primary_key.columns]
            connection.execute(
                table.update().where(*own).values(**keyring.seal(plain, place=place)._asdict())
            )
    return len(rows)
