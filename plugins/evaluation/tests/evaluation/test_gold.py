"""The gold under review: doubts, corrections, adjudication, and what it is like."""

import pytest

from deid_annotation.gold_changes import corrections, gold_changes
from deid_annotation.majority import adjudicate
from deid_assets.core.errors import ConfigError, DigestError, InputError
from deid_assets.core.phi import HARMONISED, Phi
from deid_assets.core.span import SpanSet
from deid_assets.testing import parse_marked
from deid_evaluation.gold_profile import entities, instances, shares_of_values
from deid_evaluation.gold_review import doubts, quorum

GOLD = "Dr. <NAME>Lee</NAME> of Rome, tel. 555, 3 May"


def spans(text):
    return parse_marked(text)[1]


def doubted(gold, *preds, **options):
    systems = {f"s{at}": spans(pred) for at, pred in enumerate(preds)}
    return [
        (one.start, one.end, one.label, one.gold_label, one.systems)
        for one in doubts(spans(gold), systems, profile=HARMONISED, **options)
    ]


ROME = "Dr. Lee of <CITY>Rome</CITY>, tel. 555, 3 May"


def test_what_most_systems_mark_and_the_gold_does_not_is_doubted():
    assert doubted(GOLD, ROME, ROME, GOLD) == [(11, 15, "LOCATION", None, ("s0", "s1"))]
    assert doubted(GOLD, ROME, GOLD, GOLD) == []


def test_the_place_is_what_enough_systems_share():
    assert doubted(GOLD, "Dr. Lee <CITY>of Rome</CITY>, tel. 555, 3 May", ROME) == [
        (11, 15, "LOCATION", None, ("s0", "s1"))
    ]


def test_another_label_is_doubted_where_systems_agree_on_it():
    city = "Dr. <CITY>Lee</CITY> of Rome, tel. 555, 3 May"
    dated = "Dr. <DATE>Lee</DATE> of Rome, tel. 555, 3 May"

    assert doubted(GOLD, city, city, GOLD) == [(4, 7, "LOCATION", "NAME", ("s0", "s1", "s2"))]
    assert doubted(GOLD, city, dated, GOLD) == []


def test_what_the_gold_does_not_annotate_is_no_omission():
    assert doubted(GOLD, ROME, ROME, scope=frozenset({Phi.NAME})) == []


@pytest.mark.parametrize(
    ("systems", "agreeing", "expected"), [(2, None, 2), (3, None, 2), (4, None, 3), (5, 1, 1)]
)
def test_more_than_half_must_agree(systems, agreeing, expected):
    assert quorum(systems, agreeing) == expected


@pytest.mark.parametrize(("systems", "agreeing"), [(1, None), (3, 4), (3, 0)])
def test_a_quorum_that_cannot_be_is_refused(systems, agreeing):
    with pytest.raises(ConfigError):
        quorum(systems, agreeing)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (GOLD, []),
        ("Dr. Lee of Rome, tel. 555, 3 May", [("removed", (4, 7, "NAME"), None)]),
        (
            "<NAME>Dr. Lee</NAME> of Rome, tel. 555, 3 May",
            [("moved", (4, 7, "NAME"), (0, 7, "NAME"))],
        ),
        (
            "Dr. <CITY>Lee</CITY> of Rome, tel. 555, 3 May",
            [("relabelled", (4, 7, "NAME"), (4, 7, "LOCATION"))],
        ),
        (
            "Dr. <NAME>Lee</NAME> of Rome, tel. <PHONE>555</PHONE>, 3 May",
            [("added", None, (22, 25, "PHONE"))],
        ),
    ],
)
def test_changes_by_hand(after, expected):
    found = gold_changes(spans(GOLD), spans(after), profile=HARMONISED)

    assert [(str(change.kind), change.before, change.after) for change in found] == expected


