"""Runs that Dagster's daemon starts: however they end, none of their processes stays."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import dagster as dg
import pytest

from deid_assets.defs.instance import write_instance

pytestmark = pytest.mark.slow
NOTES = 300
DAGSTER = (sys.executable, "-m", "dagster")

BUSY = '''
"""Fails on every note, or says which process it serves and waits for ever, as it is told to."""

import os
import threading

from deid_assets import Phi, SpanSet


class Detector:
    name, version, labels = "@NAME@", "1", frozenset({Phi.NAME})

    def __init__(self, *, order):
        self._order = order

    def detect(self, notes):
        with open(self._order) as order:
            told = order.read()
        if told.startswith("/"):
            self._begun = os.open(told, os.O_WRONLY)
            os.write(self._begun, f"{os.getppid()}\\n".encode())
            threading.Event().wait()
        if told == "fail":
            raise LookupError
        return [SpanSet.of(note, []) for note in notes]
'''


def until(is_so):
    """Wait until something is so that happens in processes which nobody here can wait for."""
    pause = threading.Event()
    while not is_so():
        pause.wait(0.1)


class House:
    """An installation whose runs a daemon starts."""

    def __init__(self, installation, instance, daemon, order, pipe):
        self.installation, self.instance, self._daemon = installation, instance, daemon
        self._order, self._pipe = order, pipe

    def processes(self):
        """Runs and their workers: what multiprocessing started in the daemon's session.

        Its code server comes and goes.
        """
        found = set()
        for folder in Path("/proc").glob("[1-9]*"):
            try:
                stat = (folder / "stat").read_text().rpartition(")")[2].split()
                command = (folder / "cmdline").read_bytes()
            except (ProcessLookupError, FileNotFoundError):
                continue
            if stat[0] != "Z" and int(stat[3]) == self._daemon.pid and b"spawn_main" in command:
                found.add(int(folder.name))
        return found

    def launch(self, batch, order):
        """Queue a run and return its id."""
        self._order.write_text(order)
        tags = json.dumps({"dagster/partition": batch})
        subprocess.run(
            [
                *DAGSTER,
                "job",
                "launch",
                "-m",
                "deid_assets.definitions",
                "-j",
                "detector__busy",
                "--tags",
                tags,
            ],
            capture_output=True,
            check=True,
            cwd=self.installation.root,
        )
        return self.instance.get_runs(limit=1)[0].run_id

    def begun(self):
        """Wait until the detector is at work, and return the run's process and what closes with the
        worker.
        """
        pipe = self._pipe.open()
        return int(pipe.readline()), pipe

    def ended(self, run_id):
        until(lambda: self.instance.get_run_by_id(run_id).is_finished)
        return self.instance.get_run_by_id(run_id).status


@pytest.fixture
def house(installation, write_detector, detector_site, tmp_path, monkeypatch):
    site, order, pipe = tmp_path / "site", tmp_path / "order", tmp_path / "pipe"
    write_detector(site, "busy", body=BUSY)
    order.write_text("")
    os.mkfifo(pipe)
    installation.configure(installation.default_settings + f'[detectors.busy]\norder = "{order}"\n')
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), str(detector_site)]))
    home = write_instance(installation.dagster_home)
    with dg.DagsterInstance.from_config(str(home)) as instance:
        daemon = subprocess.Popen(
            [sys.executable, "-m", "dagster._daemon", "run", "-m", "deid_assets.definitions"],
            cwd=installation.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        yield House(installation, instance, daemon, order, pipe)
        daemon.send_signal(signal.SIGINT)
        daemon.wait()


def test_no_process_of_a_run_outlives_it(house, note_record):
    names = [f"Zed{chr(97 + n % 26)}{chr(97 + n // 26)}man" for n in range(NOTES)]
    records = [
        note_record(
            n,
            f"{names[-n]} asked about {n * 7919} and {name} about {n * 104729}. " * 35,
            person=name,
            record=4_000_000 + n,
        )
        for n, name in enumerate(names)
    ]
    batch = house.installation.receive(records)
    assert house.installation.failures(house.installation.run(batch, "raw_notes")) == {}
    house.instance.add_dynamic_partitions("batches", [batch])

    run = house.launch(batch, "")
    assert house.ended(run) is dg.DagsterRunStatus.SUCCESS, [
        log.message for log in house.instance.all_logs(run)
    ]
    until(lambda: not house.processes())

    assert house.ended(house.launch(batch, "fail")) is dg.DagsterRunStatus.FAILURE
    until(lambda: not house.processes())

    run = house.launch(batch, str(house._pipe))
    process, worker = house.begun()
    assert process in house.processes()
    house.instance.run_launcher.terminate(run)
    assert house.ended(run) is dg.DagsterRunStatus.CANCELED
    with worker:
        worker.read()
    until(lambda: not house.processes())

    house.launch(batch, str(house._pipe))
    process, worker = house.begun()
    os.kill(process, signal.SIGKILL)
    with worker:
        worker.read()
    until(lambda: not house.processes())
