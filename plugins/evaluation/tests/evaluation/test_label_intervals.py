"""What is left by label, with intervals.

Differences of two systems; causes; consensus of annotators.
"""

import json

import numpy as np
import pytest

from deid_annotation.consensus import consensus
from deid_assets.core.errors import ConfigError, DigestError, InputError
from deid_assets.core.phi import HARMONISED, MEDDOCAN, Phi
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.intervals import wilson
from deid_assets.testing import parse_marked
from deid_evaluation.causes import ErrorCause, cause_totals, parse_causes
from deid_evaluation.label_intervals import measure_left_by_label
from deid_evaluation.note_outcomes import NoteOutcome
from deid_evaluation.system_diff import differences


def outcomes(*notes):
    return [
        NoteOutcome(f"n{at}", {"NAME": gold}, {"NAME": left} if left else {})
        for at, (gold, left) in enumerate(notes)
    ]


def test_the_worst_label_comes_first_with_both_intervals():
    notes = [*outcomes((4, 1), (6, 0), (10, 3)), NoteOutcome("n9", {"DATE": 2}, {"DATE": 1})]
    date, name = measure_left_by_label(notes, resamples=200)

    assert [(one.label, one.gold, one.left, one.units) for one in (date, name)] == [
        ("DATE", 2, 1, 1),
        ("NAME", 20, 4, 3),
    ]
    assert (name.spans.low, name.spans.high) == wilson(4, 20)
    assert name.by_unit.low <= name.by_unit.value == 0.2 <= name.by_unit.high
    assert (date.by_unit.low, date.by_unit.high) == (0.0, 1.0)  # one note says nothing of others


def test_the_interval_by_note_is_that_of_a_bootstrap_in_numpy():
    notes = [(5, at % 4) for at in range(60)]
    (row,) = measure_left_by_label(outcomes(*notes), resamples=4_000)
    generator = np.random.default_rng(5)
    table = np.array(notes)
    drawn = [table[generator.integers(0, 60, 60)].sum(axis=0) for _ in range(4_000)]
    low, high = np.quantile([left / gold for gold, left in drawn], (0.025, 0.975))

    assert (row.by_unit.low, row.by_unit.high) == (
        pytest.approx(low, abs=0.01),
        pytest.approx(high, abs=0.01),
    )


def test_patients_are_drawn_as_a_whole():
    notes = outcomes(*[(5, 0)] * 20, *[(5, 5)] * 20)
    apart = measure_left_by_label(notes, resamples=400)[0].by_unit
    joined = measure_left_by_label(
        notes, resamples=400, patients={f"n{at}": f"p{at // 10}" for at in range(40)}
    )[0].by_unit

    assert joined.high - joined.low > apart.high - apart.low


def test_nothing_left_has_the_interval_of_its_units():
    (row,) = measure_left_by_label(outcomes(*[(3, 0)] * 10), resamples=100)

    assert (row.by_unit.low, row.by_unit.high) == wilson(0, 10)
    with pytest.raises(ConfigError, match="too few"):
        measure_left_by_label(outcomes((1, 0)), resamples=10)


GOLD = "Dr. <NAME>Lee</NAME> of <CITY>Rome</CITY>, <DATE>3 May</DATE>, ward"


def test_what_one_system_alone_hides_or_marks_by_hand():
    found, table = differences(
        parse_marked(GOLD)[1],
        parse_marked("Dr. <ID>Lee</ID> of Rome, <DATE>3 May</DATE>, <ID>ward</ID>")[1],
        parse_marked("Dr. <NAME>Le</NAME>e of <CITY>Rome</CITY>, <DATE>3 May</DATE>, ward")[1],
        profile=HARMONISED,
    )

    assert [(one.place[2], one.is_gold, one.by_first) for one in found] == [
        ("NAME", True, True),
        ("LOCATION", True, False),
        ("ID", False, True),
    ]
    assert table == {
        ("NAME", (True, False)): 1,
        ("LOCATION", (False, True)): 1,
        ("DATE", (True, True)): 1,
    }


