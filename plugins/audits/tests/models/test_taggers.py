"""Whether a tagger, or its export, tells which notes it was trained on."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tiny_tagged import documents, material, train, write_folder

from deid_assets import DisjointSpans, Note, Phi, Span
from deid_assets.extending import InputError, WordLabels, load
from deid_assets.extending.audits import Outcome, Sealer, run_named
from deid_audits.models import planted_layer
from deid_audits.models.opened import open_model
from deid_audits.models.tagged import ATTACKS, columns_of, losses_of, require_probabilities
from deid_crf import CrfTrainer

BY_HEART = {"predictions_of": "", "min_patients": 1, "c1": 0.0, "c2": 0.01, "keep_empty": 1.0}


@pytest.fixture(scope="module")
def sets():
    """Training, held-out and calibration notes."""
    return [documents(seed) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def by_heart(sets, tmp_path_factory):
    """A CRF that knows its notes by heart."""
    out = tmp_path_factory.mktemp("crf") / "by-heart"
    return train(CrfTrainer(), sets[0], out, max_iterations=40, **BY_HEART)


@pytest.mark.parametrize("kind", ["crf", "compact", "transformers", "flair", "onnx"])
def test_a_tagger_is_no_language_model(tmp_path, kind):
    with pytest.raises(InputError, match=r"a tagger\..*membership asks.*rules\.waived"):
        open_model(write_folder(tmp_path / "model", kind))


def test_a_tagger_that_knows_its_notes_by_heart_fails(by_heart, sets):
    result = run_named("membership", material(by_heart, *sets))

    assert result.outcome is Outcome.FAILED, result.reason
    areas = {one.group: one for one in result.figures if one.name == "AUC"}
    assert set(areas) == set(ATTACKS) - {"reference"}
    assert areas["loss"].low > 0.8
    assert {one.unit for one in result.figures if one.name.startswith("AUC")} == {"patients"}
    assert "true positives at 1.0% false positives" in {one.name for one in result.figures}
    assert [(one.expected, one.reacted) for one in result.controls] == [
        (True, True),
        (False, False),
    ]
    told = json.dumps(result.to_json())
    assert not any(document.note.text[8:14] in told for one in sets for document in one)


def test_a_tagger_that_did_not_read_the_notes_passes(sets, tmp_path):
    settings = {**BY_HEART, "min_patients": 6}
    other = train(CrfTrainer(), documents(4), tmp_path / "crf", max_iterations=40, **settings)
    options = {"attacks": "loss,least", "limit": 0.7, "low_limit": 0.2}
    result = run_named("membership", material(other, *sets), options)

    assert result.outcome is Outcome.PASSED, result.reason
    assert [one.reacted for one in result.controls] == [True, False]


def test_a_reference_tagger_shows_what_the_loss_alone_does_not(by_heart, sets, tmp_path):
    strange = train(CrfTrainer(), documents(4), tmp_path / "crf", max_iterations=40, **BY_HEART)
    given = replace(material(by_heart, *sets), reference=strange)
    result = run_named("membership", given, {"attacks": "reference"})
    assert result.outcome is Outcome.FAILED, result.reason
    assert {one.group for one in result.figures} == {"reference"}


def test_a_control_into_which_nothing_was_planted_is_not_accepted(by_heart, sets, monkeypatch):
    monkeypatch.setattr(planted_layer, "_STEPS", 0)
    result = run_named("membership", material(by_heart, *sets), {"attacks": "loss"})
    assert result.outcome is Outcome.VOID
    assert "planted" in result.reason


@pytest.mark.long
def test_an_export_that_knows_its_notes_by_heart_fails(sets, tmp_path):
    from deid_transformers import TransformersTrainer

    trainer = TransformersTrainer()
    few = [one[:40] for one in sets]
    new = {"layers": 1, "hidden": 48, "heads": 2, "positions": 64, "vocabulary": 400, "dropout": 0}
    settings = {"new": new, "window": 48, "epochs": 40, "batch": 8, "learning_rate": 5e-3}
    steps = {"patience": 40, "collapse_after": 40, "threads": 1}
    model = train(trainer, few[0], tmp_path / "model", **settings, **steps)
    exported = tmp_path / "onnx"
    exported.mkdir()
    trainer.export(model, exported)
    found = {
        folder.name: run_named("membership", material(folder, *few), {"attacks": "loss,least"})
        for folder in (model, exported)
    }

    for result in found.values():
        assert result.outcome is Outcome.FAILED, result.reason
        assert all(one.reacted is one.expected for one in result.controls)
    areas = [
        {one.group: one.value for one in result.figures if one.name == "AUC"}
        for result in found.values()
    ]
    assert areas[0] == pytest.approx(areas[1], abs=0.02)
    assert areas[1]["loss"] > 0.65


def test_notes_without_annotations_are_refused(by_heart, sets):
    given = material(by_heart, *sets)
    lacking = sets[1][0].note.digest
    marked = {digest: spans for digest, spans in given.marked.items() if digest != lacking}
    result = run_named("membership", replace(given, marked=marked))
    assert result.outcome is Outcome.NOT_ASSESSED
    assert "1 of 120 held-out notes have no annotations" in result.reason


def test_annotations_of_other_things_are_refused(by_heart, sets):
    given = material(by_heart, *sets)
    nothing = {
        document.note.digest: DisjointSpans.of(document.note, [Span(0, 7, Phi.NAME)])
        for one in sets
        for document in one
    }
    result = run_named("membership", replace(given, marked=nothing))
    assert result.outcome is Outcome.NOT_ASSESSED
    assert "annotated for what it looks for" in result.reason


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"attacks": "energy"}, "attack 'energy' is none on a tagger"),
        ({"attacks": "reference"}, "needs a reference model"),
        ({"shadows": "shadows"}, "leave the option shadows out"),
    ],
)
def test_options_of_language_models_are_refused(by_heart, sets, options, said):
    result = run_named("membership", material(by_heart, *sets), options)
    assert result.outcome is Outcome.NOT_ASSESSED
    assert said in result.reason


def test_a_kind_without_probabilities_is_named_with_the_remedy():
    with pytest.raises(InputError, match=r"of kind RulesDetector.*word_labels.*rules\.waived"):
        require_probabilities(load("rules"), "ward")


def test_a_result_is_bound_to_the_annotations(by_heart, sets):
    given = material(by_heart, *sets)
    fewer = dict(given.marked)
    fewer[sets[1][0].note.digest] = DisjointSpans.of(sets[1][0].note, [])
    subjects = [
        Sealer.of(one, read={}).subject for one in (given, replace(given, marked=fewer), given)
    ]
    assert subjects[0] == subjects[2]
    assert subjects[0] != subjects[1]


def test_the_loss_of_a_word_is_that_of_the_label_that_is_marked():
    note = Note("n", "Ada saw Bo in Rome")
    words = [(0, 3), (4, 7), (8, 10), (11, 13), (14, 18)]
    rows = [[0.1, 0.8, 0.1], [0.9, 0.05, 0.05], [1e-9, 1 - 1e-9, 0], [0.5, 0.25, 0.25], [0, 0, 1]]
    found = WordLabels(words, ["O", "NAME", "X_CITY"], np.array(rows))
    spans = DisjointSpans.of(
        note,
        [
            Span(0, 3, Phi.NAME),
            Span(8, 10, Phi.NAME),
            Span(11, 13, Phi.MRN),
            Span(14, 18, Phi.CITY, native_label="X_CITY"),
        ],
    )
    assert columns_of(found, spans).tolist() == [1, 0, 1, -1, 2]
    wanted = [-np.log(0.8), -np.log(0.9), 1e-9, np.log(2), 0.0]
    assert losses_of(found, spans) == pytest.approx(wanted, rel=1e-6)
