"""What is wrong with each span, under tag labels that may be finer than the categories."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets import DisjointSpans, Note, Phi, Span, SpanSet
from deid_assets.core.detector import Failed
from deid_assets.core.phi import Profile
from deid_assets.core.trainer import Document
from deid_assets.testing import parse_marked
from deid_assets.training.scoring import score_outcomes
from deid_evaluation.span_errors import span_errors
from deid_tagger_analysis.errors import ErrorTally, tag_errors, token_labels

EVERY = Profile("every", {label: label.value for label in Phi}, "a test")
GOLD = (4, 9, "NAME")
CASES = {
    "right": ([GOLD], [GOLD], []),
    "missed": ([GOLD], [(9, 12, "NAME")], [("missed", "NAME"), ("spurious", "NAME")]),
    "one end is off": ([GOLD], [(4, 8, "NAME")], [("boundary", "NAME")]),
    "another label, same ends": ([GOLD], [(4, 9, "CITY")], [("label", "NAME")]),
    "another label, other ends": ([GOLD], [(3, 9, "CITY")], [("label", "NAME")]),
    "touches nothing": ([], [(0, 2, "CITY")], [("spurious", "CITY")]),
    "cut in two": (
        [GOLD],
        [(4, 6, "NAME"), (6, 9, "NAME")],
        [("boundary", "NAME"), ("boundary", "NAME")],
    ),
    "two joined": (
        [GOLD, (10, 12, "NAME")],
        [(4, 12, "NAME")],
        [("boundary", "NAME"), ("boundary", "NAME")],
    ),
    "right, and once more as another": ([GOLD], [GOLD, (5, 9, "CITY")], [("label", "NAME")]),
    "its own label before more of another": (
        [GOLD],
        [(4, 5, "NAME"), (5, 9, "CITY")],
        [("boundary", "NAME"), ("label", "NAME")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_error_has_one_kind(case):
    gold, found, wanted = CASES[case]
    assert [(str(error.kind), error.label) for error in tag_errors(gold, found)] == wanted


places = st.lists(
    st.tuples(st.integers(0, 28), st.integers(1, 6), st.sampled_from([Phi.NAME, Phi.CITY])),
    max_size=5,
)


@given(places, places)
def test_under_categories_the_errors_are_those_of_the_evaluation(gold, found):
    note = Note("n", "x" * 40)
    disjoint, end = [], 0
    for start, size, label in sorted(gold):
        if start >= end:
            disjoint.append(Span(start, start + size, label))
            end = start + size
    sides = [
        SpanSet.of(note, disjoint),
        SpanSet.of(note, [Span(at, at + size, of) for at, size, of in found]),
    ]
    errors, _ = span_errors(*sides, profile=EVERY)
    own = tag_errors(
        *([(span.start, span.end, span.label.value) for span in side] for side in sides)
    )

    assert sorted((error.kind, error.label) for error in own) == sorted(
        (error.kind, error.label) for error in errors
    )


def document(text, *, native=""):
    note, spans = parse_marked(text)
    found = [Span(span.start, span.end, span.label, native_label=native) for span in spans]
    return Document(note, DisjointSpans.of(note, found))


def tally_of(gold, found, *, native=False):
    tally = ErrorTally(native)
    tally.add(gold, SpanSet.of(gold.note, found))
    return tally.to_json()


def test_a_finer_label_that_is_wrong_counts_where_the_category_is_right():
    gold = document("Seen by <NAME>Lee</NAME>.", native="DOCTOR")
    (span,) = gold.spans
    found = [Span(span.start, span.end, Phi.NAME, native_label="PATIENT")]

    assert tally_of(gold, found)["errors"] == 0
    fine = tally_of(gold, found, native=True)
    assert fine["kinds"] == {"missed": 0, "boundary": 0, "label": 1, "spurious": 0}
    assert fine["confused"] == [{"gold": "DOCTOR", "predicted": "PATIENT", "spans": 1}]
    assert [
        (row["label"], row["tokens_missed"], row["tokens_spurious"]) for row in fine["labels"]
    ] == [
        ("DOCTOR", 1, 0),
        ("PATIENT", 0, 1),
    ]


def test_rows_add_up_and_tokens_tell_what_spans_do_not():
    gold = document("<NAME>Ada Mary Moss</NAME> of <CITY>Larkham</CITY>, <DATE>3 May 2021</DATE>")
    name, city, _ = gold.spans
    found = [Span(name.start, name.end - 5, Phi.NAME), Span(city.start, city.end, Phi.CITY)]
    counted = tally_of(gold, found)

    assert counted["errors"] == 2 == sum(row["errors"] for row in counted["labels"])
    assert counted["kinds"] == {"missed": 1, "boundary": 1, "label": 0, "spurious": 0}
    assert {row["label"]: (row["tokens"], row["tokens_missed"]) for row in counted["labels"]} == {
        "NAME": (3, 1),
        "DATE": (3, 3),
        "CITY": (1, 0),
    }
    assert counted["tokens_missed"] == 4


def test_a_note_that_failed_has_all_its_gold_missed_as_in_the_scores():
    gold = document("<NAME>Lee</NAME> of <CITY>Rome</CITY>")
    right = document("<NAME>Lee</NAME>.")
    outcomes = [Failed("n", "spans_x", "ValueError"), SpanSet.of(right.note, right.spans)]
    tally = ErrorTally(native=False)
    for one, outcome in zip([gold, right], outcomes, strict=True):
        tally.add(one, outcome)

    assert tally.to_json()["kinds"]["missed"] == 2
    assert score_outcomes(outcomes, [gold, right], native=False).micro.fn == 2


def test_of_spans_that_overlap_the_first_has_the_token():
    assert token_labels("Ada Moss left", [(0, 8, "NAME"), (4, 13, "CITY")]) == ["NAME", "NAME", "O"]
