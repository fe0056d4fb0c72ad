"""An installation is run under one set of settings.

A process with others is refused in one line.
"""

import json
import subprocess
import sys

import pytest

from deid_assets.backfill import command as backfill
from deid_assets.core.errors import ConfigError
from deid_assets.quickstart import command as quickstart
from deid_assets.quickstart import ui
from deid_assets.runtime.checks import check_snapshot
from deid_assets.runtime.settings_record import RECORD, check_settings


def digest(installation):
    return json.loads((installation.home / RECORD).read_text())["digest"]


@pytest.fixture
def elsewhere(installation, monkeypatch):
    """Name other settings for the same home, after a first process had its own."""

    def change(settings, **environment):
        check_snapshot(installation.settings())
        if settings is None:
            monkeypatch.delenv("DEID_CONFIG")
        else:
            other = installation.root / "other.toml"
            other.write_text(settings)
            monkeypatch.setenv("DEID_CONFIG", str(other))
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

    return change


OTHERS = {
    "the defaults": (None, {}),
    "another policy": (
        'ensemble = ["stencil"]\nrelease_policy = "blackout"\npolicies = ["blackout"]\n',
        {},
    ),
    "another database": ("same", {"DEID_DATABASE_URL": "postgresql://ward:hunter2@db/deid"}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_process_with_others_is_refused_in_one_line_and_changes_nothing(
    name, installation, elsewhere
):
    settings, environment = OTHERS[name]
    elsewhere(installation.default_settings if settings == "same" else settings, **environment)
    before = digest(installation)

    with pytest.raises(ConfigError) as caught:
        check_settings(installation.settings())

    told = str(caught.value)
    assert "\n" not in told
    assert f"set DEID_CONFIG={installation.root / 'deid.toml'}" in told
    assert "deid run --other-settings" in told
    assert "hunter2" not in told
    assert digest(installation) == before


@pytest.mark.parametrize("main", [quickstart.main, backfill.main])
def test_the_commands_refuse_before_anything_is_made(main, installation, elsewhere, capfd):
    elsewhere('ensemble = ["stencil"]\nshadow_sample = 7\n')

    assert main([]) == 2

    assert "is run under" in capfd.readouterr().out
    assert not installation.store.exists()


def test_make_ui_starts_no_server_under_others(installation, elsewhere, capfd):
    elsewhere('ensemble = ["stencil"]\nshadow_sample = 7\n')

    assert ui.main([]) == 2

    told = capfd.readouterr().err
    assert "is run under" in told
    assert told.count("\n") == 1
    assert not installation.dagster_home.exists()


def test_the_web_server_is_not_started_under_others(installation, elsewhere):
    elsewhere('ensemble = ["stencil"]\nshadow_sample = 7\n')

    done = subprocess.run(
        [sys.executable, "-m", "deid_assets.defs.instance", str(installation.dagster_home)],
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode != 0
    assert "is run under" in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_ran_under_the_old_ones_is_refused_once_others_were_adopted(
    installation, elsewhere, monkeypatch
):
    elsewhere('ensemble = ["stencil"]\nshadow_sample = 7\n')
    check_settings(installation.settings(), adopt=True)
    monkeypatch.setenv("DEID_CONFIG", str(installation.root / "deid.toml"))

    with pytest.raises(ConfigError, match=r"is run under .*other\.toml"):
        check_snapshot(installation.settings())


def test_an_edited_file_is_the_same_settings_file(installation):
    check_snapshot(installation.settings())
    before = digest(installation)
    installation.configure(installation.default_settings.replace('"tag", "blackout"', '"tag"'))

    check_snapshot(installation.settings())

    assert digest(installation) != before


def test_a_file_that_was_moved_and_says_the_same_is_no_other(installation, elsewhere):
    elsewhere(installation.default_settings)

    check_snapshot(installation.settings())

    assert "other.toml" in (installation.home / RECORD).read_text()


def test_another_number_of_workers_is_no_other(installation, elsewhere):
    elsewhere("workers = 7\n" + installation.default_settings)

    check_settings(installation.settings())


def test_a_damaged_record_is_written_anew(installation, elsewhere):
    elsewhere(None)
    (installation.home / RECORD).write_text("{}")

    check_settings(installation.settings())

    assert digest(installation)


def test_others_are_adopted_when_somebody_says_so(installation, elsewhere):
    elsewhere('ensemble = ["stencil"]\nshadow_sample = 7\n')

    check_snapshot(installation.settings(), adopt=True)

    check_snapshot(installation.settings())
