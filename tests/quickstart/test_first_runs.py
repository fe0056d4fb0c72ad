"""First runs at once: each takes its turn at the landing folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deid_assets.config import Settings
from deid_assets.intake.states import batch_ids
from deid_assets.quickstart.command import SAMPLE_NOTES

pytestmark = pytest.mark.long

FILLING = """
import sys
from rich.console import Console
from deid_assets.config import Settings
from deid_assets.quickstart.command import fill_landing

settings = Settings.load()
settings.key()
print("ready", flush=True)
sys.stdin.readline()
fill_landing(settings, None, Console())
"""


def test_first_runs_at_once_make_one_sample_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("DEID_HOME", str(tmp_path / "home"))
    environment = {**os.environ, "DEID_KEY": "5a" * 32}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", FILLING],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(3)
    ]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=120)[0] for process in started]

    assert [process.returncode for process in started] == [0, 0, 0], said
    assert sum("making a sample" in one for one in said) == 1
    settings = Settings.load()
    assert len(batch_ids(settings)) == 2
    lines = [line for path in notes_of(settings.store) for line in path.read_text().splitlines()]
    assert len(lines) == len(set(lines)) == SAMPLE_NOTES
    assert list(settings.landing.iterdir()) == []


def notes_of(store: Path) -> list[Path]:
    return [*store.rglob("notes-*.jsonl")]
