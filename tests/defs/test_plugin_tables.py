"""A plugin's table of its own detectors as an asset.

Models by languages, chance and the ensemble beside them.
"""

from __future__ import annotations

import math

import pytest
from tiny_models import options_of

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.core.trainer import Document

pytest.importorskip("deid_zero_shot", reason="needs the plugin zero_shot")

pytestmark = pytest.mark.long

DETECTORS = ("zero_shot", "second")
MADE = ("raw_notes", "gold_annotations", "spans_stencil", *(f"spans_{name}" for name in DETECTORS))


def document(record):
    note = Note(f"dev-{record['id']}", record["text"], lang=record["lang"])
    return Document(
        note,
        DisjointSpans.of(
            note, [Span(one["start"], one["end"], Phi(one["label"])) for one in record["spans"]]
        ),
    )


@pytest.fixture
def modelled(installation, note_records, tmp_path):
    """Two zero-shot detectors.

    One calibrated on three of the notes, one with a threshold of its own.
    """
    from deid_zero_shot import calibration
    from deid_zero_shot.method import Runtime, method_of, read_options

    model = options_of("zero_shot", tmp_path)["model"]
    method = method_of(model, read_options({"lemmas": "none"}), Runtime(threads=1))
    threshold = calibration.threshold_for(
        method, [document(one) for one in note_records()[:3]], target="recall=0.9"
    )
    found = calibration.LanguageThresholds(method.digest, method.described, {"en": threshold})
    calibration.write(tmp_path / "calibration.json", found)
    installation.detectors = ("stencil", "zero_shot")
    installation.configure(
        installation.default_settings
        + f'[detectors.zero_shot]\nmodel = "{model}"\ncalibration_file ='
        f' "{tmp_path}/calibration.json"\nthreads = 1\n'
        + f'[detectors.second]\nplugin = "zero_shot"\nmodel = "{model}"\nthreshold = 2.0\nthreads'
        " = 1\n"
    )
    return installation


def test_the_table_has_a_row_of_each_model_and_language_beside_chance_and_the_ensemble(
    modelled, note_records
):
    batch = modelled.receive(note_records())
    assert modelled.failures(modelled.run(batch, *MADE)) == {}

    result = modelled.run(None, "zero_shot_table", job="__ASSET_JOB")

    assert modelled.failures(result) == {}
    rows = modelled.opened().files.read("zero_shot_table", "all", "scores").to_pylist()
    value = {(row["system"], row["statistic"]): row["measured"] for row in rows}
    assert {row["lang"] for row in rows} == {"en"}
    assert {row["system"] for row in rows} == {
        "redact all",
        "redact nothing",
        "random, as often as PHI",
        "stencil",
        *DETECTORS,
    }
    # three chose its threshold
    assert {row["notes"] for row in rows if row["system"] == "zero_shot"} == {5}
    # each score is below 2
    assert (value["second", "recall"], value["redact all", "recall"]) == (1.0, 1.0)
    assert value["second", "precision"] == pytest.approx(value["redact all", "precision"], abs=0.2)
    assert value["stencil", "precision"] == 1.0
    assert value["zero_shot", "roc_auc"] == pytest.approx(value["second", "roc_auc"], abs=0.3)
    assert value["zero_shot", "variants_a_note"] > 10
    assert math.isfinite(value["zero_shot", "threshold"])
    receipt = modelled.opened().files.receipt("zero_shot_table", "all")
    assert receipt.counts["notes_calibrated_on"] == 3
    shown = result.asset_materializations_for_node("zero_shot_table")[0].metadata
    assert (
        "| zero\\_shot | en |" in shown["table"].value
        or "| zero_shot | en |" in shown["table"].value
    )
    assert shown["plot_1"].value.startswith("![zero_shot, en")
    assert "Zedmarlow" not in str(shown)


def test_without_a_model_there_is_no_table(installation):
    installation.detectors = ("stencil", "zero_shot")
    installation.configure(installation.default_settings)

    keys = {
        key.to_user_string()
        for asset in installation.definitions().assets
        if hasattr(asset, "keys")
        for key in asset.keys
    }

    assert "spans_stencil" in keys
    assert "zero_shot_table" not in keys


def test_without_spans_it_says_what_to_do(modelled, note_records):
    batch = modelled.receive(note_records())
    assert modelled.failures(modelled.run(batch, *MADE[:3])) == {}

    ((step, message),) = modelled.failures(
        modelled.run(None, "zero_shot_table", job="__ASSET_JOB")
    ).items()

    assert step == "zero_shot_table"
    assert (
        "no detector of it has spans in every batch with annotated notes; back-fill one" in message
    )
