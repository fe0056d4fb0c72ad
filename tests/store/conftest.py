"""Databases to test against: a SQLite file, and a PostgreSQL server started for the session."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deid_assets.store.database import Database


def _binaries() -> Path | None:
    """Where initdb and pg_ctl are; Debian keeps them off the PATH."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    return max(
        (path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")), default=None
    )


def _server_user() -> list[str]:
    """A command prefix: PostgreSQL refuses to run as root."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return []
    import pwd

    for user in ("postgres", "nobody"):
        try:
            pwd.getpwnam(user)
        except KeyError:
            continue
        return ["runuser", "-u", user, "--"]
    return pytest.skip("running as root, and there is neither a user postgres nor nobody")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _run(command: list[str]) -> None:
    # The server inherits what it is started with, so a pipe would stay open; and its user may not
    # enter our folder.
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/"
    )


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of an empty database, on a unix socket in a short private folder."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL binaries; install the package postgresql")
    prefix = _server_user()
    # A socket's path has at most 107 bytes, and pytest's folders are closed to other users.
    home = Path(tempfile.mkdtemp(prefix="deid-pg-"))
    try:
        home.chmod(0o700)
        if prefix:
            shutil.chown(home, user=prefix[2])
        cluster, port = home / "cluster", _free_port()
        initdb = ["--auth=trust", "--username=deid", "--encoding=UTF8", "--locale=C", "--no-sync"]
        _run([*prefix, str(binaries / "initdb"), *initdb, "-D", str(cluster)])
        control = [*prefix, str(binaries / "pg_ctl"), "-D", str(cluster), "-w", "-t", "60"]
        options = f"-k {home} -p {port} -c listen_addresses='' -c fsync=off"
        _run([*control, "-l", str(home / "log"), "-o", options, "start"])
        try:
            yield f"postgresql://deid@/postgres?host={home}&port={port}"
        finally:
            _run([*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'catalogue' / 'deid.db'}"
    url = request.getfixturevalue("postgres_server")
    empty = Database(url)
    with empty.engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    empty.close()
    return url


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A catalogue with its tables."""
    catalogue = Database(database_url)
    catalogue.upgrade()
    yield catalogue
    catalogue.close()


@pytest.fixture
def calls_of() -> Callable[[Callable[[], object]], int]:
    """Count the functions that a piece of work calls.

    The same on every machine, where seconds are not.
    """

    def count(work: Callable[[], object]) -> int:
        calls: Counter[str] = Counter()
        sys.setprofile(lambda _frame, event, _of: calls.update([event]))
        try:
            work()
        finally:
            sys.setprofile(None)
        return calls["call"] + calls["c_call"]

    return count
