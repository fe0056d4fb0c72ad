"""Dates: which are read, and how they move: by whole weeks, in their own format, all together."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Context
from deid_assets.policies.date_reading import read
from deid_assets.policies.dates import MAX_WEEKS, shift_date

KEY = Key(b"a key for tests, 24 bytes")


def _context(patient: str = "p", lang: str | None = "en") -> Context:
    return Context(Note("n", "", patient_id=patient, lang=lang), KEY)


def _offset(patient: str) -> timedelta:
    moved = shift_date("2020-06-15", _context(patient))
    return date.fromisoformat(moved) - date(2020, 6, 15)


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("en", "2021-05-03", (2021, 5, 3)),
        ("en", "2021-05-03T10:00:00Z", (2021, 5, 3)),
        ("en", "20210503", (2021, 5, 3)),
        ("en", "05/03/2021", (2021, 5, 3)),
        ("es", "05/03/2021", (2021, 3, 5)),
        (None, "05/03/2021", (2021, 5, 3)),
        ("nl", "05/03/2021", (2021, 3, 5)),
        ("en", "25/03/2021", (2021, 3, 25)),
        ("es", "05/13/2021", (2021, 5, 13)),
        ("en", "3.5.2021", (2021, 5, 3)),
        ("en", "5/3/98", (1998, 5, 3)),
        ("en", "May 3rd, 2021", (2021, 5, 3)),
        ("en", "3 May 2021", (2021, 5, 3)),
        ("en", "03-MAY-21", (2021, 5, 3)),
        ("en", "Monday, May 3, 2021 at 10:30 am", (2021, 5, 3)),
        ("en", "May 26th '21", (2021, 5, 26)),
        ("es", "3 de mayo de 2021", (2021, 5, 3)),
        ("es", "lunes, 3 de mayo del 2021", (2021, 5, 3)),
        ("es", "MARZO DE 2018", (2018, 3, None)),
        ("es", "sep-04", (2004, 9, None)),
        ("es", "mayo", (None, 5, None)),
        ("de", "3. Oktober 2024", (2024, 10, 3)),
        ("fr", "3 août 2024", (2024, 8, 3)),
        ("en", "05/2021", (2021, 5, None)),
        ("en", "2021-05", (2021, 5, None)),
        ("en", "5/21", (None, 5, 21)),
        ("en", "5/99", (1999, 5, None)),
        ("en", "29 February", (None, 2, 29)),
        ("en", "2021", (2021, None, None)),
        ("en", "late May 2021", (2021, 5, None)),
        ("es", "año 2009", (2009, None, None)),
        ("es", "mes de abril", (None, 4, None)),
        ("es", "enero del año 2001", (2001, 1, None)),
    ],
)
def test_a_date_is_read(lang, text, expected):
    written = read(text, lang)

    assert (written.year, written.month, written.day) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "31 February 2020",
        "29 February 2021",
        "30/02/2021",
        "13/13/2021",
        "10:30",
        "99",
        "1.2.3.4",
    ],
)
def test_what_is_no_date_is_not_read(text):
    assert read(text, "en") is None
    assert shift_date(text, _context()) is None


@pytest.mark.parametrize(
    ("lang", "text", "shape"),
    [
        ("en", "05/03/2021", r"\d\d/\d\d/20\d\d"),
        ("en", "2021-05-03 10:30", r"20\d\d-\d\d-\d\d 10:30"),
        ("en", "MAY 3RD, 2021", r"[A-Z]+ \d+(ST|ND|RD|TH), 20\d\d"),
        ("en", "3-Oct-21", r"\d{1,2}-[A-Z][a-z]{2}-\d\d"),
        ("es", "3 de octubre de 2021", r"\d{1,2} de [a-z]+ de 20\d\d"),
        ("es", "03/2021", r"\d\d/20\d\d"),
        ("es", "Marzo y Abril de 2000", r"[A-Z][a-z]+ y [A-Z][a-z]+ de (19|20)\d\d"),
        ("de", "03.05.2021", r"\d\d\.\d\d\.20\d\d"),
        ("en", "2019-2021", r"20\d\d-20\d\d"),
        (
            "en",
            "May 3, 2021 to June 4, 2021",
            r"[A-Z][a-z]+ \d+, 20\d\d to [A-Z][a-z]+ \d+, 20\d\d",
        ),
    ],
)
def test_the_format_stays(lang, text, shape):
    for patient in map(str, range(20)):
        moved = shift_date(text, _context(patient, lang))
        assert re.fullmatch(shape, moved)
        assert moved != text


@given(st.dates(date(1900, 1, 1), date(2100, 12, 31)), st.text(min_size=1, max_size=5))
def test_every_day_moves_by_the_patients_offset_which_is_whole_weeks_and_never_none(day, patient):
    moved = date.fromisoformat(shift_date(day.isoformat(), _context(patient)))

    assert moved - day == _offset(patient)
    assert moved.weekday() == day.weekday()
    assert 7 <= abs((moved - day).days) <= 7 * MAX_WEEKS


@given(
    st.dates(date(1970, 1, 1), date(2068, 12, 31)),
    st.sampled_from(["%d/%m/%Y", "%d.%m.%y", "%Y%m%d", "%d/%m/%y"]),
)
def test_a_moved_date_is_a_date_again_in_every_numeric_format(day, form):
    moved = read(shift_date(day.strftime(form), _context(lang="es")), "es").middle()

    # The century of two digits may turn at 1969.
    assert (moved - day - _offset("p")).days in (0, 36_525, -36_525)


def test_partial_dates_move_with_the_others():
    context = _context("p")
    moved = date(2021, 5, 3) + _offset("p")

    assert shift_date("May 3", context) == f"{moved:%B} {moved.day}"


@pytest.mark.parametrize("text", ["May 2021", "May", "2021", "05/2021", "2/29", "sep-04"])
@pytest.mark.parametrize("patient", [str(n) for n in range(40)])
def test_a_partial_date_never_stays_as_it_was(text, patient):
    assert shift_date(text, _context(patient)) not in (None, text)


def test_patients_have_different_offsets():
    assert len({_offset(str(n)) for n in range(60)}) > 30
