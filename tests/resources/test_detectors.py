"""The pool of detectors: one process or several, the same outcomes in the same order."""

import pytest

from deid_assets.core.detector import Failed
from deid_assets.core.errors import PluginError
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_resources.detectors import CHUNK_CHARS, DetectorPool

STAGE = "spans/stencil"
EXITING = """
import sys
from deid_assets import Phi

class Detector:
    name, version, labels = "@NAME@", "1", frozenset({Phi.NAME})

    def detect(self, notes):
        sys.exit(notes[0].text)
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
            yield SpanSet.of(note, [Span(at, at + len(name), Phi.NAME, source=self.name) for at, name in places])
"""


@pytest.fixture
def open_pool(detector_site):
    pools = []

    def make(options=None, *, workers=1):
        pools.append(DetectorPool(options or {}, workers=workers))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


def test_a_detector_is_loaded_once(open_pool):
    pool = open_pool()

    assert pool.open("stencil") is pool.open("stencil")


def test_no_notes_give_no_outcomes(open_pool):
    assert open_pool(workers=2).detect("stencil", [], stage=STAGE) == []


def test_a_detector_that_ends_the_process_is_an_error_without_its_last_words(
    detector_site, write_detector, tmp_path, monkeypatch, open_pool
):
    write_detector(tmp_path, "exiting", body=EXITING)
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(PluginError, match="tried to end the process") as caught:
        open_pool().detect("exiting", [Note("n", "words of a note")], stage="spans/exiting")

    assert "words of a note" not in str(caught.value)


@pytest.mark.slow
def test_worker_processes_give_what_one_process_gives(open_pool):
    padding = "x " * (CHUNK_CHARS // 6)
    notes = [Note(f"note-{n}", f"Zedmarlow {4_000_000 + n} {'trip' if n == 5 else ''} {padding}") for n in range(8)]
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
        found.append([len(outcome.spans) for outcome in pool.detect("listed", notes, stage="spans/listed")])
        pool.close()

    assert found == [[1, 1, 1], [2, 2, 2]]
