"""The tables of a vault.

Ids are keyed, values sealed: whoever reads the database without the key learns counts.
"""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    event,
)

PREFIX = "deid_vault_"
metadata = MetaData()


def _make_sealed_columns() -> list[Column[str] | Column[bytes]]:
    return [
        Column("key_id", String(16), nullable=False, index=True),
        Column("nonce", LargeBinary, nullable=False),
        Column("ciphertext", LargeBinary, nullable=False),
    ]


meta = Table(
    f"{PREFIX}meta", metadata, Column("name", String(32), primary_key=True), *_make_sealed_columns()
)
"""Table of the vault's own state: the key of its ids, and the end of its log."""

notes = Table(
    f"{PREFIX}notes",
    metadata,
    Column("record", String(32), primary_key=True),
    Column("patient", String(32), nullable=False, index=True),
    Column("edits", Integer, nullable=False),
    *_make_sealed_columns(),
)
"""One row per redacted note: its ids and digests, sealed, and the number of its edits."""

edits = Table(
    f"{PREFIX}edits",
    metadata,
    Column("record", String(32), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("patient", String(32), nullable=False, index=True),
    *_make_sealed_columns(),
)
"""One row per edit: its offsets and the original, sealed to patient, note and position."""

names = Table(
    f"{PREFIX}names",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("record", String(32), nullable=False, index=True),
)
"""Table of the released ids of redacted notes."""

log = Table(
    f"{PREFIX}log",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at", String(32), nullable=False),
    Column("action", String(16), nullable=False),
    Column("who", String(100), nullable=False),
    Column("reason_nonce", LargeBinary, nullable=False),
    Column("reason", LargeBinary, nullable=False),
    Column("subjects", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)
"""Table of the log: who opened or changed what, each row chained to the one before it.

Rows can be added only.
"""

_REFUSED = "the log of the vault can only be added to"
_SQLITE = tuple(
    f"CREATE TRIGGER {log.name}_no_{verb} BEFORE {verb} ON {log.name} BEGIN SELECT RAISE(ABORT,"
    f" '{_REFUSED}'); END"
    for verb in ("update", "delete")
)
_POSTGRESQL = (
    (
        f"CREATE OR REPLACE FUNCTION {log.name}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{_REFUSED}'; END $$"
    ),
    (
        f"CREATE TRIGGER {log.name}_add_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {log.name} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {log.name}_refuse()"
    ),
)


@event.listens_for(log, "after_create")
def _make_add_only(_: Table, connection: Connection, **__: object) -> None:
    statements = _POSTGRESQL if connection.dialect.name == "postgresql" else _SQLITE
    for statement in statements:
        connection.exec_driver_sql(statement)