def test_a_category_that_the_gold_does_not_annotate_is_no_false_alarm():
    gold, first = (
        parse_marked("<NAME>Lee</NAME>, nurse")[1],
        parse_marked("<NAME>Lee</NAME>, <PROFESSION>nurse</PROFESSION>")[1],
    )

    assert differences(gold, first, gold, profile=HARMONISED, scope=frozenset({Phi.NAME}))[0] == []
    with pytest.raises(DigestError):
        differences(gold, first, SpanSet("marked", "0" * 64), profile=HARMONISED)


STORED = {
    "schema": "deid-assets/error-causes",
    "version": 1,
    "causes": [{"id": "ab", "causes": ["AB", "AM"]}],
}


@pytest.mark.parametrize(
    "text",
    [json.dumps(STORED), "id,system,causes\nab,rules,AB;AM\n", '"id","causes"\r\n"ab","AM;AB"\r\n'],
)
def test_causes_are_read_from_json_and_csv(text):
    assert parse_causes(text, name="f") == {"ab": {ErrorCause.ABBREVIATION, ErrorCause.AMBIGUITY}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (json.dumps(STORED | {"version": 2}), "not causes of version 1"),
        ('{"schema": 1', "not a file of causes"),
        ("[]", "not a file of causes"),
        ("name,text\na,b\n", "needs the columns"),
        ("id,causes\nab,XX\n", "entry 1 has cause 'XX'; choose of AB, AM, D, S"),
        ("id,causes\nab,D\nab,S\n", "entry 2 is on an error that an earlier one is on"),
        (json.dumps(STORED | {"causes": [{"id": 5, "causes": []}]}), "not a file of causes"),
    ],
)
def test_what_is_no_file_of_causes_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        parse_causes(text, name="f")


def test_causes_add_up_by_kind_and_label():
    causes = {
        "a": frozenset({ErrorCause.DEBATABLE}),
        "b": frozenset({ErrorCause.DEBATABLE, ErrorCause.SCARCITY}),
    }
    found = cause_totals([("a", "missed", "NAME"), ("b", "label", "NAME")], causes)

    assert found == {
        "by_kind": {"missed": {"D": 1}, "label": {"D": 1, "S": 1}},
        "by_label": {"NAME": {"D": 2, "S": 1}},
    }


def test_annotators_are_compared_by_token_by_span_and_in_pairs():
    texts = (
        "Dr. <NAME>Lee</NAME> of <CITY>Rome</CITY>",
        "Dr. <NAME>Lee</NAME> of <HOSPITAL>Rome</HOSPITAL>",
        "Dr. Lee of <CITY>Rome</CITY>",
    )
    notes = {"marked": parse_marked(texts[0])[0]}
    annotators = {
        name: {"marked": parse_marked(text)[1]} for name, text in zip("abc", texts, strict=True)
    }
    found = consensus(annotators, notes, profile=HARMONISED)

    assert found.pairs["a", "b"].strict.f1 == 0.5
    assert found.pairs["a", "c"].ranges.fn == 1
    # Tokens: Dr, Lee, of, Rome; of the 12 pairs 8 agree.
    assert (found.tokens.units, found.tokens.observed) == (4, pytest.approx(8 / 12))
    # Of the spans marked by two or more, Lee is alike, of Rome one pair in three is.
    assert (found.spans.units, found.spans.observed) == (2, pytest.approx((2 + 3 / 3) / 5))
    assert found.unitizing.by_label["LOCATION"] < 1
    assert consensus(annotators, {}, profile=HARMONISED).tokens is None


def test_annotators_agree_where_the_profile_does_not_tell_their_categories_apart():
    first, second = "At <HOSPITAL>Rome</HOSPITAL>", "At <ORGANIZATION>Rome</ORGANIZATION>"
    annotators = {"a": {"marked": parse_marked(first)[1]}, "b": {"marked": parse_marked(second)[1]}}

    assert consensus(annotators, {}, profile=HARMONISED).pairs["a", "b"].strict.f1 == 1
    assert consensus(annotators, {}, profile=MEDDOCAN).pairs["a", "b"].strict.f1 == 0
