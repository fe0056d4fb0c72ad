"""What plugins of this project bring.

An installation without the plugin says which one to install.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid_assets import plugins
from deid_assets.cli import app
from deid_assets.core.errors import PluginError
from deid_assets.own_plugins import BRINGS, LABORATORY
from deid_assets.own_plugins import command as command_that_adds
from deid_assets.plugins import installed as installed_plugins

ROOT = Path(__file__).parents[2]
MISSING = [
    (group, name)
    for group, known in BRINGS.items()
    if group.startswith(plugins.COMMANDS)
    for name in known
]


def test_each_name_is_listed_with_the_plugin_that_declares_it() -> None:
    declared: dict[str, dict[str, str]] = {}
    for file in sorted(ROOT.glob("plugins/**/pyproject.toml")):
        project = tomllib.loads(file.read_text())["project"]
        for group, entries in project.get("entry-points", {}).items():
            if group in BRINGS and project["name"] != "deid-template":
                named = {name: plugin_of(value) for name, value in entries.items()}
                declared.setdefault(group, {}).update(named)
    assert declared == BRINGS


def plugin_of(value: str) -> str:
    """The name by which `make add` installs what an entry point names."""
    package, extra = re.fullmatch(r"deid_(\w+)[\w.:]*(?: \[(\w+)\])?", value).groups()
    return package if extra in (None, package) else f"{package}[{extra}]"


@pytest.mark.parametrize(("group", "command"), MISSING, ids=[command for _, command in MISSING])
def test_a_command_whose_plugin_is_missing_names_it(
    group: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installed_plugins, "entry_points", EntryPoints)
    words = [*group.split(".")[2:], command]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    # a group may be a plugin's itself
    first = BRINGS[plugins.COMMANDS].get(words[0], BRINGS[group][command])
    assert command_that_adds(first) in " ".join(done.output.split())


def test_synthetic_notes_and_detectors_without_their_plugin_name_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installed_plugins, "entry_points", EntryPoints)
    with pytest.raises(PluginError, match="make add PLUGIN=synthesis"):
        plugins.load_corpus("synthetic")
    with pytest.raises(PluginError, match="detector 'rules': its plugin rules is not installed"):
        plugins.load("rules")


def test_policies_whose_plugin_is_missing_are_listed_and_refused_before_notes_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(installed_plugins, "entry_points", EntryPoints)
    listed = " ".join(CliRunner().invoke(app, ["policies"]).output.split())
    notes = tmp_path / "notes.jsonl"
    notes.write_text("no JSON")
    done = CliRunner().invoke(
        app, ["deidentify", str(notes), "--policy", "surrogate", "--out", str(tmp_path / "out")]
    )

    assert "safe_harbor" in listed
    assert (
        listed.count("its plugin surrogates is not installed; run `make add PLUGIN=surrogates`")
        == 4
    )
    assert (
        "policy surrogate: actions.NAME: action 'surrogate': its plugin surrogates is not"
        " installed" in " ".join(done.output.split())
    )
    assert done.exit_code == 2
    assert not (tmp_path / "out").exists()


def listed(*words: str) -> str:
    """The help of a group of commands, on one line."""
    done = CliRunner().invoke(app, [*words, "--help"])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


@pytest.mark.parametrize(("group", "command"), MISSING, ids=[command for _, command in MISSING])
def test_help_lists_what_is_not_installed_with_what_installs_it(
    group: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if group == f"{plugins.COMMANDS}.privacy":
        pytest.importorskip("deid_audits", reason="it brings the group")
    known = entry_points()
    listing = [one for name in known.groups for one in known.select(group=name)]
    others = [one for one in listing if (one.group, one.name) != (group, command)]
    monkeypatch.setattr(installed_plugins, "entry_points", lambda: EntryPoints(others))
    if BRINGS[group][command] in LABORATORY:
        pytest.importorskip(f"deid_{BRINGS[group][command]}", reason="else it is one line")

    shown = listed(*group.split(".")[2:])

    assert f"{command} not installed: {command_that_adds(BRINGS[group][command])}" in shown


def test_help_with_no_plugin_at_all_has_one_line_for_the_laboratory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installed_plugins, "entry_points", EntryPoints)
    shown = listed()

    assert "bench not installed: make add PLUGIN=evaluation" in shown
    assert shown.endswith("The laboratory: 2 commands not installed: make add PLUGIN=lab")
    assert "zero-shot" not in shown


def test_help_of_audits_has_one_line_for_the_laboratory(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("deid_audits", reason="it brings the group")
    (group,) = entry_points().select(group=plugins.COMMANDS, name="privacy")
    monkeypatch.setattr(installed_plugins, "entry_points", lambda: EntryPoints([group]))

    shown = listed("privacy")

    assert "plant not installed: make add PLUGIN='audits[models]'" in shown
    assert shown.endswith("The laboratory: 17 commands not installed: make add PLUGIN=lab")


def test_the_laboratory_is_what_lies_on_its_floor() -> None:
    assert {
        path.parent.name.removeprefix("deid_")
        for path in ROOT.glob("plugins/lab/*/deid_*/__init__.py")
    } == LABORATORY


def test_a_command_that_cannot_be_imported_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("broken", "deid_assets.cli.no_such_module:run", plugins.COMMANDS)
    monkeypatch.setattr(installed_plugins, "entry_points", lambda: EntryPoints([broken]))

    shown = listed()

    assert "broken cannot be used: " in shown
    assert "doctor Say what is installed" in shown
