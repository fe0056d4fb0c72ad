"""Commands that plugins of this project bring: an installation without the plugin says which one to install."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid_assets import plugins
from deid_assets.cli import app
from deid_assets.cli.plugged import OUTSIDE
from deid_assets.core.errors import PluginError

ROOT = Path(__file__).parents[2]
MISSING = [(group, command) for group, known in OUTSIDE.items() for command in known]


def test_each_command_is_listed_with_the_distribution_that_declares_it() -> None:
    declared: dict[str, dict[str, str]] = {}
    for file in sorted(ROOT.glob("plugins/*/pyproject.toml")):
        project = tomllib.loads(file.read_text())["project"]
        for group, entries in project.get("entry-points", {}).items():
            if group in OUTSIDE:
                declared.setdefault(group, {}).update(dict.fromkeys(entries, project["name"]))
    assert declared == OUTSIDE


@pytest.mark.parametrize(("group", "command"), MISSING, ids=[command for _, command in MISSING])
def test_a_command_whose_plugin_is_missing_names_it(group: str, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "entry_points", lambda **_: [])
    done = CliRunner().invoke(app, [*group.split(".")[2:], command])
    assert done.exit_code == 2
    assert f"pip install {OUTSIDE[group][command]}" in " ".join(done.output.split())


def test_synthetic_notes_without_their_plugin_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "entry_points", lambda **_: [])
    with pytest.raises(PluginError, match="pip install deid-synthesis"):
        plugins.load_corpus("synthetic")