def test_a_correction_must_be_of_the_same_notes_and_texts():
    one = {"a": spans(GOLD)}
    with pytest.raises(InputError, match="in one of the two golds alone, the first is 'b'"):
        list(corrections(one, {**one, "b": spans(GOLD)}, profile=HARMONISED))
    with pytest.raises(DigestError):
        list(corrections(one, {"a": SpanSet("marked", "0" * 64)}, profile=HARMONISED))


def settled(*texts):
    found, ties = adjudicate({f"a{at}": spans(text) for at, text in enumerate(texts)})
    return [(span.start, span.end, span.label) for span in found], [
        (tie.start, tie.end) for tie in ties
    ]


NONE = "Dr. Lee of Rome, tel. 555, 3 May"
LONG = "<NAME>Dr. Lee</NAME> of Rome, tel. 555, 3 May"
CITY = "Dr. <CITY>Lee</CITY> of Rome, tel. 555, 3 May"


@pytest.mark.parametrize(
    ("texts", "gold", "ties"),
    [
        ((GOLD, GOLD, NONE), [(4, 7, "NAME")], []),
        ((GOLD, NONE, NONE), [], []),
        ((GOLD, NONE), [], [(4, 7)]),
        ((GOLD, LONG, CITY), [], [(0, 7)]),
        ((GOLD, GOLD, LONG, CITY), [], [(0, 7)]),
        ((GOLD, GOLD, GOLD, LONG, CITY), [(4, 7, "NAME")], []),
        ((GOLD, LONG, NONE, NONE), [], [(0, 7)]),
        ((NONE, NONE), [], []),
    ],
)
def test_a_majority_settles_a_place_and_nothing_else_does(texts, gold, ties):
    assert settled(*texts) == (gold, ties)


def test_a_tie_names_what_each_annotator_marked():
    _, (tie,) = adjudicate({"ann": spans(GOLD), "ben": spans(CITY), "cem": spans(LONG)})

    assert tie.annotations == {
        "ann": ((4, 7, "NAME"),),
        "ben": ((4, 7, "CITY"),),
        "cem": ((0, 7, "NAME"),),
    }


def test_adjudication_needs_two_annotators_of_one_text():
    with pytest.raises(ConfigError, match="at least two annotators"):
        adjudicate({"ann": spans(GOLD)})
    with pytest.raises(DigestError):
        adjudicate({"ann": spans(GOLD), "ben": SpanSet("marked", "0" * 64)})


def test_tokens_per_entity_by_hand():
    scored = [
        parse_marked("<NAME>Ann-Marie Lee</NAME>, <NAME>Ho</NAME>, <DATE>3.5.21</DATE> <ID>--</ID>")
    ]
    found = {
        one.label: (one.spans, one.tokens, one.notes)
        for one in entities(scored, profile=HARMONISED)
    }

    assert found == {"NAME": (2, 4, 1), "DATE": (1, 3, 1), "ID": (1, 1, 1)}


def test_every_instance_of_a_rare_label_is_shown_with_what_was_made_of_it():
    gold = spans("<FAX>555-1</FAX> <FAX>555-2</FAX> <NAME>Lee</NAME>")
    pred = spans("<PHONE>555</PHONE>-1 555-2 <NAME>Lee</NAME>")
    found = instances(gold, pred, labels=frozenset({"PHONE"}), profile=HARMONISED)

    assert [(one.place, one.predicted, one.is_covered) for one in found] == [
        ((0, 5, "PHONE"), ("PHONE",), False),
        ((6, 11, "PHONE"), (), False),
    ]


def test_the_share_of_a_value_is_that_of_patients_whatever_the_case():
    scored = [
        parse_marked("<NAME>Lee</NAME> <NAME>Lee</NAME>", note_id="a"),
        parse_marked("<NAME>LEE</NAME>", note_id="b"),
        parse_marked("<NAME>Ho</NAME>", note_id="c"),
        parse_marked("well", note_id="d"),
    ]
    shares = shares_of_values(
        scored, profile=HARMONISED, patients={"a": "p", "b": "q", "c": "q", "d": "r"}
    )

    assert shares == {("NAME", "lee"): pytest.approx(2 / 3), ("NAME", "ho"): pytest.approx(1 / 3)}
