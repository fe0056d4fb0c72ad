"""A run of a feed that dies at any statement or file operation has taken all or nothing."""

from __future__ import annotations

import os
import shutil
import signal
import traceback

import pytest
import sqlalchemy as sa

from deid_assets.intake.arrivals import find_arrival
from deid_assets.store.database import Database
from deid_assets.store.feeds import totals_of

WANTED = {
    **{str(n): f"Note {n}." for n in range(12) if n not in (3, 7)},
    "7": "Note 7, corrected.",
    **{str(n): f"Note {n}." for n in range(20, 24)},
}


def change(table):
    """Correct a note, delete one and add four, so that the table holds ``WANTED``."""
    table.put(7, "Note 7, corrected.", at=100, person=2)
    table.remove(3)
    for n in range(20, 24):
        table.put(n, f"Note {n}.", at=n, person=n)


@pytest.fixture
def taken_once(table, tmp_path):
    """A table of which a feed took twelve notes, and which changed since; a copy of the home."""
    for n in range(12):
        table.put(n, f"Note {n}.", at=n, person=n % 5)
    table.run()
    change(table)
    table.installation.settings()
    shutil.copytree(table.installation.home, tmp_path / "start")
    return table


def put_back(table, start):
    shutil.rmtree(table.installation.home)
    shutil.copytree(start, table.installation.home)


def check(table, step):
    """The next run completes what the killed one left: nothing is lost, nothing doubled."""
    table.run()
    assert table.texts() == WANTED, f"killed before {step}"
    opened = table.installation.opened()
    batches = [
        (batch, find_arrival(opened.files, batch).attempt) for batch in sorted(table.entries())
    ]
    database = Database(opened.settings.sql_url)
    with database.session(read_only=True) as session:
        totals = totals_of(session, "ward")
    database.close()
    assert (totals.notes, totals.faults) == (len(WANTED), 0)
    left = opened.settings.store / "restricted" / "landing" / ".feeds" / "ward"
    assert list(left.iterdir()) == []
    return batches


def steps(first, share):
    """A share of the steps, or all where ``DEID_CAMPAIGNS`` asks for them."""
    return range(1, 100_000) if os.environ.get("DEID_CAMPAIGNS") else range(first, 100_000, share)


@pytest.mark.long
def test_a_kill_before_file_operations_and_statements_loses_and_doubles_nothing(
    taken_once, tmp_path, killed_at
):
    made, tried = set(), 0
    for step in steps(1, 37):
        put_back(taken_once, tmp_path / "start")
        died = killed_at(step, taken_once.run)
        made.add(tuple(check(taken_once, step)))
        tried += 1
        if not died:
            break

    assert len(made) == 1, "other batches, or one read again too often, after a kill"
    assert tried > 5


def killed_before_statement(step, action):
    """Run an action in a process that dies before its ``step``-th SQL statement or commit."""
    child = os.fork()
    if child == 0:
        left = step

        def count(*_):
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        code = 3
        try:
            sa.event.listen(sa.Engine, "before_cursor_execute", count)
            sa.event.listen(sa.Engine, "commit", count)
            action()
            code = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        assert os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


@pytest.mark.long
@pytest.mark.postgres
def test_a_kill_before_statements_on_postgresql_loses_and_doubles_nothing(
    postgres_server, source_of, tmp_path, monkeypatch
):
    state = postgres_server.replace("/postgres?", "/state?")
    table = source_of(f"sqlite:///{tmp_path / 'warehouse.db'}")
    table.configure()
    tried = 0
    for step in steps(1, 9):
        _fresh_database(postgres_server)
        monkeypatch.setenv("DEID_DATABASE_URL", state)
        shutil.rmtree(table.installation.home, ignore_errors=True)
        for n in (3, 7, *range(20, 24)):
            table.remove(n)
        for n in range(12):
            table.put(n, f"Note {n}.", at=n, person=n % 5)
        table.run()
        change(table)
        died = killed_before_statement(step, table.run)
        check(table, step)
        tried += 1
        if not died:
            break

    assert tried > 3


def _fresh_database(url):
    engine = sa.create_engine(
        url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.exec_driver_sql("DROP DATABASE IF EXISTS state WITH (FORCE)")
        connection.exec_driver_sql("CREATE DATABASE state")
    engine.dispose()


def test_two_runs_at_once_take_each_note_once(table):
    for n in range(40):
        table.put(n, f"Note {n}.", at=n, person=n)
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            code = 3
            try:
                table.run()
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    ended = [os.WEXITSTATUS(os.waitpid(child, 0)[1]) for child in children]

    assert ended == [0, 0, 0]
    assert len(table.texts()) == 40
