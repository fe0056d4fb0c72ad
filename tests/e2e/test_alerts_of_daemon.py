"""Alerts of runs that Dagster's own daemon starts: its sensor, a real channel."""

import json
import os
import signal
import subprocess
import sys
import threading

import dagster as dg
import pytest
from dagster._core.definitions.run_request import InstigatorType

from deid_assets.defs.instance import write_instance

pytestmark = pytest.mark.slow
DAGSTER = (sys.executable, "-m", "dagster")


def until(is_so):
    """Wait until something is so that happens in processes which nobody here can wait for."""
    pause = threading.Event()
    while not is_so():
        pause.wait(0.2)


@pytest.fixture
def instance(installation, detector_site, tmp_path, monkeypatch):
    """The instance of an installation with alerts, whose daemon runs and ticked once."""
    installation.log = tmp_path / "alerts.jsonl"
    installation.configure(
        installation.default_settings + f'[alerts]\nlog = "{installation.log}"\n'
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(detector_site), *sys.path]))
    home = write_instance(installation.dagster_home)
    with dg.DagsterInstance.from_config(str(home)) as instance:
        daemon = subprocess.Popen(
            [sys.executable, "-m", "dagster._daemon", "run", "-m", "deid_assets.definitions"],
            cwd=installation.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until(lambda: any(cursor_of(state) for state in sensors(instance)))
        yield instance
        daemon.send_signal(signal.SIGINT)
        daemon.wait()


def sensors(instance):
    return [
        state
        for state in instance.all_instigator_state()
        if state.instigator_type is InstigatorType.SENSOR and state.name == "alert_sensor"
    ]


def cursor_of(state):
    return state.instigator_data and state.instigator_data.cursor


def test_a_run_of_the_daemon_that_a_check_stopped_is_told(installation, instance):
    batch = installation.receive([{"id": "1", "lang": "en", "text": ""}])
    instance.add_dynamic_partitions("batches", [batch])
    tags = ["--tags", json.dumps({"dagster/partition": batch})]
    subprocess.run(
        [*DAGSTER, "job", "launch", "-m", "deid_assets.definitions", "-j", "main_job", *tags],
        capture_output=True,
        check=True,
        cwd=installation.root,
    )
    until(installation.log.exists)
    (alert,) = map(json.loads, installation.log.read_text().splitlines())
    run = instance.get_runs(limit=1)[0]
    assert run.status is dg.DagsterRunStatus.FAILURE
    assert (alert["asset"], alert["batch"], alert["run"]) == ("raw_notes", batch, run.run_id)
    assert alert["check"]
