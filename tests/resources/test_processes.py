"""Worker processes outlive a call, and never a change of what they took over."""

import multiprocessing
import os
from concurrent.futures.process import BrokenProcessPool

import pytest

from deid_resources.processes import end_workers, run_parts

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _end():
    yield
    end_workers()


def workers():
    return {child.pid for child in multiprocessing.active_children()}


def test_the_workers_of_one_call_serve_the_next():
    assert run_parts(abs, [-3, -2, -1], workers=2) == [3, 2, 1]
    first = workers()

    assert run_parts(abs, [-3, -2, -1], workers=2) == [3, 2, 1]
    assert first
    assert workers() == first


def test_a_changed_environment_or_folder_has_new_workers(monkeypatch, tmp_path):
    monkeypatch.setenv("DEID_KEY", "5a")
    assert run_parts(os.getenv, ["DEID_KEY"] * 2, workers=2) == ["5a", "5a"]

    monkeypatch.setenv("DEID_KEY", "a5")
    assert run_parts(os.getenv, ["DEID_KEY"] * 2, workers=2) == ["a5", "a5"]

    monkeypatch.chdir(tmp_path)
    assert run_parts(os.path.abspath, ["x", "y"], workers=2) == [str(tmp_path / "x"), str(tmp_path / "y")]


def test_after_a_worker_died_the_next_call_has_new_ones():
    with pytest.raises(BrokenProcessPool):
        run_parts(os._exit, [3, 3], workers=2)

    assert run_parts(abs, [-1, -2], workers=2) == [1, 2]


def test_an_error_of_one_part_is_raised():
    with pytest.raises(ValueError, match="invalid literal"):
        run_parts(int, ["1", "x"], workers=2)
