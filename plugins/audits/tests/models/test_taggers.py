"""A tagger is no language model: each audit of models says what is missing and how it is waived."""

from __future__ import annotations

import json

import pytest

from deid_assets import Note
from deid_assets.extending import InputError
from deid_assets.extending.audits import Key, Material, Outcome, run_named
from deid_audits.models.opened import open_model


def write_tagger(folder, kind):
    """What lies in the folder of a tagger of each kind, but for its weights."""
    folder.mkdir()
    if kind == "onnx":
        (folder / "model.onnx").write_bytes(b"")
        return folder
    (folder / "tagger.json").write_text(json.dumps({"plugin": kind}))
    if kind == "transformers":
        config = {"model_type": "bert", "architectures": ["BertForTokenClassification"]}
        (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("kind", ["crf", "compact", "transformers", "flair", "onnx"])
def test_a_tagger_is_no_language_model(tmp_path, kind):
    with pytest.raises(InputError, match=r"a tagger\..*waive this audit by name.*rules\.waived"):
        open_model(write_tagger(tmp_path / "model", kind))


@pytest.mark.parametrize("kind", ["crf", "onnx"])
def test_an_audit_of_a_tagger_says_what_is_missing_and_how_to_waive_it(tmp_path, kind):
    sides = [
        tuple(Note(f"{side}{n}", f"{side} note {n} of a stay.", f"{side}{n}") for n in range(40))
        for side in ("training", "held-out", "calibration")
    ]
    material = Material(
        key=Key(bytes(range(32))),
        seed=1,
        model=write_tagger(tmp_path / "model", kind),
        training=sides[0],
        held_out=sides[1],
        calibration=sides[2],
    )
    result = run_named("membership", material)
    assert result.outcome is Outcome.NOT_ASSESSED
    assert "rules.waived" in result.reason
