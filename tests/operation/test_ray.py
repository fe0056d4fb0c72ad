"""Batches as Ray jobs on two nodes of this machine, of which one is killed in the middle.

Nothing is lost, nothing is made twice, and what is released is what one process releases.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import dagster as dg
import pytest
import yaml
from sqlalchemy import create_engine, text

from deid_assets.config import Settings
from deid_assets.defs.instance import open_instance
from deid_assets.operation.environment import read_environment
from deid_assets.operation.folder import write_folder
from deid_assets.runtime.installation import Installation

MISSING = [name for name in ("ray", "dagster_ray", "dagster_postgres") if not find_spec(name)]
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"needs {MISSING}: make add PLUGIN='ray postgresql'"),
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.skipif(
        sys.platform != "linux", reason="each node has a loopback address of its own, as Linux has"
    ),
]
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
BATCHES = 6
PATIENCE_S = 1200
OF_NO_ASSET = {"arrival", "release_baseline"}
"""Receipts of what Dagster does not know."""
KEY = "5a" * 32
PARTITION = "dagster/partition"
SETTINGS = """
ensemble = ["held"]
recipes = []
policies = ["surrogate"]
release_policy = "surrogate"
languages = ["en"]
workers = 1
release.require = "none"
"""
HELD = '''
"""Finds what the detector of the other tests does, and waits for a file before it answers."""

import os
import time

from deid_stencil import Detector as Stencil


class Detector(Stencil):
    name = "@NAME@"

    def detect(self, notes):
        gate = os.environ["GATE"]
        open(f"{gate}-{os.getpid()}", "w").close()
        while not os.path.exists(gate):
            time.sleep(0.1)
        return super().detect(notes)
'''


def until(answer, what):
    """Wait for an answer that is not empty."""
    pause = threading.Event()
    for _ in range(PATIENCE_S * 2):
        if found := answer():
            return found
        pause.wait(0.5)
    raise TimeoutError(what)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def environment_of(house):
    """The settings and secrets of an installation, here and in what is started here."""
    before = dict(os.environ)
    os.environ.update(read_environment(house / ".env"))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def processes_under(process):
    """Ids of a process and of all that it started, and those started."""
    parents = {}
    for folder in Path("/proc").glob("[1-9]*"):
        with suppress(OSError):
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(stat[1])
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


class Nodes:
    """A head that runs nothing, and nodes with a CPU each, on loopback addresses of their own.

    Args:
        dashboard: Port on which the head takes jobs.
    """

    def __init__(self, dashboard):
        from ray.cluster_utils import Cluster

        self.dashboard, self._address = dashboard, 2
        head = {"include_dashboard": True, "dashboard_port": dashboard, "num_cpus": 0}
        self._cluster = Cluster(initialize_head=True, head_node_args=head | self._options())

    def _options(self):
        address = f"127.0.0.{self._address}"
        self._address += 1
        return {
            "node_ip_address": address,
            "object_store_memory": 80_000_000,
            "dashboard_agent_listen_port": 0,
            "include_log_monitor": False,
        }

    def add(self):
        return self._cluster.add_node(num_cpus=1, **self._options())

    def kill(self, node):
        """End all processes of a node at once, as where its machine lost power."""
        raylet = node.all_processes["raylet"][0].process.pid
        doomed = processes_under(raylet)
        for process in doomed:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._cluster.remove_node(node, allow_graceful=False)

    def close(self):
        self._cluster.shutdown()


@pytest.fixture
def database(postgres_server):
    """URL of a database that nobody else has."""
    admin = create_engine(
        postgres_server.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
    )
    with admin.connect() as connection:
        connection.execute(text("CREATE DATABASE ray"))
    yield postgres_server.replace("/postgres?", "/ray?")
    with admin.connect() as connection:
        connection.execute(text("DROP DATABASE ray WITH (FORCE)"))
    admin.dispose()


@pytest.fixture
def gate(tmp_path, write_detector, detector_site, monkeypatch):
    """The file that the detector waits for."""
    site = tmp_path / "site"
    write_detector(site, "held", body=HELD)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), str(detector_site)]))
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("GATE", str(tmp_path / "gate"))
    return tmp_path / "gate"


def found_house(house, note_records, database_url=""):
    """Write an installation whose key is known, with a file for each batch."""
    write_folder(house, database_url=database_url)
    own = read_environment(house / ".env")["DEID_KEY"]
    (house / ".env").write_text((house / ".env").read_text().replace(own, KEY))
    (house / "deid.toml").write_text(SETTINGS)
    for number in range(BATCHES):
        lines = [json.dumps(one) + "\n" for one in note_records(number * 8, gold=False)]
        (house / "landing" / f"notes-{number}.jsonl").write_text("".join(lines))


def opened():
    return Installation(Settings.load())


def notes_of(installation):
    folder = installation.settings.released
    return {path.parent.name: path.read_bytes() for path in folder.glob("*/notes.jsonl")}


@pytest.fixture
def made_here(tmp_path, gate, note_records):
    """Released notes of each batch, and asset and batch of all receipts, of one process."""
    house = tmp_path / "local"
    found_house(house, note_records)
    gate.touch()
    with environment_of(house):
        subprocess.run([sys.executable, "-m", "deid_assets.quickstart"], check=True, cwd=house)
        made = opened()
        notes, receipts = notes_of(made), {*made.files.partitions()}
    for file in gate.parent.glob("gate*"):
        file.unlink()
    return notes, receipts


@pytest.fixture
def nodes(monkeypatch):
    """A head alone, which ends with the test, as do the nodes that are added."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")  # Ray reads it when it is imported
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # Else every Ray of this machine would find this one. A socket's path has at most 107 bytes.
    folder = tempfile.mkdtemp(prefix="deid-ray-")
    monkeypatch.setenv("RAY_TMPDIR", folder)
    programs = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join([programs, os.environ["PATH"]]))
    started = []

    def start():
        started.append(Nodes(free_port()))
        return started[-1]

    yield start
    for one in started:
        one.close()
    shutil.rmtree(folder, ignore_errors=True)


