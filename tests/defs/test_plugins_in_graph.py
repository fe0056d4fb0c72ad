"""A plugin added, broken, doubled or removed, as the graph shows it."""

import shutil
import sys

import pytest

from deid_assets import plugins
from deid_assets.core.errors import ProvenanceError
from deid_assets.defs.build import definitions_of, definitions_of_settings
from deid_assets.runtime.snapshot import Snapshot


@pytest.fixture
def site(installation, write_detector, tmp_path, monkeypatch):
    """A folder on the path, and a function that adds a detector to it."""
    folder = tmp_path / "more"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    yield folder, lambda name, **options: write_detector(folder, name, **options)
    for name in [name for name in sys.modules if name.startswith(("deid_newcomer", "deid_rival"))]:
        del sys.modules[name]


def groups(installation):
    """Asset keys by group, with everything that is installed."""
    found = {}
    for spec in definitions_of_settings(installation.settings()).resolve_all_asset_specs():
        found.setdefault(spec.group_name, set()).add(spec.key.to_user_string())
    return found


def test_a_plugin_comes_with_its_own_group_and_job_and_leaves_with_them(installation, site):
    folder, add = site
    before = groups(installation)

    add("newcomer")
    assert groups(installation)["detector_newcomer"] == {"spans_newcomer"}
    job = definitions_of_settings(installation.settings()).resolve_job_def("detector__newcomer")
    assert {key.to_user_string() for key in job.asset_layer.selected_asset_keys} == {
        "spans_newcomer"
    }

    shutil.rmtree(folder / "deid_newcomer")
    shutil.rmtree(folder / "deid_newcomer-1.0.dist-info")
    assert groups(installation) == before


def test_a_plugin_that_raises_on_import_does_not_keep_the_graph_from_loading(installation, site):
    _, add = site
    add("newcomer", body="raise RuntimeError('imported')")

    assert "detector_newcomer" in groups(installation)
    assert "deid_newcomer" not in sys.modules


def test_a_broken_plugin_is_shown_with_its_fault_and_hides_no_other(installation, site):
    folder, add = site
    add("newcomer")
    shutil.rmtree(folder / "deid_newcomer")

    found = groups(installation)
    assert found["unusable_detectors"] >= {"spans_newcomer"}
    assert found["detector_stencil"] == {"spans_stencil"}
    (spec,) = [
        spec
        for spec in definitions_of_settings(installation.settings()).resolve_all_asset_specs()
        if spec.key.to_user_string() == "spans_newcomer"
    ]
    assert "not installed" in spec.description


def test_a_name_claimed_twice_is_broken_for_both(installation, site):
    folder, add = site
    add("newcomer")
    add("rival")
    entry = folder / "deid_rival-1.0.dist-info" / "entry_points.txt"
    entry.write_text(entry.read_text().replace("rival = ", "newcomer = "))

    found = groups(installation)
    assert "detector_newcomer" not in found
    assert "spans_newcomer" in found["unusable_detectors"]


def test_an_edit_of_a_plugin_changes_the_code_version_of_its_spans_only(installation, site):
    folder, add = site
    add("newcomer")

    def versions():
        found = definitions_of_settings(
            installation.settings(),
            plugins={name: plugins.available()[name] for name in ("stencil", "newcomer")},
        )
        return {
            spec.key.to_user_string(): spec.code_version for spec in found.resolve_all_asset_specs()
        }

    before = versions()
    (folder / "deid_newcomer" / "words.txt").write_text("more")
    after = versions()

    assert {key for key in after if after[key] != before[key]} == {"spans_newcomer"}


def test_an_edit_of_a_format_changes_the_code_version_of_what_is_read_and_stops_a_run(
    installation, tmp_path, monkeypatch
):
    package, info = tmp_path / "more" / "deid_shout", tmp_path / "more" / "deid_shout-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    monkeypatch.syspath_prepend(package.parent)
    (package / "__init__.py").write_text("FORMAT = None")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: deid-shout\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[deid_assets.formats]\nshout = deid_shout:FORMAT\n")
    taken = Snapshot.take(installation.settings())
    before = {
        spec.key.to_user_string(): spec.code_version
        for spec in definitions_of(taken).resolve_all_asset_specs()
    }
    taken.check_unchanged()

    (package / "__init__.py").write_text("FORMAT = 1")
    changed = Snapshot.take(installation.settings())
    after = {
        spec.key.to_user_string(): spec.code_version
        for spec in definitions_of(changed).resolve_all_asset_specs()
    }

    assert {key for key in after if after[key] != before[key]} == {"raw_notes", "gold_annotations"}
    assert changed.digest != taken.digest
    with pytest.raises(ProvenanceError, match="plugin 'shout' changed"):
        taken.check_unchanged()


def test_a_detector_of_the_ensemble_that_is_not_installed_is_shown_as_such(installation):
    installation.configure(
        installation.default_settings.replace('["stencil"]', '["stencil", "absent"]')
    )

    assert "spans_absent" in groups(installation)["unusable_detectors"]


@pytest.mark.parametrize("name", ["Stencil", "Bad-Name", "bad.name", "bad name", "Ünsal"])
def test_a_name_that_is_not_allowed_does_not_keep_the_graph_from_loading(installation, site, name):
    folder, add = site
    before = groups(installation).get("unusable_detectors", set())
    add("newcomer")
    entry = folder / "deid_newcomer-1.0.dist-info" / "entry_points.txt"
    entry.write_text(entry.read_text().replace("newcomer = ", f"{name} = "))

    found = groups(installation)
    assert len(found["unusable_detectors"] - before) == 1
    assert found["detector_stencil"] == {"spans_stencil"}


def test_a_detector_that_needs_a_model_is_shown_once_named_and_usable_once_it_has_one(
    installation, site
):
    folder, add = site
    add("newcomer")
    metadata = folder / "deid_newcomer-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().rstrip("\n") + "\nKeywords: words,plain,needs-model\n")
    assert "spans_newcomer" not in set().union(*groups(installation).values())

    installation.configure(installation.default_settings + "\n[detectors.newcomer]\nunder = 3\n")
    assert "spans_newcomer" in groups(installation)["unusable_detectors"]

    installation.configure(
        installation.default_settings + '\n[detectors.newcomer]\nmodel = "words.bin"\n'
    )
    assert groups(installation)["detector_newcomer"] == {"spans_newcomer"}


def test_another_file_under_a_named_path_makes_the_spans_of_its_detector_again(
    installation, tmp_path
):
    table = tmp_path / "table"
    table.write_bytes(b"one")
    installation.configure(
        installation.default_settings + f'\n[detectors.stencil]\nmodel = "{table}"\n'
    )
    settings = installation.settings()
    before = [settings.digest_of_detector(name) for name in ("stencil", "shade")]

    table.write_bytes(b"another")

    after = [settings.digest_of_detector(name) for name in ("stencil", "shade")]
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, True]
