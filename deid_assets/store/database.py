"""The SQL catalogue's database: SQLite for one machine, PostgreSQL for many."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlmodel import Session

from deid_assets.core.errors import ConfigError
from deid_assets.own_plugins import remedy

BUSY_TIMEOUT_S = 30
_MIGRATION_LOCK = 0x64656964  # "deid" in ASCII: any number that others do not lock


class Database:
    """One catalogue.

    Args:
        url: ``sqlite:///path/to/file.db`` or ``postgresql://user@host/name``. The file's folder is
            created.

    Raises:
        ConfigError: The URL cannot be read, names another database, or the PostgreSQL driver is
            missing.
    """

    def __init__(self, url: str) -> None:
        self._url = _check_url(url)
        try:
            # Errors must not show the rows that caused them.
            self.engine = create_engine(
                self._url, hide_parameters=True, pool_pre_ping=not self.is_sqlite
            )
        except ModuleNotFoundError:
            raise ConfigError(f"PostgreSQL needs psycopg; {remedy('postgresql')}") from None
        if self.is_sqlite:
            _prepare_sqlite(self.engine, self._url)

    def __repr__(self) -> str:
        return f"Database({self._url.render_as_string(hide_password=True)!r})"

    @property
    def is_sqlite(self) -> bool:
        """Whether this is a file of one machine."""
        return self._url.get_backend_name() == "sqlite"

    def upgrade(self, revision: str = "head") -> None:
        """Bring the tables to a revision; does nothing where they are there already.

        Safe to call from many processes.
        """
        with self._migrating() as config:
            from alembic import command  # noqa: PLC0415 - not needed to read and write

            command.upgrade(config, revision)

    @contextmanager
    def session(self, *, read_only: bool = False) -> Iterator[Session]:
        """Open a session; the caller commits, and what is not committed is undone.

        Args:
            read_only: On SQLite, do not wait for the single writer. Writing in such a session may
                fail as busy.
        """
        with Session(
            self.engine.execution_options(sqlite_begin="DEFERRED" if read_only else "IMMEDIATE")
        ) as session:
            yield session

    def close(self) -> None:
        """Close all pooled connections."""
        self.engine.dispose()

    @contextmanager
    def _migrating(self) -> Iterator[Any]:
        from alembic.config import Config  # noqa: PLC0415 - not needed to read and write

        config = Config()
        config.set_main_option(
            "script_location", str(Path(__file__).parent / "migrations").replace("%", "%%")
        )
        with self.engine.begin() as connection:
            if not self.is_sqlite:
                # SQLite locks the file when the transaction begins; here two processes would race.
                connection.execute(
                    text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK}
                )
            config.attributes["connection"] = connection
            yield config


def _check_url(url: str) -> URL:
    remedy = "give sqlite:///path/to/file.db or postgresql://user@host/name"
    try:
        parsed = make_url(url)
    except ArgumentError:
        # The message of SQLAlchemy quotes the URL, which may hold a password.
        raise ConfigError(f"the database URL cannot be read; {remedy}") from None
    backend = parsed.get_backend_name()
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise ConfigError(f"database {backend!r} is not supported; {remedy}")
    return parsed


def _write_ahead(connection: sqlite3.Connection) -> None:
    # Of two connections that change the journal of one new file, SQLite refuses one at once,
    # whatever its timeout.
    patience_ends = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if (
                error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY
                or time.monotonic() > patience_ends
            ):
                raise
            time.sleep(0.01)
        else:
            return


def _prepare_sqlite(engine: Engine, url: URL) -> None:
    if url.database and url.database != ":memory:":
        path = Path(url.database)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.chmod(0o600)  # SQLite gives the files beside it the same mode

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: Any) -> None:
        # The driver's own transactions leave DDL outside; ours begin in `begin` below.
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000}")
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A deferred transaction that reads and then writes fails at once, without waiting, when
        # another wrote between.
        mode = connection.get_execution_options().get("sqlite_begin", "IMMEDIATE")
        connection.exec_driver_sql(f"BEGIN {mode}")