def configure_dagster(house, dashboard):
    """Write what the page says, for two nodes on this machine."""
    block = PAGE.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    path = house / "dagster" / "dagster.yaml"
    settings = yaml.safe_load(path.read_text()) | yaml.safe_load(block)
    settings["run_launcher"]["config"]["ray"]["address"] = f"http://127.0.0.1:{dashboard}"
    settings["concurrency"]["runs"]["max_concurrent_runs"] = 2
    settings["run_monitoring"]["poll_interval_seconds"] = 5
    path.write_text(yaml.safe_dump(settings))


@contextmanager
def daemon(house):
    """Dagster's daemon, with the landing sensor on."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": house}
    dagster, workspace = [sys.executable, "-m"], ["-w", "workspace.yaml"]
    sensor = ["dagster", "sensor", "start", "landing_sensor", *workspace, "-l", "deid_assets"]
    subprocess.run([*dagster, *sensor], check=True, **quiet)
    process = subprocess.Popen(
        [*dagster, "dagster._daemon", "run", *workspace], start_new_session=True, **quiet
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


@pytest.fixture
def cluster(tmp_path, database, gate, note_records, nodes):
    """Two nodes at work, each on a batch of which the notes are stored and no spans."""
    house = tmp_path / "house"
    found_house(house, note_records, database)
    with environment_of(house):
        started = nodes()
        both = [started.add(), started.add()]
        configure_dagster(house, started.dashboard)
        with open_instance(house / "dagster") as instance, daemon(house):
            until(lambda: len([*gate.parent.glob("gate-*")]) == 2, "two runs at work")
            yield started, both, instance


def batches_at_work(instance, dashboard):
    """Ray's id of a node to the batch that it is at."""
    from ray.job_submission import JobSubmissionClient

    client = JobSubmissionClient(f"http://127.0.0.1:{dashboard}")
    return {
        client.get_job_info(f"dagster-run-{run.run_id}").driver_node_id: run.tags[PARTITION]
        for run in instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
    }


def all_ended(instance):
    return len(notes_of(opened())) == BATCHES and all(
        run.is_finished for run in instance.get_runs()
    )


def materializations(instance, assets):
    """Asset and batch to how often Dagster has it as made."""
    return Counter(
        (asset, record.partition_key)
        for asset in assets
        for record in instance.fetch_materializations(dg.AssetKey(asset), limit=1000).records
    )


def test_a_node_that_is_killed_loses_nothing_and_doubles_nothing(made_here, cluster, gate):
    notes, receipts = made_here
    nodes, (victim, other), instance = cluster
    at_work = batches_at_work(instance, nodes.dashboard)
    assert at_work.keys() == {victim.node_id, other.node_id}

    nodes.kill(victim)
    nodes.add()
    gate.touch()
    until(lambda: all_ended(instance), "all batches released")

    installation = opened()
    assert notes_of(installation) == notes
    released = Counter(entry.batch for entry in installation.releases.releases().entries)
    assert released == Counter(notes.keys())
    assert all(installation.releases.check(batch) for batch in notes)
    assert {*installation.files.partitions()} == receipts
    assets = {asset for asset, _ in receipts} - OF_NO_ASSET
    made = materializations(instance, assets)
    assert made == Counter(one for one in receipts if one[0] in assets)
    ended = Counter((run.status.value, run.tags[PARTITION]) for run in instance.get_runs())
    assert ended == Counter(
        [*(("SUCCESS", batch) for batch in notes), ("FAILURE", at_work[victim.node_id])]
    )
