"""What can be named is listed, as a table and as JSON with the same names."""

import pytest
from typer.testing import CliRunner

from deid_assets import __version__
from deid_assets.core.label_maps import LABEL_MAPS
from deid_assets.core.phi import PROFILES
from deid_assets.formats import FORMATS
from deid_assets.languages import languages
from deid_assets.policies import BUILTIN

LISTS = {
    "detectors": ("xdates", "xnames"),
    "formats": tuple(FORMATS),
    "labels": tuple(LABEL_MAPS),
    "languages": languages(),
    "policies": BUILTIN,
    "profiles": tuple(PROFILES),
}


@pytest.mark.parametrize(("command", "names"), LISTS.items())
def test_everything_is_listed_once_and_alike(deid, command, names):
    table, as_json = deid(command), deid(command, "--json")
    listed = [row["name"] for row in as_json.json]
    rows = [
        line.split()[0] for line in table.out.splitlines()[2:] if line and not line.startswith(" ")
    ]

    assert table.code == as_json.code == 0
    assert set(names) <= set(listed)
    assert rows == listed


def test_a_policy_that_needs_a_key_says_so(deid):
    assert [row["name"] for row in deid("policies", "--json").json if row["key"]] == [
        "hash",
        "i2b2_style",
        "research",
        "surrogate",
        "swedish",
    ]


def test_a_detector_that_cannot_load_is_listed_with_the_reason(deid, tmp_path):
    (tmp_path / "site/deid_xnames/__init__.py").unlink()
    (tmp_path / "site/deid_xnames").rmdir()
    (row,) = (row for row in deid("detectors", "--json").json if row["name"] == "xnames")

    assert (
        row["fault"]
        == row["summary"]
        == "module deid_xnames is not installed; install the plugin again"
    )


@pytest.mark.long
def test_the_doctor_loads_the_detectors_and_tells_what_is_broken(deid, tmp_path):
    (tmp_path / "site/deid_xnames/__init__.py").write_text("raise ImportError('no engine')")
    ran = deid("doctor", "--json")
    states = {finding["what"]: (finding["state"], finding["detail"]) for finding in ran.json}

    assert ran.code == 1
    assert states["detector xdates"] == ("ok", "1.0")
    assert states["detector xnames"] == (
        "broken",
        (
            "detector 'xnames' cannot be imported (ImportError); python -c 'import deid_xnames'"
            " shows where"
        ),
    )
    assert states["python"][0] == "ok"


def test_the_version_is_that_of_the_distribution(deid):
    assert deid("--version").out.strip() == f"deid-assets {__version__}"


def test_the_help_lists_every_command_once_under_the_task_it_serves():
    from typer.main import get_command

    from deid_assets.cli import app
    from deid_assets.cli.tasks import MODULES, TASKS

    grouped = [name for names in TASKS.values() for name in names]
    shown = CliRunner().invoke(app, ["--help"]).output

    own = get_command(app)
    assert MODULES.keys() <= set(grouped) <= set(own.list_commands(None))
    assert len(grouped) == len(set(grouped))
    assert [line[:-1] for line in shown.splitlines() if line[:-1] in TASKS] == list(TASKS)
    assert all(shown.count(f"\n  {name} ") == 1 for name in grouped)


def test_the_help_has_the_first_sentence_of_each_command():
    from typer import Context
    from typer.main import get_command

    from deid_assets.cli import app
    from deid_assets.cli.tasks import STUDIES, TASKS

    own = get_command(app)
    context = Context(own)
    told = {name: said for listed in (*TASKS.values(), STUDIES) for name, said in listed.items()}
    here = told.keys() - own.absent().keys()
    said = {name: own.get_command(context, name).get_short_help_str(limit=1000) for name in here}

    assert len(here) >= 27
    assert said == {name: told[name] for name in here}


def test_each_module_enters_the_commands_that_are_said_to_be_in_it():
    from importlib import import_module

    from typer.main import get_group

    from deid_assets.cli import app
    from deid_assets.cli.tasks import MODULES

    loaded = {import_module(f"deid_assets.cli.{module}") for module in MODULES.values()}
    assert get_group(app).commands.keys() == MODULES.keys()
    assert len(loaded) == len(set(MODULES.values()))
