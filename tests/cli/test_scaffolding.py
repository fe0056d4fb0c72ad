"""``deid plugin new``.

A plugin of one's own that works as it is written, outside the checkout's plugins.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid_assets.cli import app

ROOT = Path(__file__).parents[2]


def new(*words, home):
    return CliRunner().invoke(app, ["plugin", "new", *words], env={"DEID_HOME": str(home)})


@pytest.mark.long
@pytest.mark.parametrize("name", ["badge", "my_badge"])
@pytest.mark.parametrize("options", [[], ["--audit"]])
def test_what_is_written_passes_its_own_tests(name, options, tmp_path):
    done = new(name, *options, home=tmp_path / "home")
    folder = tmp_path / "home" / "plugins" / name

    assert done.exit_code == 0, done.output
    assert f"make add PLUGIN={folder}" in done.output
    inherited = os.environ.get("PYTHONPATH", "")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), inherited])}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
    assert " passed" in ran.stdout


def test_its_names_are_its_own(tmp_path):
    new("my_badge", "--audit", home=tmp_path)
    folder = tmp_path / "plugins" / "my_badge"

    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == "deid-my-badge"
    assert project["entry-points"] == {
        "deid_assets.audits": {"my_badge": "deid_my_badge.audit:MissedAudit"},
        "deid_assets.detectors": {"my_badge": "deid_my_badge:RecordNumberDetector"},
    }
    assert [
        path for path in folder.rglob("*") if path.is_file() and "template" in path.read_text()
    ] == []


def test_an_audit_is_left_out_unless_it_is_wanted(tmp_path):
    new("badge", home=tmp_path)
    folder = tmp_path / "plugins" / "badge"

    assert not (folder / "deid_badge" / "audit.py").exists()
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert list(project["entry-points"]) == ["deid_assets.detectors"]


def test_it_is_written_where_one_says_and_make_is_given_a_path_with_spaces(tmp_path):
    done = new("badge", "--into", str(tmp_path / "my plugins"), home=tmp_path / "home")

    assert (tmp_path / "my plugins" / "badge" / "deid_badge" / "__init__.py").is_file()
    assert f"PLUGIN=\"'{tmp_path}/my plugins/badge'\"" in done.output.replace("\n", "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Badge", "matches"),
        ("../up", "matches"),
        ("rules", "installed"),
        ("twice", "is there already"),
    ],
)
def test_a_name_that_cannot_be_is_refused_in_one_line(name, said, tmp_path):
    new("twice", home=tmp_path)
    before = sorted(tmp_path.rglob("*"))

    done = new(name, home=tmp_path)

    assert done.exit_code == 2
    assert said in done.output
    assert done.output.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before
