"""The audits as they are installed.

They answer with intervals, carry their controls, and say what they cannot use.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace

import pytest
from tiny_worlds import CAUSAL, train_causal

from deid_assets.core.errors import ConfigError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.extending.audits import Case, Key, Material, Outcome
from deid_assets.privacy.running import (
    estimate_seconds,
    find_installed_audits,
    load_audit,
    run_audit,
)
from deid_audits.models.audit_extraction import rank_frequency
from deid_audits.models.auditing import open_scorer
from deid_audits.models.canaries import write_canaries
from deid_audits.models.estimating import (
    Pace,
    of_canaries,
    steps_of_extraction,
    texts_of_canaries,
)
from deid_audits.models.planted import make_planted_corpus
from deid_audits.models.quality import bleu_of_each

pytestmark = pytest.mark.long

KEY = Key(b"a key for tests, 24 bytes")


@pytest.fixture(scope="module")
def planted():
    return make_planted_corpus(notes=60, people=21, repeats=(1, 5), canaries=10, seed=4, longest=14)


@pytest.fixture(scope="module")
def target(planted, tmp_path_factory):
    return train_causal(planted.training, tmp_path_factory.mktemp("target") / "model", **CAUSAL)


@pytest.fixture(scope="module")
def cases(planted):
    names = {one.patient_id: one.name for one in planted.people}
    found = []
    for note in planted.training:
        begin = note.text.find(names.get(note.patient_id, "\0"))
        spans = [Span(begin, begin + len(names[note.patient_id]), Phi.NAME)] if begin >= 0 else []
        found.append(Case(note, DisjointSpans.of(note, spans), DisjointSpans.of(note, [])))
    return found


@pytest.fixture(scope="module")
def unread(planted, cases, tmp_path_factory):
    """Material whose faults show before its model is opened."""
    path = tmp_path_factory.mktemp("canaries") / "canaries.json"
    write_canaries(path, planted.canaries)
    return Material(
        key=KEY,
        model=path.parent,
        training=planted.training,
        held_out=planted.held_out,
        calibration=planted.calibration,
        canaries=path,
        cases=cases,
    )


@pytest.fixture(scope="module")
def material(unread, target):
    return replace(unread, model=target)


def test_the_audits_are_installed_and_say_what_they_cannot_see():
    found = find_installed_audits()
    for name in ("membership", "extraction", "canaries", "slot_fill"):
        assert not found[name].fault
        audit = load_audit(name)
        assert len(audit.blind_spots) >= 3
        assert run_audit(audit, Material(key=KEY)).outcome is Outcome.NOT_ASSESSED


def test_the_members_of_a_model_that_learnt_by_heart_fail_the_audit(material):
    result = run_audit(load_audit("membership", {"attacks": "loss,zlib", "most": 200}), material)

    assert result.outcome is Outcome.FAILED, result.reason
    areas = {one.group: one for one in result.figures if one.name == "AUC"}
    assert areas["loss"].low > 0.7
    assert {one.chance for one in areas.values()} == {0.5}
    assert "AUC of patients" in {one.name for one in result.figures}
    assert {one.unit for one in result.figures if one.name.startswith("AUC")} == {"patients"}
    assert [(one.expected, one.reacted) for one in result.controls] == [
        (True, True),
        (False, False),
    ]
    assert result.counts["sequences per second of CPU"] > 0


def test_a_model_that_did_not_read_the_notes_passes(material, other_folder, planted):
    strange = Material(
        key=KEY,
        model=other_folder,
        training=[note for note in planted.training if note.note_id.startswith("training")],
        held_out=planted.held_out,
        calibration=planted.calibration,
    )
    result = run_audit(load_audit("membership", {"attacks": "loss", "limit": 0.65}), strange)
    area = next(one for one in result.figures if one.name == "AUC")
    assert area.low < 0.6, str(area)
    assert result.outcome is Outcome.PASSED, result.reason
    assert [(one.name, one.reacted) for one in result.controls] == [
        ("samples planted in the target", True),
        ("the target without them", False),
    ]


def test_planted_canaries_are_found_unplanted_are_not_and_none_is_told(material, planted):
    result = run_audit(load_audit("canaries", {"candidates": 40}), material)
    assert json.dumps(result.to_json())

    assert result.outcome is Outcome.FAILED, result.reason
    beaten = {one.group: one for one in result.figures if one.name == "others beaten"}
    assert beaten["planted"].low > beaten["unplanted"].high
    assert all(one.reacted is one.expected for one in result.controls)
    said = next(table for table in result.tables if table.name == "repeats")
    assert [row[0] for row in said.rows] == [1, 5]
    drawn = {one.group: one.value for one in result.figures if one.name == "drawn out by a prompt"}
    assert drawn["unplanted"] == 0.0
    whole = repr(result.to_json())
    assert not any(one.name in whole for one in planted.people)
    assert not re.search("|".join(one.secret for one in planted.canaries), whole)


def test_names_are_filled_into_their_gaps(material):
    result = run_audit(load_audit("slot_fill", {"candidates": 20}), material)

    beaten = next(one for one in result.figures if one.name == "others beaten")
    assert json.dumps(result.to_json())
    assert beaten.low > 0.5
    assert result.outcome is Outcome.FAILED, result.reason
    assert [(one.expected, one.reacted) for one in result.controls] == [
        (True, True),
        (False, False),
    ]


def test_texts_drawn_from_the_model_name_patients_with_their_conditions(material):
    result = run_audit(load_audit("extraction", {"texts": 100, "length": 24}), material)

    assert result.outcome is Outcome.FAILED, result.reason
    shares = {one.name: one for one in result.figures if one.group == "links"}
    right = shares["name with a condition of that person"]
    assert right.low > right.chance
    assert all(one.reacted is one.expected for one in result.controls)


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("membership", {"calibration": "training"}, "shares"),
        ("membership", {"held_out": "few"}, "needs 20"),
        ("canaries", {"training": "held_out"}, "canary 0: the training notes say it 0 times"),
        ("slot_fill", {"cases": "few"}, "names are needed"),
        ("extraction", {"cases": "nameless"}, "no note has a patient's name"),
    ],
)
def test_bad_material_is_not_assessed_in_one_line(unread, name, changes, said):
    material = unread
    values = {
        "training": material.training,
        "held_out": material.held_out,
        "few": material.held_out[:3],
    } | {
        "nameless": [
            Case(
                Note("n", "Pain."),
                DisjointSpans.of(Note("n", "Pain."), []),
                DisjointSpans.of(Note("n", "Pain."), []),
            )
        ]
    }
    given = {field: values[source] for field, source in changes.items()}
    if changes == {"cases": "few"}:
        given = {"cases": material.cases[:3]}
    result = run_audit(load_audit(name), replace(material, **given))
    assert result.outcome is Outcome.NOT_ASSESSED
    assert said in result.reason
    assert "\n" not in result.reason
    assert not result.figures


@pytest.mark.parametrize("name", ["membership", "extraction", "canaries", "slot_fill"])
def test_options_that_mean_nothing_are_refused(name):
    from deid_assets.core.errors import PluginError

    wrong = {
        "membership": {"alpha": 2},
        "extraction": {"texts": 1},
        "canaries": {"candidates": 1},
        "slot_fill": {"most": 1},
    }
    with pytest.raises((ConfigError, PluginError), match=f"{name} takes"):
        load_audit(name, wrong[name])


def test_each_text_has_its_own_bleu():
    assert bleu_of_each([["a", "b"], ["a", "b"], ["c", "d"]], 4) == [0.5, 0.5, 0.0]


def test_words_are_drawn_by_rank_beside_those_of_the_notes():
    plot = rank_frequency(["a a a b b c", ""], ["a b", "c d e"])
    assert plot.png.startswith(b"\x89PNG")
    assert plot.png == rank_frequency(["b a a c", "a b"], ["e d", "c b a"]).png
    assert plot.png != rank_frequency(["a b c"], ["a b", "c d e"]).png


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("membership", {"most": 100, "attacks": "loss,neighbourhood"}),
        ("canaries", {"candidates": 60}),
        ("extraction", {"texts": 130, "length": 20}),
    ],
)
def test_an_estimate_is_of_the_size_of_the_run_and_its_steps_are_told(material, name, options):
    audit, told = load_audit(name, options), []
    estimate = estimate_seconds(name, material, options)
    began = time.perf_counter()
    run_audit(
        audit,
        replace(material, report=lambda done, steps, coming: told.append((done, steps, coming))),
    )
    spent = time.perf_counter() - began

    assert spent / 8 < estimate < 8 * spent
    assert len(told) >= 4
    assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})
    assert {steps > done >= 0 for done, steps, _ in told} == {True}


def test_ten_times_the_work_is_counted_as_ten_times(planted, target):
    """What is counted decides, and no clock: the pace of a loaded machine is another each time."""
    scorer = open_scorer(target, [one.text for one in planted.canaries])

    def read(candidates):
        audit = load_audit("canaries", {"candidates": candidates})
        return texts_of_canaries(audit, scorer, planted.canaries, models=1)

    def drawn(texts):
        return steps_of_extraction(load_audit("extraction", {"texts": texts}), scorer)

    asked = 2 * 3 * len(planted.canaries) + len(planted.canaries)
    assert read(2_000) - read(200) == asked * 1_800
    assert drawn(16_000) - drawn(1_600) == 9 * (drawn(3_200) - drawn(1_600)) > 0


def test_an_estimate_is_the_pace_for_what_is_counted(material, planted):
    own = Pace(seconds=0.5, tokens=3.0, readings=1)
    audit = load_audit("canaries", {"candidates": 60})
    scorer = open_scorer(material.model, [one.text for one in planted.canaries])
    read = texts_of_canaries(audit, scorer, planted.canaries, models=1)
    assert of_canaries(audit, material, own=own) == pytest.approx(1.5 * read)
