"""The pool of detectors: one process or several, the same outcomes in the same order."""

import pytest

from deid_assets.core.detector import Failed
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.runtime.detectors import CHUNK_CHARS, DetectorPool
from deid_assets.runtime.processes import WorkerDied, end_workers
from deid_assets.runtime.progress import progress_callback

STAGE = "spans_stencil"
ENDING = """
import os, sys
from deid_assets import Phi, SpanSet

class Detector:
    name, version, labels = "@NAME@", "1", frozenset({Phi.NAME})

    def detect(self, notes):
        for note in notes:
            if "END" in note.text:
                @END@
            yield SpanSet.of(note, [])
"""


LISTED = """
from pathlib import Path
from deid_assets import Phi, Span, SpanSet

class Detector:
    name, version, labels = "@NAME@", "1", frozenset({Phi.NAME})

    def __init__(self, *, names):
        path = Path(names)
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        self._names = [line for file in files for line in file.read_text().split()]

    def detect(self, notes):
        for note in notes:
            places = [(note.text.find(name), name) for name in self._names if name in note.text]
            found = [
                Span(at, at + len(name), Phi.NAME, source=self.name) for at, name in places
            ]
            yield SpanSet.of(note, found)
"""


CLOCKED = """
import time
from deid_assets import Phi, SpanSet

now = 0.0
time.perf_counter = lambda: now  # of this worker process, which ends with the test

def pass_time(seconds):
    global now
    now += seconds

class Detector:
    name, version, labels = "@NAME@", "1", frozenset({Phi.NAME})

    def __init__(self):
        pass_time(100.0)

    def detect(self, notes):
        for note in notes:
            pass_time(0.25)
            yield SpanSet.of(note, [])
"""


@pytest.fixture
def open_pool(detector_site):
    def make(options=None, *, workers=1):
        return DetectorPool(options or {}, workers=workers)

    yield make
    end_workers()


def test_no_notes_give_no_outcomes(open_pool):
    assert open_pool(workers=2).detect("stencil", [], stage=STAGE) == []


@pytest.mark.parametrize(
    ("end", "error"),
    [
        ("os.abort()", "WorkerDied"),
        ("sys.exit(note.text)", "SystemExit"),
        ("raise KeyboardInterrupt(note.text)", "KeyboardInterrupt"),
    ],
)
def test_a_note_on_which_a_detector_ends_its_process_is_withheld_alone(
    write_detector, tmp_path, monkeypatch, open_pool, *, end, error
):
    write_detector(tmp_path, "ending", body=ENDING.replace("@END@", end))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    notes = [
        Note("a", "Ann was seen"),
        Note("b", "Bob, and this is the END"),
        Note("c", "Cem was seen"),
    ]

    found = open_pool().detect("ending", notes, stage="spans_ending")

    assert [type(outcome) for outcome in found] == [SpanSet, Failed, SpanSet]
    assert found[1] == Failed("b", "spans_ending", error)
    assert not list(tmp_path.glob("core*"))


def test_a_detector_that_ends_every_process_stops_the_batch(
    write_detector, tmp_path, monkeypatch, open_pool
):
    write_detector(tmp_path, "ending", body=ENDING.replace("@END@", "os.abort()"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("deid_assets.runtime.detectors.MAX_DEATHS", 2)

    with pytest.raises(WorkerDied, match="a library in it aborted"):
        open_pool().detect("ending", [Note(str(n), "END") for n in range(3)], stage="spans_ending")


def test_progress_is_told_after_each_part_of_a_batch(open_pool):
    heard = []
    notes = [Note(str(n), "x " * (CHUNK_CHARS // 2)) for n in range(3)]

    with progress_callback(lambda *progress: heard.append(progress)):
        open_pool().detect("stencil", notes, stage=STAGE)

    assert heard == [(STAGE, 1, 3), (STAGE, 2, 3), (STAGE, 3, 3)]


@pytest.mark.slow
def test_worker_processes_give_what_one_process_gives(open_pool):
    padding = "x " * (CHUNK_CHARS // 6)
    notes = [
        Note(f"note-{n}", f"Zedmarlow {4_000_000 + n} {'trip' if n == 5 else ''} {padding}")
        for n in range(8)
    ]
    options = {"stencil": {"raise_on": "trip"}}

    alone = open_pool(options).detect("stencil", notes, stage=STAGE)
    together = open_pool(options, workers=2).detect("stencil", notes, stage=STAGE)

    assert together == alone
    assert alone[5] == Failed("note-5", STAGE, "LookupError")
    assert [type(outcome) for n, outcome in enumerate(alone) if n != 5] == [SpanSet] * 7


@pytest.mark.slow
@pytest.mark.parametrize("in_folder", [False, True])
def test_workers_that_outlive_a_run_load_a_detector_anew_when_its_files_changed(
    write_detector, tmp_path, monkeypatch, open_pool, in_folder
):
    """A list of names that grew must not be the old one in a worker: names would be left."""
    write_detector(tmp_path / "site", "listed", body=LISTED)
    monkeypatch.syspath_prepend(tmp_path / "site")
    option = tmp_path / "names"
    if in_folder:
        option.mkdir()
    names = option / "names.txt" if in_folder else option
    notes = [Note(f"note-{n}", "Ann and Bob. " + "x " * (CHUNK_CHARS // 2)) for n in range(3)]

    found = []
    for known in ("Ann", "Ann Bob"):
        names.write_text(known)
        pool = open_pool({"listed": {"names": str(option)}}, workers=2)
        found.append(
            [len(outcome.spans) for outcome in pool.detect("listed", notes, stage="spans_listed")]
        )

    assert found == [[1, 1, 1], [2, 2, 2]]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_time_of_a_detector_is_that_of_detection_and_not_of_its_start(
    write_detector, tmp_path, monkeypatch, open_pool, workers
):
    write_detector(tmp_path, "clocked", body=CLOCKED)
    monkeypatch.syspath_prepend(tmp_path)
    notes = [Note(f"n-{n}", "x" * (CHUNK_CHARS // 2)) for n in range(8)]

    answers = open_pool(workers=workers).answer("clocked", notes, stage="spans_clocked")

    assert len(answers.outcomes) == 8
    assert answers.seconds == 8 * 0.25
