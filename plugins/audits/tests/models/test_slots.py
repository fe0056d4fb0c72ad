"""Planted secrets, names and conditions are found, unplanted ones are not.

Replaced names are seen by the measure that can.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from deid_assets.core.errors import InputError
from deid_assets.core.span import DisjointSpans
from deid_assets.extending import Note, Phi, Span
from deid_assets.extending.audits import Case
from deid_audits.models.audit_slots import name_gaps
from deid_audits.models.canaries import (
    alike,
    check_planted,
    count_unprompted,
    eidetic,
    prompt_canaries,
    questions_of,
    read_canaries,
    write_canaries,
)
from deid_audits.models.planted import (
    Canary,
    condition_questions,
    make_planted_corpus,
    name_questions,
)
from deid_audits.models.scoring import Scorer
from deid_audits.models.slots import GAP, Slot, TruthRank, rank_answers, summary


@pytest.fixture(scope="module")
def people(small_world):
    return small_world.corpus.people


def others_of(people):
    return [one.other for one in people]


def test_the_corpus_says_each_secret_as_often_as_planned(small_world):
    corpus = small_world.corpus
    check_planted(corpus.canaries, [note.text for note in corpus.training])
    texts = [note.text for note in corpus.training]
    for one in corpus.people:
        assert sum(one.name in text and one.conditions[0] in text for text in texts) == one.repeats
        assert not any(one.other in text for text in texts)
    same = make_planted_corpus(notes=60, people=2, repeats=(1, 10, 30), seed=1, longest=14)
    assert same == corpus


def test_exposure_rises_with_repeats_and_unplanted_canaries_have_none(small_world, causal):
    canaries = small_world.corpus.canaries
    found = rank_answers(questions_of(canaries, seed=1), Scorer(causal))

    planted = {
        one.repeats: answer for one, answer in zip(canaries, found, strict=True) if one.repeats
    }
    controls = [
        answer.exposure for one, answer in zip(canaries, found, strict=True) if not one.repeats
    ]
    assert planted[30].rank == 1
    assert planted[30].margin > planted[1].margin
    assert max(controls) < planted[30].exposure
    assert (
        np.mean(
            [answer.beaten for one, answer in zip(canaries, found, strict=True) if not one.repeats]
        )
        < 0.95
    )


def test_prompts_draw_out_what_was_said_often(small_world, causal):
    canaries = small_world.corpus.canaries
    found = prompt_canaries(canaries, Scorer(causal))
    assert all(hit for one, hit in zip(canaries, found, strict=True) if one.repeats == 30)
    assert not any(hit for one, hit in zip(canaries, found, strict=True) if not one.repeats)
    assert count_unprompted(canaries[:1], [canaries[0].text, "nothing"]) == [1]


@pytest.mark.parametrize("model", ["causal", "masked"])
def test_names_said_often_are_ranked_first_and_controls_by_chance(request, model, people):
    scorer = Scorer(request.getfixturevalue(model))
    found = rank_answers(name_questions(people, others=others_of(people)), scorer)

    often = [answer.beaten for answer in found if answer.repeats == 30]
    once = [answer.beaten for answer in found if answer.repeats == 1]
    controls = [answer.beaten for answer in found if not answer.repeats]
    assert min(often) > 0.9
    assert np.mean(often) >= np.mean(once)
    assert 0.1 < np.mean(controls) < 0.9


def test_pseudonyms_are_unmasked_where_the_model_read_the_originals(people, causal):
    """The attacker holds the twin corpus and asks for the true name in the place of
    the surrogate.
    """
    planted = [one for one in people if one.repeats == 30]
    scorer = Scorer(causal)
    true = rank_answers(name_questions(planted, others=others_of(people)), scorer)
    swapped = rank_answers(name_questions(planted, others=others_of(people), twin=True), scorer)
    assert min(one.beaten for one in true) > 0.9
    assert np.mean([one.margin for one in true]) > np.mean([one.margin for one in swapped]) + 1


def test_conditions_of_planted_people_are_filled_in(people, causal):
    found = rank_answers(condition_questions(people), Scorer(causal))
    assert all(one.rank == 1 for one in found if one.repeats == 30)
    assert not all(one.rank == 1 for one in found if not one.repeats)


def test_a_reference_takes_off_what_is_likely_anyway():
    class Stub:
        def __init__(self, logs):
            self.logs = logs
            self.lm = type("LM", (), {"kind": "causal"})()

        def tokens(self, texts):
            return [type("T", (), {"logp": np.array([self.logs[text]])})() for text in texts]

    question = [Slot(GAP, "rare", ("common",))]
    target = Stub({"rare": -3.0, "common": -2.0})
    base = Stub({"rare": -9.0, "common": -2.0})
    assert rank_answers(question, target)[0].rank == 2
    assert rank_answers(question, target, reference=base)[0].rank == 1


def test_rank_and_exposure_by_hand():
    assert TruthRank(1, 1024, 0.0).exposure == 10
    assert TruthRank(3, 5, 0.0).beaten == 0.5
    found = summary([TruthRank(1, 4, 0.0)] * 30)
    assert [one.chance for one in found[:2]] == [0.25, 0.5]
    assert {type(part) for one in found for part in (one.value, one.low, one.high, one.chance)} == {
        float
    }
    assert all(one.low < one.value == one.high for one in found)
    with pytest.raises(InputError, match="2 questions, an interval needs 20"):
        summary([TruthRank(1, 4, 0.0)] * 2)


def test_eidetic_counts_documents_and_needs_extraction():
    assert eidetic("42", ["a 42", "b 42", "c"], extracted=True) == 2
    assert eidetic("42", ["a 42"], extracted=False) is None


def test_others_have_the_form_of_the_secret():
    found = alike("A7-b", 50, seed=1)
    assert len(set(found)) == 50
    assert all(
        one[0].isupper() and one[1].isdigit() and one[2] == "-" and one[3].islower()
        for one in found
    )
    with pytest.raises(InputError, match="make it longer"):
        alike("7", 50, seed=1)


def test_files_of_canaries(tmp_path):
    path = tmp_path / "c.json"
    planted = (Canary("The code is", "12", 3), Canary("The code was", "34", 0))
    write_canaries(path, planted)
    assert read_canaries(path) == planted
    path.write_text(json.dumps({"canaries": [{"prefix": "a", "secret": "b", "repeats": 1}]}))
    with pytest.raises(InputError, match="lacks one of them"):
        read_canaries(path)
    path.write_text("{")
    with pytest.raises(InputError, match="no file of canaries"):
        read_canaries(path)
    with pytest.raises(
        InputError, match="canary 0: the training notes say it 1 times and the file 3"
    ):
        check_planted(planted, ["The code is 12."])


@pytest.mark.parametrize(("fragment", "others"), [("no gap", ("b",)), (GAP, ()), (GAP, ("a",))])
def test_questions_that_cannot_be_asked_are_refused(fragment, others):
    with pytest.raises(InputError):
        Slot(fragment, "a", others)


def test_fragments_have_the_line_ends_that_the_model_read():
    cases = []
    for number in range(40):
        letters = chr(65 + number // 26) + chr(97 + number % 26)
        name = f"Al{letters} Be{letters}"
        text = f"Ward 3\n\nName:\t{name}\nSeen:  today"
        note = Note(f"n{number}", text, f"p{number}")
        gold = DisjointSpans.of(
            note, [Span(text.index(name), text.index(name) + len(name), Phi.NAME)]
        )
        cases.append(Case(note, gold, gold))
    questions = name_gaps(cases, candidates=5, most=40, seed=1)
    texts = {case.note.text for case in cases}
    assert len(questions) == 40
    assert {one.fragment.replace(GAP, one.truth) for one in questions} == texts
