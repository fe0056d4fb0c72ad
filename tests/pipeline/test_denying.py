"""A denied value is covered wherever it stands, also where a span that may be left hides it."""

import pyarrow as pa
import pytest

from deid_assets import DisjointSpans, Note, Phi, Span
from deid_assets.assets.denying import no_denied_value
from deid_assets.assets.parts import EDITS, NOTES
from deid_assets.core.keys import Key
from deid_assets.pipeline.batch import Batch
from deid_assets.pipeline.denying import DENIED, Deny, choose_category
from deid_assets.pipeline.leaks import LeakedValues
from deid_assets.store.denials import Denials, DenyList, DenyRule, rule_name
from deid_assets.store.files import UnsignedReceipt
from deid_assets.store.frames import notes_to_table

SETTINGS = 'ensemble = ["stencil"]\nrecipes = []\n'
MAY_LEAVE = frozenset({Phi.CITY, Phi.OTHER})


def covered(value, text, *spans, category=Phi.NAME, yielding=MAY_LEAVE):
    """What is covered of a text in the end, with its category."""
    note = Note("a", text, "p", "en")
    values = LeakedValues([value], ["rule"])
    deny = Deny({"a": list(values.places(text))}, {"rule": category}, yielding)
    found = DisjointSpans.of(note, [Span(*one, 0.9, "rules") for one in spans])
    done = deny.run(Batch([note], spans={"a": found})).spans["a"]
    return [(text[span.start : span.end], span.label, span.source == DENIED) for span in done]


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        ("Jane Caldwick", "Saw JANE\n  caldwick, today", "JANE\n  caldwick"),
        ("Jane Caldwick", "Mrs Caldwick", None),
        ("Müller-Lüdenscheidt", "by Muller Lüdenscheidt.", "Muller Lüdenscheidt"),
        ("Muller", "by Mu\u0308ller.", "Mu\u0308ller"),
        ("Cafe\u0301s", "two Caf\u00e9s", "Caf\u00e9s"),
        ("617-555-0143", "call 6175550143", "6175550143"),
        ("617-555-0143", "call 617\u2013555\u20110143.", "617\u2013555\u20110143"),
        ("617\u2212555\u22120143", "call 6175550143", "6175550143"),
        ("Caldwick", "by Cald\u00adwick.", "Cald\u00adwick"),
        ("4471902", "Code X4471902B.", "4471902"),
        ("Caldwick", "Caldwicks", None),
        ("Finanzierung", "die ﬁnanzierung", "ﬁnanzierung"),
    ],
)
def test_a_value_is_covered_however_it_is_written(value, text, expected):
    found = [(expected, Phi.NAME, True)] if expected else []

    assert covered(value, text) == found


def test_numbers_that_are_looked_for_apart_have_rules_of_their_own():
    key = Key(b"k" * 32)
    names = {rule_name(key, value) for value in ("1234 56", "123456", "12-3456")}

    assert len(names) == 3
    assert rule_name(key, "617-555-0143") == rule_name(key, "6175550143")
    assert rule_name(key, "jane  CALDWICK") == rule_name(key, "Jane Caldwick")


def test_what_may_be_left_gives_way_and_what_is_replaced_stays():
    text = "near Long Street Boston, Jane"

    assert covered("Street", text, (5, 23, Phi.CITY)) == [("Long Street Boston", Phi.NAME, True)]
    assert covered("Street", text, (5, 23, Phi.STREET)) == [
        ("Long Street Boston", Phi.STREET, False)
    ]
    assert covered("Long Street Boston", text, (10, 16, Phi.STREET)) == [
        ("Long ", Phi.NAME, True),
        ("Street", Phi.STREET, False),
        (" Boston", Phi.NAME, True),
    ]


@pytest.mark.parametrize(
    ("category", "yielding", "expected"),
    [
        (Phi.CITY, frozenset(), Phi.CITY),
        (Phi.CITY, frozenset({Phi.CITY}), Phi.OTHER),
        (Phi.CITY, frozenset(Phi) - {Phi.MRN}, Phi.MRN),
    ],
)
def test_a_category_that_a_policy_leaves_is_not_given(category, yielding, expected):
    assert choose_category(category, yielding) is expected


def test_nothing_is_looked_for_in_what_was_replaced():
    values = LeakedValues(["Müller"], ["one"])

    assert list(values.places("é Müller é", [(2, 8)])) == []
    assert [place[:2] for place in values.places("é Müller é", [(0, 1)])] == [(2, 8)]


@pytest.mark.parametrize(("surrogate", "left"), [("Ashbrook Clinic", 0), ("Ashbrook Vale", 1)])
def test_a_surrogate_that_keeps_a_denied_value_stops_the_release(installation, surrogate, left):
    installation.configure(SETTINGS)
    opened, batch = installation.opened(), "b-0001"
    note = Note("a", "Seen at Kestrel Vale.", "p", "en")
    tables = {"notes": notes_to_table([note])}
    opened.files.write("raw_notes", batch, tables, receipt=UnsignedReceipt("1"))
    rules = [
        DenyRule(value, value, "HOSPITAL", "officer", "reported", "2026-01-01")
        for value in ("Vale", "Ashbrook")
    ]
    Denials(opened.files).write(DenyList(tuple(rules)))
    text = f"Seen at {surrogate}."
    notes = {"note_id": "a", "patient_id": "p", "lang": "en", "text": text, "n_edits": 1}
    edit = {"note_id": "a", "start": 8, "end": 20, "new_start": 8, "new_end": len(text) - 1}

    verdict = no_denied_value(
        batch,
        opened,
        pa.Table.from_pylist([notes], schema=NOTES),
        pa.Table.from_pylist([{**edit, "label": "HOSPITAL"}], schema=EDITS),
    )

    assert (verdict.passed, verdict.counts["left"] > 0) == (not left, bool(left))
