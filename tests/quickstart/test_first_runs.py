"""First runs at once take turns at the landing folder, and a start sweeps what a dead one left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deid_assets.config import Settings
from deid_assets.intake.reader import landing_store
from deid_assets.intake.states import batch_ids
from deid_assets.quickstart.command import SAMPLE_NOTES
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.sweeping import remove_unfinished
from deid_assets.store.generation import mark_store

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


LEAVING = """
import sys
from pathlib import Path
from deid_assets.system.atomic import part_of

for folder in map(Path, sys.argv[1:]):
    folder.mkdir(parents=True, exist_ok=True)
    part_of(folder / "notes.jsonl").write_text("a note")
"""


def test_what_a_dead_process_left_is_swept_at_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setenv("DEID_HOME", str(tmp_path / "home"))
    installation = Installation(Settings.load())
    settings = installation.settings
    remove_unfinished(installation)  # makes the store
    large = landing_store(settings) / ".large"
    left = [settings.home, settings.reports, settings.landing, settings.home / "training", large]
    subprocess.run([sys.executable, "-c", LEAVING, *left], check=True)
    (settings.landing / "kept.part").write_text("a sender's")

    remove_unfinished(installation)

    assert [path.name for path in tmp_path.rglob("*.part")] == ["kept.part"]


STARTS = {
    "make ui": "from deid_assets.quickstart import ui; ui.serve = lambda *_: 0; main = ui.main",
    "make backfill": "from deid_assets.backfill.command import main",
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_what_a_dead_process_left_is_swept_by_every_command_that_makes_assets(
    tmp_path, monkeypatch, start
):
    """Of ``make ui`` all but the servers."""
    home = tmp_path / "home"
    monkeypatch.setenv("DEID_HOME", str(home))
    monkeypatch.setenv("DAGSTER_HOME", str(home / "dagster"))
    settings = Settings.load()
    mark_store(settings.store)
    large = landing_store(settings) / ".large"
    left = [settings.home, settings.reports, settings.landing, settings.home / "training", large]
    subprocess.run([sys.executable, "-c", LEAVING, *left], check=True)
    (settings.landing / "kept.part").write_text("a sender's")

    done = subprocess.run(
        [sys.executable, "-c", f"{start}; raise SystemExit(main([]))"],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in tmp_path.rglob("*.part")] == ["kept.part"]


def notes_of(store: Path) -> list[Path]:
    return [*store.rglob("notes-*.jsonl")]
