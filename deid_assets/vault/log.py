"""The log of a vault.

Rows that can only be added, each bound to the one before it by a keyed hash.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, insert, select

from deid_assets.core.errors import InputError, ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.vault import tables
from deid_assets.vault.chain import FIRST, HashChain
from deid_assets.vault.keys import Keyring, Sealed

MAX_WHO_CHARS, MAX_REASON_CHARS = 100, 500


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """Request for access: who asks, and why.

    Args:
        who: A person or account, 1 to 100 printable characters.
        reason: 3 to 500 printable characters; kept sealed, since people write names into it.

    Raises:
        InputError: One of them is missing or too long.
    """

    who: str
    reason: str

    def __post_init__(self) -> None:
        for option, value, least, most in (
            ("--by", self.who, 1, MAX_WHO_CHARS),
            ("--reason", self.reason, 3, MAX_REASON_CHARS),
        ):
            if not least <= len(value.strip()) <= most or not value.isprintable():
                raise InputError(
                    f"{option} must be {least} to {most} printable characters; the vault's log"
                    " keeps it"
                )


@dataclass(frozen=True, slots=True)
class LogRow:
    """One entry of the log.

    Args:
        seq: From 1.
        at: UTC, ISO 8601.
        action: What was done.
        who: Who did it.
        reason: Why.
        subjects: Keyed ids of the notes or patient it was done to.
    """

    seq: int
    at: str
    action: str
    who: str
    reason: str
    subjects: tuple[str, ...]


class Log:
    """The log of one vault.

    Args:
        keyring: Seals the end of the log.
        id_key: Key of the vault's ids; the log's own keys are derived from it.
    """

    def __init__(self, keyring: Keyring, id_key: bytes) -> None:
        self._keyring = keyring
        key = Key(id_key)
        self._chain = HashChain(Key(key.derive("log chain")).derive)
        self._reasons = Keyring([key.derive("log reasons")])

    def begin(self, connection: Connection) -> None:
        """Seal the end of an empty log, when the vault is made."""
        self._set_head(connection, 0, FIRST)

    def add(
        self, connection: Connection, action: str, request: AccessRequest, subjects: Sequence[str]
    ) -> None:
        """Add a row and move the end of the log; the caller commits."""
        seq, previous = self._head(connection, lock=True)
        reason = self._reasons.seal(request.reason.encode(), place=f"reason {seq + 1}")
        fields = {
            "seq": seq + 1,
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "action": action,
            "who": request.who,
            "reason_nonce": reason.nonce,
            "reason": reason.ciphertext,
            "subjects": json.dumps(list(subjects)),
            "previous": previous,
        }
        digest = self._chain.hash(fields)
        connection.execute(insert(tables.log).values(**fields, hash=digest))
        self._set_head(connection, seq + 1, digest)

    def rows(self, connection: Connection) -> Iterator[LogRow]:
        """Yield the rows in order, each checked, and the end of the log after the last.

        Raises:
            ProvenanceError: A row was altered, added by another hand, moved or taken away.
        """
        previous, seq = FIRST, 0
        for row in connection.execute(select(tables.log).order_by(tables.log.c.seq)).mappings():
            seq += 1
            fields = {name: row[name] for name in row if name != "hash"}
            if row["seq"] != seq or not self._chain.follows(fields, row["hash"], previous=previous):
                raise ProvenanceError(
                    f"the vault's log: row {seq} is missing or altered; compare with a backup"
                )
            previous = row["hash"]
            sealed = Sealed(self._reasons.current, row["reason_nonce"], row["reason"])
            reason = self._reasons.open(
                sealed, place=f"reason {seq}", what=f"the vault's log, row {seq}"
            ).decode()
            yield LogRow(
                seq,
                row["at"],
                row["action"],
                row["who"],
                reason,
                tuple(json.loads(row["subjects"])),
            )
        if (seq, previous) != self._head(connection):
            raise ProvenanceError(
                f"the vault's log: rows after {seq} are missing; compare with a backup"
            )

    def _head(self, connection: Connection, *, lock: bool = False) -> tuple[int, str]:
        query = select(tables.meta).where(tables.meta.c.name == "log_end")
        row = connection.execute(query.with_for_update() if lock else query).mappings().first()
        if row is None:
            raise ProvenanceError(
                "the vault's log: its end is missing; restore the vault from a backup"
            )
        sealed = Sealed(row["key_id"], row["nonce"], row["ciphertext"])
        seq, digest = json.loads(
            self._keyring.open(sealed, place="meta log_end", what="the end of the vault's log")
        )
        return seq, digest

    def _set_head(self, connection: Connection, seq: int, digest: str) -> None:
        sealed = self._keyring.seal(json.dumps([seq, digest]).encode(), place="meta log_end")
        table = tables.meta
        changed = connection.execute(
            table.update().where(table.c.name == "log_end").values(**sealed._asdict())
        )
        if not changed.rowcount:
            connection.execute(insert(table).values(name="log_end", **sealed._asdict()))
