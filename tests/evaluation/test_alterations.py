import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import DigestError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.alterations import AlterationKind, AlterationOutcome, alterations
from deid_assets.testing import parse_marked

TAGS = re.compile(r"\[[A-Z]+\]")
INSERTED, DELETED, CHANGED = AlterationOutcome


def found(source, output, **options):
    """(change, kind, source words, output words) of each alteration."""
    note, spans = parse_marked(source)
    return [
        (
            one.change,
            one.kind,
            note.text[one.start : one.end],
            output[one.output_start : one.output_end],
        )
        for one in alterations(note, spans, output, **options)
    ]


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        pytest.param("<NAME>Ann Lee</NAME> came.", "[NAME] came.", [], id="tag"),
        pytest.param("<NAME>Ann Lee</NAME> came.", "Mary Jones came.", [], id="surrogate"),
        pytest.param("<NAME>Ann Lee</NAME> came.", "Ann Mary Lee came.", [], id="inside a span"),
        pytest.param("<NAME>Ann Lee</NAME> came.", " came.", [], id="removed"),
        pytest.param("Pain  since\nnoon.", "Pain since noon.", [], id="blanks"),
        pytest.param(
            "Takes 5 mg.", "Takes 50 mg.", [(CHANGED, AlterationKind.NUMBER, "5", "50")], id="dose"
        ),
        pytest.param(
            "Takes 5 mg.", "Takes 5 g.", [(CHANGED, AlterationKind.UNIT, "mg", "g")], id="unit"
        ),
        pytest.param(
            "There is no fever.",
            "There is fever.",
            [(DELETED, AlterationKind.NEGATION, "no", "")],
            id="negation",
        ),
        pytest.param(
            "Fever.",
            "Fever and cough.",
            [(INSERTED, AlterationKind.WORD, "", "and cough")],
            id="invented",
        ),
        pytest.param(
            "Pain, fever.",
            "Pain fever.",
            [(DELETED, AlterationKind.PUNCTUATION, ",", "")],
            id="punctuation",
        ),
        pytest.param(
            "<NAME>Lee</NAME> took 5 mg.",
            "[NAME] took 5 mg. Done.",
            [(INSERTED, AlterationKind.WORD, "", "Done.")],
            id="added at the end",
        ),
        pytest.param(
            "By <NAME>Lee</NAME> today",
            "By Lee not today",
            [(INSERTED, AlterationKind.NEGATION, "", "not")],
            id="beside a span",
        ),
    ],
)
def test_what_was_changed_outside_the_spans_is_listed(source, output, expected):
    assert found(source, output) == expected


def test_a_change_beside_a_replaced_span_is_still_seen():
    assert found("<NAME>Lee</NAME> takes it.", "[NAME] refuses it.") == [
        (DELETED, AlterationKind.WORD, "takes", "")
    ]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("By [NAME] today", []),
        ("By [NAME] not today", [(INSERTED, AlterationKind.NEGATION, "", "not")]),
        ("By Mary today", [(INSERTED, AlterationKind.WORD, "", "Mary")]),
        ("By Lee today", []),  # left: a leak, no alteration
        ("By Lee not today", [(INSERTED, AlterationKind.NEGATION, "", "not")]),
        ("By [NAME]", [(DELETED, AlterationKind.WORD, "today", "")]),
        ("By [NAME] [DATE]", [(CHANGED, AlterationKind.WORD, "today", "[DATE]")]),
        ("By [NAME] today [DATE]", [(INSERTED, AlterationKind.WORD, "", "[DATE]")]),
    ],
)
def test_with_a_pattern_only_that_may_stand_for_a_span(output, expected):
    assert found("By <NAME>Lee</NAME> today", output, replacement=TAGS) == expected


def test_with_a_pattern_a_word_changed_beside_a_span_has_both_sides():
    assert found("<NAME>Lee</NAME> takes it.", "[NAME] refuses it.", replacement=TAGS) == [
        (CHANGED, AlterationKind.WORD, "takes", "refuses")
    ]


def test_alterations_hold_no_text():
    note, spans = parse_marked("Takes 5 mg.")

    assert "50" not in repr(alterations(note, spans, "Takes 50 mg."))


def test_spans_of_another_text_are_refused():
    with pytest.raises(DigestError):
        alterations(parse_marked("a")[0], parse_marked("b")[1], "a")


WORDS = st.lists(st.sampled_from(["pain", "5", "mg", "no", "since"]), min_size=1, max_size=12)


@settings(max_examples=80, deadline=None)
@given(WORDS, st.data())
def test_tagging_words_alters_nothing_and_changing_one_more_is_seen(tokens, data):
    covered = data.draw(st.sets(st.integers(0, len(tokens) - 1)))
    places, cursor = [], 0
    for token in tokens:
        places.append((cursor, cursor + len(token)))
        cursor += len(token) + 1
    note = Note("n", " ".join(tokens))
    spans = SpanSet.of(note, [Span(*places[at], Phi.NAME) for at in covered])
    output = ["[NAME]" if at in covered else token for at, token in enumerate(tokens)]

    assert alterations(note, spans, " ".join(output), replacement=TAGS) == []
    for at in set(range(len(tokens))) - covered:
        changed = [*output[:at], "changed", *output[at + 1 :]]
        assert alterations(note, spans, " ".join(changed), replacement=TAGS)
