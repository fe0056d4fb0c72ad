"""What is found wrong before anything starts."""

import os

import pytest

from deid_assets.core.errors import ConfigError
from deid_assets.plugins import available
from deid_assets.quickstart import command
from deid_assets.runtime.checks import check_ensemble, check_snapshot
from deid_assets.runtime.importing import add_import_faults
from deid_assets.runtime.snapshot import Snapshot

PATIENT = "Zedmarlow"
RAISES = (
    f"class {PATIENT}(Exception):\n    pass\n\n\nprint({PATIENT!r})\nraise {PATIENT}({PATIENT!r})\n"
)


@pytest.fixture
def broken(tmp_path, write_detector, monkeypatch):
    """A plugin that raises on import, under a class and with a message that name a patient."""
    monkeypatch.syspath_prepend(tmp_path / "broken")
    write_detector(tmp_path / "broken", "broken", body=RAISES)
    return available()["broken"]


def test_a_run_with_wrong_names_starts_nothing_and_says_each_in_a_line(installation, capfd):
    installation.configure(
        'ensemble = ["stencill"]\npolicies = ["tagg", "tag"]\nrelease_policy = "tag"\nrecipes ='
        ' ["crff"]\n'
    )

    assert command.main([]) == 2
    told = " ".join(capfd.readouterr().out.split())
    assert "policies: there is no policy 'tagg'; did you mean 'tag'?" in told
    assert "recipes: there is no recipe 'crff'; did you mean 'crf'?" in told
    assert not installation.store.exists()
    assert not (installation.home / "landing").exists()


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        (
            '["tag", "{home}/mine.toml"]',
            "policies: tag and {home}/mine.toml are both named 'tag'; rename one",
        ),
        ('["tag", "tag"]', "policies: tag stands twice; remove one"),
    ],
)
def test_two_policies_of_one_name_are_told_apart_before_anything_starts(installation, listed, told):
    installation.home.mkdir(exist_ok=True)
    (installation.home / "mine.toml").write_text(
        'name = "tag"\ndescription = "Mine."\ndefault = "blackout"\n'
    )
    home = installation.home
    installation.configure(
        f'ensemble = ["stencil"]\npolicies = {listed.format(home=home)}\nrelease_policy = "tag"\n'
    )

    with pytest.raises(ConfigError) as caught:
        check_snapshot(installation.settings())
    assert told.format(home=home) in str(caught.value)


def test_two_recipes_of_one_name_are_told_apart_before_anything_starts(installation):
    installation.home.mkdir(exist_ok=True)
    recipe = installation.home / "mine.toml"
    recipe.write_text('name = "crf"\nplugin = "crf"\ncorpora = ["synthetic:en:10"]\n')
    installation.configure(f'ensemble = ["stencil"]\nrecipes = ["crf", "{recipe}"]\n')

    with pytest.raises(ConfigError) as caught:
        check_snapshot(installation.settings())
    assert f"recipes: crf and {recipe} are both named 'crf'; rename one" in str(caught.value)


def test_a_detector_that_nothing_answers_to_is_named_with_the_nearest(installation):
    installation.configure(
        installation.default_settings.replace('["stencil"]', '["stencill"]').replace(
            "[gates]", "[detectors.shadee]\nskip = 'MRN'\n[gates]"
        )
    )
    with pytest.raises(ConfigError) as caught:
        check_snapshot(installation.settings())

    first, second = str(caught.value).splitlines()
    assert (
        "ensemble: no detector 'stencill' is installed and no recipe has this name; did you mean"
        " 'stencil'?" in first
    )
    assert "detectors: no detector 'shadee'" in second
    assert "did you mean 'shade'?" in second


@pytest.mark.parametrize("home", ["/dev/null/home", "/proc/deid"])
def test_a_home_that_cannot_be_written_is_one_line(installation, capfd, home):
    os.environ["DEID_HOME"] = home

    assert command.main([]) == 2
    told = capfd.readouterr()
    assert len(told.out.strip().splitlines()) == 1
    assert f"home {home}: cannot be written" in told.out
    assert "Traceback" not in told.out + told.err


def test_a_plugin_that_raises_on_import_is_shown_as_broken_by_its_nearest_known_class(
    installation, broken, capfd
):
    memory = installation.home / "imports.json"
    found = add_import_faults({"broken": broken, "stencil": available()["stencil"]}, memory)

    assert found["stencil"].fault == ""
    assert (
        found["broken"].fault
        == "cannot be imported (Exception); python -c 'import deid_broken' shows where"
        or found["broken"].fault.startswith(f"cannot be imported ({PATIENT})")
    )
    assert PATIENT not in "".join(capfd.readouterr())
    assert "stencil" in memory.read_text()
    assert "broken" not in memory.read_text()


def test_the_graph_shows_it_and_a_run_that_needs_it_does_not_start(installation, broken):
    installation.configure(installation.default_settings.replace('["stencil"]', '["broken"]'))
    plugins = add_import_faults({"broken": broken}, installation.home / "imports.json")
    snapshot = Snapshot.take(installation.settings(), plugins=plugins)

    from deid_assets.defs.build import definitions_of

    (spec,) = [
        spec
        for spec in definitions_of(snapshot).resolve_all_asset_specs()
        if spec.key.to_user_string() == "spans_broken"
    ]
    assert spec.group_name == "unusable_detectors"
    assert "cannot be imported" in spec.metadata["fault"]
    with pytest.raises(
        ConfigError, match="ensemble: detector 'broken' cannot be used: cannot be imported"
    ):
        check_ensemble(snapshot)


def test_a_plugin_runs_under_the_name_that_its_table_gives_it(tmp_path):
    from deid_assets.config import Settings
    from deid_assets.runtime.taggers import TaggerModels, list_known_detectors

    model = str(tmp_path / "model")
    settings = Settings(
        home=tmp_path,
        detectors={"mine": {"plugin": "rules", "model": model}, "other": {"plugin": "missing"}},
        recipes=(),
    )
    known = list_known_detectors(settings)

    assert (known["mine"].name, known["mine"].digest) == ("mine", known["rules"].digest)
    assert known["other"].fault == "its plugin missing is not installed"
    models = TaggerModels(settings, None, recipes={}, plugins=known)
    assert models.locate("mine") == ("rules", {"model": model})
    assert models.locate("rules") == ("rules", {})
