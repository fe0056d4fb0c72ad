"""Scores of a bake-off.

Fair to what failed and to what cannot be found by design, and agreement without gold.
"""

import pytest

from deid_assets.core.detector import Failed
from deid_assets.core.errors import InputError
from deid_assets.core.phi import HARMONISED, I2B2_2014, Phi
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.counts import Counts, Scheme
from deid_assets.testing import parse_marked
from deid_evaluation.bench_scores import (
    ReferenceSpans,
    blind_labels,
    by_note,
    compare_predictions,
    estimate_missed_by_label,
    reach,
    score,
)

GOLD = (
    "Dr. <NAME>Lee</NAME>, <DATE>3 May</DATE>, <EMAIL>a@b.org</EMAIL>",
    "Dr. <NAME>Roe</NAME>, <DATE>4 May</DATE>",
)
NAMES = ("Dr. <NAME>Lee</NAME>, 3 May, a@b.org", "Dr. <NAME>Roe</NAME>, 4 May")
REST = ("Dr. Lee, <DATE>3 May</DATE>, <EMAIL>a@b.org</EMAIL>", "Dr. Roe, <DATE>4 May</DATE>")


def read(texts, source="gold"):
    found = {}
    for at, text in enumerate(texts):
        _, spans = parse_marked(text, note_id=f"n{at}", source=source)
        found[spans.note_id] = spans
    return found


def gold_of(texts):
    lengths = {f"n{at}": len(parse_marked(text)[0].text) for at, text in enumerate(texts)}
    return ReferenceSpans(read(texts), lengths)


def test_detectors_are_scored_on_the_same_notes():
    scored = score(gold_of(GOLD), {"names": read(NAMES), "rest": read(REST)}, profile=HARMONISED)

    covered = {name: found.micro(Scheme.COVERED) for name, found in scored.evaluations.items()}
    assert covered == {"names": Counts(2, 0, 3), "rest": Counts(3, 0, 2)}
    assert scored.comparison.baseline == "names"
    assert scored.coverage.value(["names", "rest"]).recall == 1


def test_a_note_that_a_detector_failed_on_is_one_where_it_found_nothing():
    answers = {**read(NAMES), "n1": Failed("n1", "spans_names", "LookupError")}

    scored = score(gold_of(GOLD), {"names": answers}, profile=HARMONISED)

    assert scored.evaluations["names"].micro(Scheme.COVERED) == Counts(1, 0, 4)
    assert scored.evaluations["names"].notes.notes == 2


def test_a_note_that_a_detector_was_not_asked_for_is_refused():
    answers = read(NAMES)
    del answers["n1"]

    with pytest.raises(InputError, match="names: no answer for note 'n1'"):
        score(gold_of(GOLD), {"names": answers}, profile=HARMONISED)


def test_without_gold_there_is_no_score():
    with pytest.raises(InputError, match="no note is annotated"):
        score(ReferenceSpans({}, {}), {"names": read(NAMES)}, profile=HARMONISED)


def test_reach_leaves_out_what_a_detector_does_not_declare():
    scored = score(gold_of(GOLD), {"names": read(NAMES)}, profile=HARMONISED)

    found = reach(scored.evaluations["names"], frozenset({Phi.NAME, Phi.IP}), profile=HARMONISED)

    assert found.blind == ("DATE", "EMAIL")
    assert (found.gold, found.share) == (2, 0.4)
    assert found.covered == Counts(2, 0, 0)


def test_a_category_that_does_not_occur_makes_nothing_reachable():
    """User names count as names under this profile.

    Who finds user names alone finds none of these.
    """
    scored = score(gold_of(GOLD), {"names": read(NAMES)}, profile=I2B2_2014)
    occurring = gold_of(GOLD).occurring

    users = reach(
        scored.evaluations["names"],
        frozenset({Phi.USERNAME}),
        profile=I2B2_2014,
        occurring=occurring,
    )
    names = reach(
        scored.evaluations["names"], frozenset({Phi.NAME}), profile=I2B2_2014, occurring=occurring
    )

    assert (users.gold, names.gold) == (0, 2)
    assert "NAME" in users.blind


@pytest.mark.parametrize(
    ("labels", "blind"),
    [
        (set(Phi) - {Phi.SEX}, ("SEX",)),
        (set(Phi) - {Phi.CITY, Phi.ZIP}, ()),
        (set(Phi), ()),
    ],
)
def test_blind_labels_are_those_of_the_profile(labels, blind):
    assert blind_labels(frozenset(labels), profile=HARMONISED) == blind


def test_without_gold_detectors_are_compared_on_the_notes_that_all_answered():
    failing = {**read(REST), "n1": Failed("n1", "spans_rest", "LookupError")}
    outcomes = {"names": read(NAMES), "gold": read(GOLD), "rest": failing}

    compared = compare_predictions(outcomes, profile=HARMONISED, lengths=gold_of(GOLD).lengths)

    assert compared.notes == 1
    assert compared.pairs["names", "gold"].ranges == Counts(tp=1, fp=2, fn=0)
    assert compared.pairs["names", "rest"].ranges == Counts(tp=0, fp=2, fn=1)


def test_one_detector_alone_cannot_be_compared():
    with pytest.raises(InputError, match="name at least two"):
        compare_predictions({"names": read(NAMES)}, profile=HARMONISED, lengths={"n0": 9})


def test_what_all_missed_is_estimated_from_detectors_that_can_find_it():
    """``rest`` declares no names: that it marks none must not make names look missed."""
    texts = [f"Dr. <NAME>Lee</NAME>, <DATE>{day} May</DATE>" for day in range(1, 10)]
    first = [text.replace("<DATE>9 May</DATE>", "9 May") for text in texts]
    second = [
        text.replace("<DATE>1 May</DATE>", "1 May").replace("<NAME>Lee</NAME>", "Lee")
        for text in texts
    ]
    outcomes = {"first": read(first), "second": read(second)}
    compared = compare_predictions(outcomes, profile=HARMONISED, lengths=gold_of(texts).lengths)

    found = estimate_missed_by_label(
        compared.captures,
        {"first": frozenset({Phi.NAME, Phi.DATE}), "second": frozenset({Phi.DATE})},
        profile=HARMONISED,
    )

    assert list(found) == ["DATE"]
    assert found["DATE"].marked == 9


def test_two_notes_of_one_id_are_refused():
    spans = SpanSet("n0", "d")

    with pytest.raises(InputError, match="same id"):
        by_note([spans, spans])
