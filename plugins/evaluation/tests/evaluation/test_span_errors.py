"""Errors by kind: worked out by hand, and counted against the strict scheme."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import DigestError
from deid_assets.core.note import Note
from deid_assets.core.phi import HARMONISED, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.score import Scheme, evaluate
from deid_assets.testing import parse_marked
from deid_evaluation.error_sample import ErrorSample
from deid_evaluation.shapes import LONGEST, shape
from deid_evaluation.span_errors import SpanErrorKind, span_errors

GOLD = "Dr. <NAME>Lee</NAME> of <CITY>Rome</CITY>, <DATE>3 May</DATE>"


@pytest.mark.parametrize(
    ("pred", "expected"),
    [
        (GOLD, []),
        ("Dr. Lee of <CITY>Rome</CITY>, <DATE>3 May</DATE>", [("missed", "NAME", None, 3)]),
        (
            "Dr. <NAME>Lee of</NAME> <CITY>Rome</CITY>, <DATE>3 May</DATE>",
            [("boundary", "NAME", "NAME", 0)],
        ),
        (
            "Dr. <NAME>Le</NAME>e of <CITY>Rome</CITY>, <DATE>3 May</DATE>",
            [("boundary", "NAME", "NAME", 1)],
        ),
        (
            "Dr. <CITY>Lee</CITY> of <CITY>Rome</CITY>, <DATE>3 May</DATE>",
            [("label", "NAME", "LOCATION", 0)],
        ),
        ("<ID>Dr. Lee</ID> of <CITY>Rome</CITY>, <DATE>3 May</DATE>", [("label", "NAME", "ID", 0)]),
        (
            "<ID>Dr</ID>. <NAME>Lee</NAME> of <CITY>Rome</CITY>, <DATE>3 May</DATE>",
            [("spurious", None, "ID", 0)],
        ),
        (
            "Dr. <NAME>Lee of Rome</NAME>, <DATE>3 May</DATE>",
            [("boundary", "NAME", "NAME", 0), ("label", "LOCATION", "NAME", 0)],
        ),
        (
            "Dr. <NAME>Lee</NAME> of <CITY>Rome</CITY>, <DATE>3</DATE> <DATE>May</DATE>",
            [("boundary", "DATE", "DATE", 1)] * 1 + [("boundary", "DATE", "DATE", 0)],
        ),
    ],
)
def test_kinds_by_hand(pred, expected):
    errors, _ = span_errors(parse_marked(GOLD)[1], parse_marked(pred)[1], profile=HARMONISED)
    found = [(str(e.kind), e.gold and e.gold[2], e.pred and e.pred[2], e.left) for e in errors]

    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_the_confusion_counts_every_gold_span_once_and_what_is_spurious():
    _, confusion = span_errors(
        parse_marked(GOLD)[1],
        parse_marked("<ID>Dr</ID>. <CITY>Lee</CITY> of Rome, <DATE>3 May</DATE>")[1],
        profile=HARMONISED,
    )

    assert +confusion == {
        ("NAME", "LOCATION"): 1,
        ("LOCATION", None): 1,
        ("DATE", "DATE"): 1,
        (None, "ID"): 1,
    }


def test_what_the_gold_does_not_annotate_is_never_spurious_and_yet_covers():
    gold, pred = (
        parse_marked("<NAME>Lee</NAME>, nurse")[1],
        parse_marked("<PROFESSION>Lee</PROFESSION>, <PROFESSION>nurse</PROFESSION>")[1],
    )
    errors, _ = span_errors(gold, pred, profile=HARMONISED, scope=frozenset({Phi.NAME}))

    assert [(error.kind, error.left) for error in errors] == [(SpanErrorKind.LABEL, 0)]


def test_a_second_prediction_on_a_gold_span_is_wrong_and_is_not_spurious():
    gold = parse_marked("<NAME>Lee Ho</NAME>")[1]
    pred = SpanSet(gold.note_id, gold.digest, (*gold, Span(0, 3, Phi.CITY)))
    errors, confusion = span_errors(gold, pred, profile=HARMONISED)

    assert [(error.kind, error.pred) for error in errors] == [
        (SpanErrorKind.LABEL, (0, 3, "LOCATION"))
    ]
    assert +confusion == {("NAME", "NAME"): 1}


def test_another_text_is_refused():
    with pytest.raises(DigestError, match="note 'n'"):
        span_errors(SpanSet("n", "0" * 64), SpanSet("n", "1" * 64), profile=HARMONISED)


NOTE = Note("n", "x" * 40)
SPANS = st.lists(
    st.builds(
        lambda start, size, label: Span(start, start + size, label),
        st.integers(0, 30),
        st.integers(1, 9),
        st.sampled_from([Phi.NAME, Phi.DATE, Phi.CITY]),
    ),
    max_size=8,
).map(lambda spans: SpanSet.of(NOTE, spans))


@given(SPANS, SPANS)
def test_gold_errors_are_the_misses_of_the_strict_scheme_and_no_false_alarm_is_lost(gold, pred):
    errors, confusion = span_errors(gold, pred, profile=HARMONISED)
    strict = evaluate(gold, pred, profile=HARMONISED, length=40).micro(Scheme.STRICT)
    wrong_gold = {
        error.gold for error in errors if error.gold and error.kind is not SpanErrorKind.SPURIOUS
    }
    exact = {(span.start, span.end, HARMONISED.labels[span.label]) for span in gold} & {
        (span.start, span.end, HARMONISED.labels[span.label]) for span in pred
    }

    assert len(wrong_gold - exact) == strict.fn
    assert len({error.pred for error in errors if error.pred} - exact) == strict.fp
    assert sum(count for (label, _), count in confusion.items() if label) == strict.gold


def test_errors_keep_their_name_from_run_to_run_and_differ_by_system():
    (error,), _ = span_errors(
        parse_marked("<NAME>Lee</NAME>")[1], parse_marked("Lee")[1], profile=HARMONISED
    )

    assert error.identity("rules") == error.identity("rules") != error.identity("crf")
    assert len(error.identity("rules")) == 16


def errors(count):
    gold = SpanSet(
        NOTE.note_id, NOTE.digest, tuple(Span(at, at + 1, Phi.NAME) for at in range(count))
    )
    return span_errors(gold, SpanSet(NOTE.note_id, NOTE.digest), profile=HARMONISED)[0]


@given(st.permutations(range(20)), st.integers(1, 25))
def test_a_sample_is_bounded_and_does_not_depend_on_the_order(order, per_cell):
    every = errors(20)
    first, second = ErrorSample("s", per_cell), ErrorSample("s", per_cell)
    for error in every:
        first.add(error)
    for at in order:
        second.add(every[at])

    assert list(first.list_kept()) == list(second.list_kept())
    assert len(list(first.list_kept())) == min(20, per_cell)
    assert first.total(SpanErrorKind.MISSED) == 20


def test_what_a_reviewer_has_tagged_is_kept_whatever_is_drawn():
    every = errors(20)
    tagged = frozenset(error.identity("s") for error in every[5:9])
    sample = ErrorSample("s", 2, tagged)
    for error in every:
        sample.add(error)

    assert {identity for identity, _ in sample.list_kept()} >= tagged


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Jane-Marie 12/3", "Aa-Aa_9/9"),
        ("  \n", "_"),
        ("617-555-0143", "9-9-9"),
        ("O’Brien", "A?Aa"),
        ("渡辺", "x"),
        ("aB" * 40, "aA" * 11 + "a…"),
        ("", ""),
    ],
)
def test_a_shape_shows_kinds_of_characters_and_no_character(text, expected):
    assert shape(text) == expected
    assert len(shape(text)) <= LONGEST
