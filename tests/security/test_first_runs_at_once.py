"""Three first runs of ``make run`` on one empty home, started at the same moment.

Each is a process of its own with everything loaded, which begins when all are ready.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from deid_assets.config import Settings
from deid_assets.runtime.installation import Installation
from deid_assets.store.manifests import verify_release

pytestmark = pytest.mark.slow

AT_ONCE = 3
BATCHES = 2
"""Of the sample, one for each of its languages."""
LONGEST_S = 900
SETTINGS = 'ensemble = ["rules"]\nrecipes = []\npolicies = ["safe_harbor"]\n'
PROGRAM = """
from deid_assets.system.interrupts import watch_interrupts

watch_interrupts()

import sys
from importlib.metadata import EntryPoints, entry_points

from deid_assets import plugins
from deid_assets.plugins import installed
from deid_assets.quickstart.command import main

every = entry_points()
kept = EntryPoints(
    one
    for group in every.groups
    for one in every.select(group=group)
    if one.group != plugins.GROUP or one.name == "rules"
)
installed.entry_points = lambda: kept
print("ready", flush=True)
sys.stdin.readline()
sys.exit(main([]))
"""
"""What ``make run`` calls, with one detector: the laboratory's would take most of the time."""


def environment(home: Path) -> dict[str, str]:
    (home.parent / "deid.toml").write_text(SETTINGS)
    return {
        **os.environ,
        "DEID_CONFIG": str(home.parent / "deid.toml"),
        "DEID_HOME": str(home),
        "DAGSTER_HOME": str(home / "dagster"),
        "DAGSTER_REDACT_USER_CODE_ERRORS": "1",
    }


def run_at_once(home: Path) -> list[tuple[int, str]]:
    """Start so many first runs at the same moment; return the exit code and the words of each."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            cwd=home.parent,
            env=environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(AT_ONCE)
    ]
    for process in started:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=LONGEST_S)[0] for process in started]
    return [(process.returncode, words) for process, words in zip(started, said, strict=True)]


def check_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each database of the Dagster home is whole, and each batch of the sample released once."""
    databases = sorted((home / "dagster").rglob("*.db"))
    assert {"runs.db", "schedules.db"} <= {path.name for path in databases}
    for path in databases:
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], path
            assert len(connection.execute("SELECT * FROM alembic_version").fetchall()) == 1, path
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    opened = Installation(Settings.load())
    folders = sorted((home / "released").glob("b-*"))
    assert len(folders) == BATCHES
    for folder in folders:
        verify_release(folder, key=opened.release_signer.public)


def test_first_runs_at_once_break_no_home_campaign(campaign, tmp_path, monkeypatch):
    for number in campaign.numbers(1, 8):
        home = tmp_path / str(number) / "home"
        home.parent.mkdir()

        ended = run_at_once(home)

        for code, words in ended:
            assert code == 0, words[-4000:]
            assert "Traceback" not in words
        check_home(home, monkeypatch)
        shutil.rmtree(home.parent)
        campaign.count("three first runs")
