"""Ctrl-C while ``make run`` detects, as a terminal sends it: to the whole process group."""

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

WAITING = '''
"""Says that it has begun, and waits for ever if told to; its end of the pipe closes with it."""

import os
import threading

from deid_assets import Phi, SpanSet


class Detector:
    name, version, labels = "@NAME@", "1", frozenset({Phi.NAME})

    def __init__(self, *, order):
        with open(order) as file:
            self._pipe = file.read()

    def detect(self, notes):
        if os.path.exists(self._pipe):
            self._begun = os.open(self._pipe, os.O_WRONLY)
            os.write(self._begun, b"begun")
            threading.Event().wait()
        return [SpanSet.of(note, []) for note in notes]
'''


@pytest.fixture
def command(installation, write_detector, detector_site, tmp_path):
    """Start ``python -m deid_assets.quickstart`` in a process group of its own."""
    write_detector(tmp_path / "site", "waiting", body=WAITING)
    pipe, order = tmp_path / "pipe", tmp_path / "order"
    os.mkfifo(pipe)
    order.write_text(str(pipe))
    installation.configure(
        installation.default_settings + f'[detectors.waiting]\norder = "{order}"\n'
    )
    started = []

    def start():
        paths = os.pathsep.join([str(tmp_path / "site"), str(detector_site)])
        process = subprocess.Popen(
            [sys.executable, "-m", "deid_assets.quickstart"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=installation.root,
            env={**os.environ, **installation.environment(), "PYTHONPATH": paths, "COLUMNS": "200"},
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start, pipe
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_an_interrupt_undoes_detection_and_the_next_run_goes_on(
    installation, command, note_records
):
    start, pipe = command
    first = installation.receive(note_records())
    second = installation.receive(note_records(20), name="more.jsonl")

    process = start()
    with pipe.open("rb") as begun:
        assert begun.read(5) == b"begun"
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate()
        assert begun.read() == b"", "a worker runs on"

    assert process.returncode == 130, said
    assert "Stopped; " in said
    assert first in said
    assert second in said
    assert "Traceback" not in said
    assert "KeyboardInterrupt" not in said
    assert not list((installation.home / "store").rglob("spans_waiting/*/receipt.json"))
    assert not (installation.home / "released").exists()

    pipe.unlink()
    said, _ = start().communicate()

    assert "finished in" in said, said
    assert {path.name for path in (installation.home / "released").iterdir()} >= {first, second}
