"""From ``deid init`` to a release, in that folder alone: by ``deid run`` and by ``dagster dev``."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

from deid_assets.operation.folder import write_folder

pytestmark = pytest.mark.slow
DEID = Path(sys.executable).with_name("deid")
PATIENCE = 600


def until(answer):
    """Wait for an answer that is not empty."""
    pause = threading.Event()
    for _ in range(PATIENCE * 5):
        if found := answer():
            return found
        pause.wait(0.2)
    raise TimeoutError


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def deid(house, outside, *arguments):
    return subprocess.run(
        [DEID, *arguments], cwd=house, env=outside, capture_output=True, text=True, check=False
    )


class Served:
    """What ``dagster dev`` answers.

    Args:
        port: Of its web server.
    """

    def __init__(self, port):
        self._url = f"http://127.0.0.1:{port}/graphql"

    def ask(self, query, **variables):
        """Data of a query; nothing while the server is not up."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(
            self._url, body, {"Content-Type": "application/json"}, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["data"]
        except (urllib.error.URLError, ConnectionError):
            return None

    def locations(self):
        """Code locations by name to whether they load; nothing while one is loading."""
        said = self.ask(
            "{workspaceOrError{...on Workspace{locationEntries{name loadStatus"
            " locationOrLoadError{__typename}}}}}"
        )
        entries = said["workspaceOrError"]["locationEntries"] if said else []
        if not entries or any(one["loadStatus"] == "LOADING" for one in entries):
            return None
        return {
            one["name"]: one["locationOrLoadError"]["__typename"] == "RepositoryLocation"
            for one in entries
        }


@contextmanager
def dagster_dev(house, outside):
    port = free_port()
    command = [sys.executable, "-m", "dagster", "dev", "--host", "127.0.0.1", "--port", str(port)]
    with (house.parent / "said.txt").open("w") as said:
        process = subprocess.Popen(
            command, cwd=house, env=outside, stdout=said, stderr=said, start_new_session=True
        )
    try:
        yield Served(port)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


LAUNCH = """
mutation($params: ExecutionParams!) {
  launchRun(executionParams: $params) { __typename ... on LaunchRunSuccess { run { runId } } }
}"""


def test_a_folder_is_enough_for_deid_run_and_for_dagster_dev(tmp_path, outside, drop):
    house = tmp_path / "house"
    assert deid(tmp_path, outside, "init", "house").returncode == 0
    drop(house)

    done = deid(house, outside, "run")

    assert done.returncode == 0, done.stdout + done.stderr
    (released,) = house.glob("released/b-*/notes.jsonl")
    assert "Zedmarlow" not in released.read_text()
    assert "released" in deid(house, outside, "batches", "list").stdout
    assert not (tmp_path / ".deid").exists()
    with dagster_dev(house, outside) as served:
        assert until(served.locations) == {"deid_assets": True}
        runs = served.ask("{runsOrError{...on Runs{results{status}}}}")["runsOrError"]["results"]
        assert {run["status"] for run in runs} == {"SUCCESS"}
    assert not list(house.glob(".tmp_dagster_home_*"))


@pytest.mark.postgres
@pytest.mark.skipif(not find_spec("dagster_postgres"), reason="needs dagster-postgres")
def test_one_url_holds_the_store_and_the_runs_of_dagster(postgres_server, tmp_path, outside, drop):
    engine = create_engine(postgres_server.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(
            text("CREATE DATABASE whole")
        )
    url = postgres_server.replace("/postgres?", "/whole?")
    shell = outside | {"DEID_DATABASE_URL": url}
    assert deid(tmp_path, shell, "init", "house", "--postgresql").returncode == 0
    house = tmp_path / "house"
    drop(house)

    done = deid(house, outside, "run")

    assert done.returncode == 0, done.stdout + done.stderr
    assert list(house.glob("released/b-*/notes.jsonl"))
    assert not list(house.rglob("*.sqlite")) + list(house.rglob("*.db"))
    whole = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    tables = set(inspect(whole).get_table_names())
    assert {"deid_batches", "deid_alembic_version", "alembic_version", "runs"} <= tables
    with whole.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM runs")).scalar_one() >= 1
        assert connection.execute(text("SELECT count(*) FROM deid_notes")).scalar_one() == 8
    looked = deid(house, outside, "doctor", "--json")
    found = {one["what"]: one for one in json.loads(looked.stdout)}
    assert found["database"]["detail"].startswith("PostgreSQL")
    assert found["dagster-postgres"]["state"] == "ok"
    again = deid(house, outside, "run")
    assert "up to date" in again.stdout
    whole.dispose()
    with engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(
            text("DROP DATABASE whole")
        )
    engine.dispose()
    gone = deid(house, outside, "run")
    assert gone.returncode == 2, gone.stdout + gone.stderr
    assert "damaged" not in gone.stdout


KILLED = '''
"""Kills its run the first time, and is told the second."""

import os
import signal

from deid_assets import Phi, SpanSet


class Detector:
    name, version, labels = "@NAME@", "1", frozenset({Phi.NAME})

    def __init__(self, *, mark):
        self._mark = mark

    def detect(self, notes):
        if os.path.exists(self._mark):
            return [SpanSet.of(note, []) for note in notes]
        open(self._mark, "w").close()
        os.kill(os.getppid(), signal.SIGKILL)
        raise SystemExit
'''


def runs_of(house):
    """Status, tags and parent of each run, oldest first."""
    path = next(house.glob("dagster/history/runs.db"))
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute("SELECT run_id, status, run_body FROM runs ORDER BY id").fetchall()


def test_a_run_whose_process_is_killed_is_started_again_once(
    tmp_path, outside, drop, write_detector
):
    house, mark = tmp_path / "house", tmp_path / "mark"
    write_folder(house)
    drop(house)
    write_detector(tmp_path / "site", "killed", body=KILLED)
    settings = (house / "deid.toml").read_text()
    (house / "deid.toml").write_text(settings + f"[detectors.killed]\nmark = '{mark}'\n")
    outside["PYTHONPATH"] += os.pathsep + str(tmp_path / "site")
    mark.touch()
    assert deid(house, outside, "run").returncode == 0
    mark.unlink()
    (batch,) = (path.name for path in (house / "released").glob("b-*"))
    before = len(runs_of(house))

    with dagster_dev(house, outside) as served:
        until(served.locations)
        params = {
            "selector": {
                "repositoryLocationName": "deid_assets",
                "repositoryName": "__repository__",
                "jobName": "detector__killed",
            },
            "executionMetadata": {"tags": [{"key": "dagster/partition", "value": batch}]},
            "mode": "default",
            "runConfigData": {},
        }
        assert served.ask(LAUNCH, params=params)["launchRun"]["__typename"] == "LaunchRunSuccess"
        ended = {"SUCCESS", "FAILURE", "CANCELED"}
        until(
            lambda: (
                len(runs_of(house)) == before + 2
                and all(status in ended for _, status, _ in runs_of(house))
            )
        )
    assert [status for _, status, _ in runs_of(house)[before:]] == ["FAILURE", "SUCCESS"]
