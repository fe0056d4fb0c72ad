"""Migrations make the tables that the rows describe, on both databases, from anywhere."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from datetime import datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlmodel import SQLModel

from deid_assets.core.errors import ConfigError
from deid_assets.store.database import Database
from deid_assets.store.records import save_batch
from deid_assets.store.tables import PREFIX, BatchRow, UtcDateTime, catalogue

FORBIDDEN = {
    "text",
    "value",
    "surface",
    "meta",
    "patient",
    "content",
    "body",
    "comment",
    "message",
    "snippet",
    "word",
}


def test_the_rows_have_no_column_for_text() -> None:
    columns = [column for table in catalogue.metadata.tables.values() for column in table.columns]

    assert len(columns) > 40
    for column in columns:
        assert FORBIDDEN.isdisjoint(column.name.split("_")), column
        assert not isinstance(column.type, sa.Text | sa.JSON | sa.LargeBinary), column
        if isinstance(column.type, sa.String):
            assert column.type.length is not None, column
            assert column.type.length <= 200, column


def test_a_hosts_metadata_gains_no_table() -> None:
    assert not [name for name in SQLModel.metadata.tables if name.startswith(PREFIX)]
    assert all(name.startswith(PREFIX) for name in catalogue.metadata.tables)


def test_migrations_give_exactly_the_tables_of_the_rows(database: Database) -> None:
    def ours(name: str | None, kind: str, _: object) -> bool:
        return kind != "table" or (name or "").startswith(PREFIX)

    with database.engine.connect() as connection:
        options = {
            "compare_type": True,
            "include_name": ours,
            "version_table": f"{PREFIX}alembic_version",
        }
        context = MigrationContext.configure(connection, opts=options)

        assert compare_metadata(context, catalogue.metadata) == []


def test_upgrading_twice_changes_nothing(database: Database) -> None:
    with database.session() as session:
        save_batch(session, "b-1", corpus="c")
        session.commit()

    database.upgrade()
    with database.session(read_only=True) as session:
        assert session.get(BatchRow, "b-1") is not None


def test_dagsters_own_version_table_is_left_alone(database_url: str) -> None:
    database = Database(database_url)
    with database.engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"
        )
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES ('dagster')")
        connection.exec_driver_sql("CREATE TABLE runs (id INTEGER)")

    database.upgrade()

    with database.engine.connect() as connection:
        assert connection.exec_driver_sql(
            "SELECT version_num FROM alembic_version"
        ).scalars().all() == ["dagster"]
    database.close()


def test_many_processes_may_upgrade_at_once_from_any_folder(
    database_url: str, tmp_path: Path
) -> None:
    program = (
        "import sys; from deid_assets.store.database import Database;"
        " Database(sys.argv[1]).upgrade()"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program, database_url]

    running = [
        subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for _ in range(3)
    ]

    for process in running:
        output, _ = process.communicate(timeout=120)
        assert (process.returncode, output) == (0, b"")


def test_sqlite_waits_while_another_process_prepares_the_new_file(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "deid.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    other.execute("CREATE TABLE theirs (id INTEGER)")
    commit = threading.Timer(0.3, other.execute, ["COMMIT"])
    database = Database(f"sqlite:///{tmp_path}/deid.db")
    commit.start()

    with database.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"

    commit.join()
    other.close()
    database.close()


def test_sqlite_waits_for_other_writers_and_enforces_keys(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/deid.db")

    with database.engine.connect() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "busy_timeout", "foreign_keys")
        }

    assert pragmas == {"journal_mode": "wal", "busy_timeout": 30_000, "foreign_keys": 1}


def test_its_owner_alone_may_open_the_file_and_what_lies_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "deid.sqlite"
    path.touch(mode=0o644)  # as earlier versions left it
    database = Database(f"sqlite:///{path}")
    database.upgrade()
    with database.session() as session:
        save_batch(session, "b-1", corpus="c")
        session.commit()
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    database.close()

    assert modes == dict.fromkeys(["deid.sqlite", "deid.sqlite-shm", "deid.sqlite-wal"], 0o600)


def test_what_is_not_committed_is_undone(database: Database) -> None:
    with database.session() as session:
        save_batch(session, "b-1", corpus="c")

    with database.session(read_only=True) as session:
        assert session.get(BatchRow, "b-1") is None


def test_readers_do_not_wait_for_a_writer(database: Database) -> None:
    with database.session() as writer:
        save_batch(writer, "b-1", corpus="c")
        with database.session(read_only=True) as reader:
            assert reader.get(BatchRow, "b-1") is None


def test_database_errors_do_not_show_the_row(database: Database) -> None:
    with database.session() as session, pytest.raises(sa.exc.IntegrityError) as caught:
        session.execute(
            sa.insert(BatchRow), [{"batch": "b-1", "corpus": None, "created_at": None}] * 2
        )
    with database.session() as session, pytest.raises(sa.exc.StatementError) as also_caught:
        session.execute(sa.select(BatchRow).where(BatchRow.created_at == "XCANARYX"))

    assert "hidden due to hide_parameters" in str(caught.value)
    assert "XCANARYX" not in str(also_caught.value)


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("", "cannot be read"),
        ("no url, hunter2", "cannot be read"),
        ("mysql://me:hunter2@host/db", "'mysql' is not supported"),
    ],
)
def test_other_databases_are_refused_without_showing_the_password(url: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault) as caught:
        Database(url)
    assert "hunter2" not in str(caught.value)


def test_the_password_is_not_shown() -> None:
    assert (
        repr(Database("postgresql://me:hunter2@host/db"))
        == "Database('postgresql+psycopg://me:***@host/db')"
    )


def test_times_need_a_zone() -> None:
    with pytest.raises(ValueError, match="zone"):
        UtcDateTime().process_bind_param(datetime(2026, 1, 1), None)  # noqa: DTZ001 - the case
