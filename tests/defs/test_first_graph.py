"""What the graph shows before anybody has changed a setting."""

import dagster as dg
import pytest
from pydantic import ValidationError

from deid_assets.config import Gates, Settings
from deid_assets.config.settings import ReleaseSettings
from deid_assets.defs.build import definitions_of_settings


def graph(home, **settings):
    return definitions_of_settings(Settings(home=home, **settings)).resolve_asset_graph()


def checks_of(found, asset):
    return {key.name for key in found.asset_check_keys if key.asset_key == dg.AssetKey(asset)}


@pytest.fixture
def first(tmp_path):
    return graph(tmp_path)


def test_nothing_in_it_is_unusable(first):
    groups = {first.get(key).group_name for key in first.get_all_asset_keys()}

    assert {"intake", "redaction", "release"} <= groups
    assert not {name for name in groups if name.startswith("unusable")}


def test_annotations_are_no_medal(first):
    assert first.get(dg.AssetKey("gold_annotations")).kinds == {"parquet", "annotations"}


def test_an_asset_has_the_owners_of_the_settings_and_none_by_default(first, tmp_path):
    named = graph(tmp_path, owners=("team:privacy", "lee@hospital.org"))

    assert {tuple(first.get(key).owners) for key in first.get_all_asset_keys()} == {()}
    assert {tuple(named.get(key).owners) for key in named.get_all_asset_keys()} == {
        ("team:privacy", "lee@hospital.org"),
    }


@pytest.mark.parametrize("owner", ["privacy", "team:", "team:two words", "@", ""])
def test_an_owner_that_dagster_would_refuse_is_refused_in_the_settings(owner):
    with pytest.raises(ValidationError):
        Settings(owners=(owner,))


@pytest.mark.parametrize(
    ("asset", "check", "on", "off"),
    [
        ("merged_spans", "recall_floor", Gates(), Gates(recall={})),
        ("merged_spans", "recall_lower_bound", Gates(), Gates(recall_lower_bound={})),
        ("merged_spans", "notes_covered_lower_bound", Gates(), Gates(notes_covered_lower_bound=0)),
        ("merged_spans", "worst_group", Gates(worst_group_by="lang"), Gates()),
        ("merged_spans", "no_regression", Gates(), Gates(regression_tolerance=1)),
        ("released_corpus", "approved", ReleaseSettings(approval=True), ReleaseSettings()),
    ],
)
def test_a_check_that_is_off_is_not_declared(tmp_path, asset, check, on, off):
    key = "release" if asset == "released_corpus" else "gates"

    assert check in checks_of(graph(tmp_path, **{key: on}), asset)
    assert check not in checks_of(graph(tmp_path, **{key: off}), asset)
