"""What plugins of this project bring: an installation without the plugin says which one to install."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoints
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid_assets import plugins
from deid_assets.cli import app
from deid_assets.core.errors import PluginError
from deid_assets.own_plugins import BRINGS

ROOT = Path(__file__).parents[2]
MISSING = [(group, name) for group, known in BRINGS.items() if group.startswith(plugins.COMMANDS) for name in known]


def test_each_name_is_listed_with_the_distribution_that_declares_it() -> None:
    declared: dict[str, dict[str, str]] = {}
    for file in sorted(ROOT.glob("plugins/*/pyproject.toml")):
        project = tomllib.loads(file.read_text())["project"]
        for group, entries in project.get("entry-points", {}).items():
            if group in BRINGS and project["name"] != "deid-template":
                declared.setdefault(group, {}).update(dict.fromkeys(entries, project["name"]))
    assert declared == BRINGS


@pytest.mark.parametrize(("group", "command"), MISSING, ids=[command for _, command in MISSING])
def test_a_command_whose_plugin_is_missing_names_it(group: str, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "entry_points", EntryPoints)
    words = [*group.split(".")[2:], command]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    first = BRINGS[plugins.COMMANDS].get(words[0], BRINGS[group][command])  # a group may be a plugin's itself
    assert f"pip install {first}" in " ".join(done.output.split())


def test_synthetic_notes_and_detectors_without_their_plugin_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "entry_points", EntryPoints)
    with pytest.raises(PluginError, match="pip install deid-synthesis"):
        plugins.load_corpus("synthetic")
    with pytest.raises(PluginError, match="detector 'rules': its plugin deid-rules is not installed"):
        plugins.load("rules")


def test_policies_whose_plugin_is_missing_are_listed_and_refused_before_notes_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(plugins, "entry_points", EntryPoints)
    listed = " ".join(CliRunner().invoke(app, ["policies"]).output.split())
    notes = tmp_path / "notes.jsonl"
    notes.write_text("no JSON")
    done = CliRunner().invoke(app, ["deidentify", str(notes), "--policy", "surrogate", "--out", str(tmp_path / "out")])

    assert "safe_harbor" in listed
    assert listed.count("its plugin deid-surrogates is not installed; pip install deid-surrogates") == 4
    assert (
        "policy surrogate: actions.NAME: action 'surrogate': its plugin deid-surrogates is not installed"
        in " ".join(done.output.split())
    )
    assert done.exit_code == 2
    assert not (tmp_path / "out").exists()
