"""What the campaign against ``make ui`` counts as lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from deid_assets.config import Settings

PROGRAMS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def left_alone(monkeypatch):
    monkeypatch.syspath_prepend(str(PROGRAMS))
    import left_alone

    return left_alone


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """An installation with batches b-1 and b-2 released, and an arrival that waits."""
    monkeypatch.setenv("DEID_HOME", str(tmp_path))
    found = Settings.load()
    for batch in ("b-1", "b-2"):
        (found.store / "restricted" / "landing" / batch).mkdir(parents=True)
        (found.home / "released" / batch).mkdir(parents=True)
    found.landing.mkdir(parents=True, exist_ok=True)
    (found.landing / "arrival-1.jsonl").touch()
    return found


def take_in(settings, *, is_released=True):
    """Make the arrival that waits a batch."""
    (settings.landing / "arrival-1.jsonl").unlink()
    (settings.store / "restricted" / "landing" / "b-3").mkdir()
    if is_released:
        (settings.home / "released" / "b-3").mkdir()


def test_what_waited_at_the_start_is_no_fault(left_alone, settings):
    wanted = len(left_alone._list_arrived(settings)) + len(left_alone._waiting(settings))
    take_in(settings)
    assert left_alone._incomplete(settings, wanted) == []


def test_what_was_lost_is_one(left_alone, settings):
    assert left_alone._incomplete(settings, 3) == ["1 arrivals are left in the landing folder"]
    take_in(settings, is_released=False)
    assert left_alone._incomplete(settings, 3) == ["b-3 is not released"]
    assert left_alone._incomplete(settings, 4) == [
        "b-3 is not released",
        "4 arrivals were dropped, and 3 batches were taken in",
    ]
