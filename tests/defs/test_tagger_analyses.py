"""What the asset of a tagger shows of its errors, through Dagster."""

import json

import pytest

from deid_assets import plugins

RECIPE = """\
name = "mine"
plugin = "crf"
corpora = ["gold"]
grouping = 1000
dev_share = 0.3
[settings]
predictions_of = ""
max_iterations = 40
min_patients = 1
"""
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        "crf" not in plugins.available(plugins.TRAINERS), reason="the plugin crf is not installed"
    ),
    pytest.mark.skipif(
        "tagger_analysis" not in plugins.available("deid_assets.analyses"),
        reason="tagger_analysis is not installed",
    ),
]


def shown(installation, asset):
    """The metadata of an asset's last materialization: name to Markdown or value."""
    import dagster as dg

    event = installation.instance.get_latest_materialization_event(dg.AssetKey(asset))
    metadata = event.asset_materialization.metadata
    return {name: getattr(value, "md_str", None) or value.value for name, value in metadata.items()}


def test_the_asset_shows_errors_by_label_and_no_word_of_a_note(installation, note_records):
    installation.detectors = ("stencil", "shade", "crf")
    path = installation.root / "mine.toml"
    path.write_text(RECIPE)
    settings = installation.default_settings.replace("recipes = []", f'recipes = ["{path}"]')
    installation.configure(
        settings.replace("[gates]", "[gates]\nnear_duplicates = 1.0\ntagger_f1 = 0.1")
    )
    batch = installation.receive(
        [record for first in range(0, 48, 8) for record in note_records(first)]
    )
    assert installation.run(batch, "raw_notes", "gold_annotations").success
    trained = installation.run(None, job="train_taggers")
    assert trained.success, installation.failures(trained)

    metadata = shown(installation, "tagger_mine")
    assert metadata["errors_on_development_notes"].startswith(
        "| Label | Annotated | Missed | Boundaries | Label | Spurious |"
    )
    assert (
        metadata["neighbours_with_the_same_label"]
        == "a model of the plugin crf has no vectors: it is no network"
    )
    assert "vectors" not in metadata
    told = json.dumps(metadata)
    assert "Zed" not in told
    assert "| NAME |" in told

    page = installation.settings().reports / "tagger-mine.html"
    assert metadata["html"] == str(page)
    text = page.read_text()
    assert "<h1>mine</h1>" in text
    assert "These are the notes that mine was chosen by" in text
    assert "Zed" not in text
