"""Whose names are left: told by the gold's own labels, the gravest first."""

import pytest

from deid_assets import Note, Phi, Span, SpanSet
from deid_assets.evaluation.people import Names, names_by_person, together, whose

NOTE = Note("n", "Ann Lee, seen by Dr Bo Ray and Kim Lee, aged 60.")


def span(text, native="", label=Phi.NAME):
    start = NOTE.text.index(text)
    return Span(start, start + len(text), label, 1.0, "x", native)


@pytest.mark.parametrize(
    ("native", "label", "expected"),
    [
        ("PATIENT", Phi.NAME, "patient"),
        ("NOMBRE_SUJETO_ASISTENCIA", Phi.NAME, "patient"),
        ("NAME_RELATIVE", Phi.NAME, "relative"),
        ("FAMILIARES_SUJETO_ASISTENCIA", Phi.RELATIVE, "relative"),
        ("DOCTOR", Phi.NAME, "staff"),
        ("NOMBRE_PERSONAL_SANITARIO", Phi.NAME, "staff"),
        ("EDAD_SUJETO_ASISTENCIA", Phi.AGE, None),
        ("persoon", Phi.NAME, None),
        ("", Phi.NAME, None),
    ],
)
def test_the_gold_says_whose_name_it_is(native, label, expected):
    assert whose(span("Ann Lee", native, label)) == expected


def test_names_are_counted_by_whose_they_are_the_gravest_first():
    gold = SpanSet.of(
        NOTE,
        [
            span("Bo Ray", "DOCTOR"),
            span("Ann Lee", "PATIENT"),
            span("Kim Lee", "NAME_RELATIVE"),
            span("60", "", Phi.AGE),
        ],
    )
    # half of the patient's name is left
    found = SpanSet.of(NOTE, [span("Bo Ray", "PATIENT"), span("Lee")])
    expected = [
        Names("patient", 1, 0, 1, 0),
        Names("relative", 1, 1, 1, 0),
        Names("staff", 1, 0, 0, 1),
    ]

    assert names_by_person([(gold, found)]) == expected
    twice = together([expected, expected[:1]])
    assert twice == [Names("patient", 2, 0, 2, 0), *expected[1:]]
    assert names_by_person([(SpanSet.of(NOTE, [span("Ann Lee")]), found)]) == []
