"""Retraining on new gold.

A model is replaced only by one that is better beyond chance on notes that neither has seen.
"""

import json

import pytest

from deid_assets import DisjointSpans, Note
from deid_assets.core.errors import InputError
from deid_assets.core.trainer import Document
from deid_assets.training import Corpus, Materials, Recipe, read_card, train_model
from deid_assets.training.promotion import retrain

pytestmark = pytest.mark.usefixtures("xwords")
KNOWN, NEW = ("Lee", "Ray"), ("Bo", "Kim", "Ash", "Fay")


def quiet(*_):
    """Take no notice of an epoch."""


@pytest.fixture
def in_use(notes, tmp_path):
    recipe = Recipe.model_validate({"name": "mine", "plugin": "xwords", "corpora": ["first"]})
    train_model(recipe, Materials(corpora=[notes(*KNOWN, corpus="first")]), tmp_path / "model")
    return tmp_path / "model"


def a_round(model, gold, *, others=None, test=None):
    return retrain(model, {"gold": gold}, others=others or {}, test=test, progress=quiet)


def test_a_better_model_takes_the_place_of_the_old_one_which_is_kept(in_use, notes):
    old = read_card(in_use)
    done = a_round(in_use, notes(*NEW, corpus="gold"), test=notes(*NEW, *NEW, corpus="test"))

    assert done.is_better
    assert done.difference.low > 0
    assert (done.in_use.tp, done.candidate.tp, done.candidate.fn) == (8, 14, 2)
    # Dates alone; then dates, and names but that of the development note.
    assert (done.notes, done.unit, done.units) == (8, "patient", 8)
    assert set(json.loads((in_use / "tagger.json").read_text())["words"]) == {"2020", *NEW} - {
        "Ash"
    }
    assert read_card(in_use.with_name("model.before"), verify=True) == old
    assert read_card(in_use, verify=True).recipe["corpora"] == ["gold"]
    assert not in_use.with_name("model.candidate").exists()


def test_a_model_that_is_no_better_beyond_chance_changes_nothing(in_use, notes):
    """One name of many is found by the new model alone: better, but not beyond chance."""
    old = read_card(in_use)
    test = notes("Bo", "Ed", *(f"Qx{number}" for number in range(30)), corpus="test")
    done = a_round(in_use, notes("Bo", "Ed", corpus="gold"), test=test)

    assert done.difference.value > 0
    assert done.difference.low <= 0
    assert not done.is_better
    assert read_card(in_use, verify=True) == old
    assert (
        read_card(in_use.with_name("model.candidate"), verify=True).fingerprint != old.fingerprint
    )


def test_one_patient_is_not_enough(in_use, notes):
    assert not a_round(
        in_use, notes(*NEW, corpus="gold"), test=notes("Bo", corpus="test")
    ).is_better


def test_patients_who_judge_are_trained_on_in_no_corpus(in_use, notes):
    gold = notes(*NEW, "Una", "Ivo", corpus="gold")
    # the same patients once more, as of an earlier file
    again = notes(*NEW, "Una", "Ivo", corpus="gold")
    done = a_round(in_use, gold, others={"earlier": again})

    names = read_card(in_use.with_name("model.candidate") if not done.is_better else in_use).corpora
    learnt = sum(one.notes for one in names if one.role == "train")
    assert learnt + done.notes == len(gold.documents)


def test_who_judges_one_round_may_judge_the_next(in_use, notes):
    first = notes(*NEW, corpus="gold")
    a_round(in_use, first)
    grown = Corpus("gold", (*first.documents, *notes("Una", "Ivo", corpus="later").documents))
    assert a_round(in_use, grown, others={"first": notes(*KNOWN, corpus="first")}).notes >= 2


def test_a_note_that_the_model_in_use_has_seen_does_not_judge(in_use, notes):
    gold = notes(*NEW, corpus="gold")
    with pytest.raises(
        InputError, match="note 'first-0': the model in use was trained on it or on its patient"
    ):
        a_round(in_use, gold, test=notes("Lee", corpus="first"))

    (seen,) = notes("Lee", corpus="first").documents
    other = Note("other", "Nothing.", patient_id=seen.note.patient_id)
    with pytest.raises(InputError, match="note 'other'"):
        a_round(in_use, gold, test=Corpus("test", (Document(other, DisjointSpans.of(other, ())),)))
    assert not in_use.with_name("model.candidate").exists()


def test_a_card_that_does_not_say_whose_notes_were_seen_is_refused(in_use, notes):
    card = read_card(in_use)
    (in_use / "card.json").write_text(card.model_copy(update={"seen": None}).model_dump_json())
    with pytest.raises(InputError, match="does not say whose notes it has seen"):
        a_round(in_use, notes(*NEW, corpus="gold"))

    (in_use / "card.json").write_text(card.model_dump_json())
    other = card.model_copy(update={"seen": card.seen.model_copy(update={"mark": "0" * 16})})
    (in_use / "card.json").write_text(other.model_dump_json())
    with pytest.raises(InputError, match="under another DEID_KEY"):
        a_round(in_use, notes(*NEW, corpus="gold"))


def test_the_card_names_notes_and_patients_without_saying_them(in_use):
    text = (in_use / "card.json").read_text()
    assert "first-p0" not in text
    assert len(json.loads(text)["seen"]["names"]) == 4  # two patients and two texts
