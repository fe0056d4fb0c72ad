"""Shifted dates: one offset per patient, never none, no impossible day, and the tag for what cannot
be moved.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import ConfigError, PolicyError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, Policy, redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies import load_policy
from deid_assets.policies.date_reading import read
from deid_assets.policies.shift import MAX_DAYS, Shift
from deid_assets.policies.tags import Tag
from deid_assets.policies.time_words import WORDS

KEY = Key(b"a key for tests, 24 bytes")
DAYS = Shift(max_days=365, whole_weeks=False)
WEEKS = Shift(max_days=364)
PATIENTS = [str(number) for number in range(40)]


def shifted(text, replacer=WEEKS, *, patient="p", lang="en", note_id="n", key=KEY):
    context = Context(Note(note_id, text, patient_id=patient, lang=lang), key)
    return replacer(text, Span(0, len(text), Phi.DATE), context)


def offset(replacer, patient):
    return (
        date.fromisoformat(shifted("2020-06-15", replacer, patient=patient)) - date(2020, 6, 15)
    ).days


full_dates = st.dates(date(1900, 1, 1), date(2100, 12, 31))
shifts = st.builds(Shift, max_days=st.integers(7, MAX_DAYS), whole_weeks=st.booleans())


@given(full_dates, full_dates, shifts, st.text(min_size=1, max_size=5))
def test_order_and_interval_of_two_full_dates_of_a_patient_stay(first, second, replacer, patient):
    moved = [
        date.fromisoformat(shifted(day.isoformat(), replacer, patient=patient))
        for day in (first, second)
    ]

    assert moved[1] - moved[0] == second - first
    assert moved[0] != first


@given(shifts, st.text(min_size=1, max_size=5))
def test_the_offset_keeps_to_the_settings(replacer, patient):
    days = offset(replacer, patient)

    assert 1 <= abs(days) <= replacer.max_days
    assert not replacer.whole_weeks or days % 7 == 0


@pytest.mark.parametrize(
    ("replacer", "allowed"),
    [
        (Shift(max_days=7), {-7, 7}),
        (Shift(max_days=2, whole_weeks=False), {-2, -1, 1, 2}),
        (Shift(max_days=31, min_days=30, whole_weeks=False), {-31, -30, 30, 31}),
        (Shift(max_days=20, min_days=8), {-14, 14}),
    ],
)
def test_every_allowed_offset_is_drawn_and_no_other(replacer, allowed):
    assert {offset(replacer, patient) for patient in PATIENTS} == allowed


def test_the_offset_is_the_patients_in_every_note_and_the_notes_without_one():
    assert shifted("2020-06-15", note_id="a") == shifted("2020-06-15", note_id="b")
    assert len({shifted("2020-06-15", patient=None, note_id=note_id) for note_id in PATIENTS}) > 20
    assert shifted("2020-06-15", key=Key(b"another key for tests")) != shifted("2020-06-15")


def test_a_note_without_a_patient_is_refused_where_one_is_required():
    strict = replace(WEEKS, require_patient=True)

    with pytest.raises(PolicyError, match="note 'n': action shift requires a patient id"):
        shifted("2020-06-15", strict, patient=None)
    assert shifted("2020-06-15", strict) == shifted("2020-06-15")


@pytest.mark.parametrize(
    ("lang", "text", "shape"),
    [
        ("en", "05/03/2021", r"\d\d/\d\d/20\d\d"),
        ("en", "2021-05-03T10:30:00Z", r"20\d\d-\d\d-\d\dT10:30:00Z"),
        ("en", "MAY 3RD, 2021", r"[A-Z]+ \d+(ST|ND|RD|TH), 20\d\d"),
        ("en", "May 3", r"[A-Z][a-z]+ \d+"),
        ("en", "5/3", r"\d+/\d+"),
        ("es", "3 de octubre de 2021", r"\d{1,2} de [a-z]+ de 20\d\d"),
        ("de", "03.05.2021", r"\d\d\.\d\d\.20\d\d"),
        ("fr", "3 août 2024", r"\d+(er)? \w+ 20\d\d"),
        ("en", "2019-2021", r"20\d\d-20\d\d"),
        ("en", "May 3 to June 4, 2021", r"[A-Z][a-z]+ \d+ to [A-Z][a-z]+ \d+, 20\d\d"),
        ("en", "late May 2021", r"late [A-Z][a-z]+ 20\d\d"),
    ],
)
@pytest.mark.parametrize("replacer", [DAYS, WEEKS])
def test_the_format_stays(lang, text, shape, replacer):
    moved = {shifted(text, replacer, lang=lang, patient=patient) for patient in PATIENTS} - {
        "[DATE]"
    }

    assert len(moved) > 1
    assert all(re.fullmatch(shape, one) and one != text for one in moved)


@pytest.mark.parametrize(
    "text", [" ", "yesterday", "31 February 2020", "29/02/2021", "Monday", "1.2.3.4", "99"]
)
def test_what_is_no_date_is_tagged(text):
    assert shifted(text) == "[DATE]"


def test_a_date_at_the_end_of_the_calendar_is_tagged_or_moved_and_never_stays():
    assert {shifted("2999-12-31", patient=patient)[:2] for patient in PATIENTS} == {"29", "30"}


@given(st.dates(date(2000, 1, 1), date(2000, 12, 31)), shifts, st.sampled_from(PATIENTS))
def test_a_day_without_a_year_moves_to_a_day_of_every_year(day, replacer, patient):
    moved = shifted(f"{day:%B} {day.day}", replacer, patient=patient)
    written = read(moved, "en")

    if abs(offset(replacer, patient)) % 365 == 0:
        assert moved == "[DATE]"
    else:
        assert date(2021, written.month, written.day)
        assert (written.month, written.day) != (day.month, day.day)


@given(st.text(min_size=1, max_size=20), shifts)
def test_nothing_stays_as_it_was_and_the_result_is_always_the_same(text, replacer):
    assert shifted(text, replacer) == shifted(text, replacer) != text


def test_a_text_that_is_the_tag_becomes_another_mark():
    assert shifted("[DATE]") == "[REDACTED]"


@pytest.mark.parametrize("lang", sorted(WORDS))
@pytest.mark.parametrize("replacer", [DAYS, WEEKS])
@pytest.mark.parametrize("names", ["weekdays", "short_weekdays"])
def test_the_weekday_is_right_after_the_move(lang, names, replacer):
    row, day = getattr(WORDS[lang], names), date(2021, 5, 3)
    for patient in PATIENTS:
        form = "{} {:%m/%d/%Y}" if lang == "en" else "{} {:%d.%m.%Y}"
        after = day + timedelta(days=offset(replacer, patient))

        written = shifted(form.format(row[0], day), replacer, lang=lang, patient=patient)

        assert written.split()[0] == row[after.weekday()]


def test_seasons_stay_where_they_are_to():
    replacer = Shift(max_days=1500, keep_season=True)

    assert replacer.offsets() == (364, 728, 1099, 1463)
    assert replace(replacer, whole_weeks=False).offsets()[:7] == tuple(range(362, 369))
    for patient in PATIENTS:
        moved = date.fromisoformat(shifted("2020-07-15", replacer, patient=patient))
        assert moved.year != 2020
        assert abs((moved.replace(year=2020) - date(2020, 7, 15)).days) <= 4


@pytest.mark.parametrize(
    ("lang", "text", "shape"),
    [
        ("en", "spring 2020", r"spring 20(19|21)"),
        ("sv", "hösten 2020", r"hösten 20(19|21)"),
        ("en", "Christmas 2020", r"winter 20(19|20|21|22)"),
        ("de", "Weihnachten 2020", r"Winter 20(19|20|21|22)"),
        ("fi", "juhannuksena 2020", r"kesä 20(19|21)"),
        # A season or a holiday without a year does not move by whole years.
        ("en", "spring", r"\[DATE\]"),
        ("en", "Easter", r"\[DATE\]"),
    ],
)
def test_season_words_stay_true_and_holidays_become_their_season(lang, text, shape):
    for patient in PATIENTS:
        assert re.fullmatch(
            shape, shifted(text, Shift(max_days=366, keep_season=True), lang=lang, patient=patient)
        )


def test_a_holiday_is_tagged_where_seasons_do_not_stay():
    assert shifted("Christmas 2020") == "[DATE]"


@pytest.mark.parametrize("text", ["1931", "3 May 1931", "03/05/1931", "1931-1950"])
def test_years_that_tell_an_age_over_89_are_tagged_where_asked(text):
    assert shifted(text, replace(WEEKS, oldest_year=1937)) == "[DATE]"
    assert shifted(text) != "[DATE]"
    assert shifted("3 May 1937", replace(WEEKS, oldest_year=1937)) != "[DATE]"


def _age(born, day):
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))


@given(
    st.dates(date(1930, 1, 1), date(2000, 12, 31)),
    st.integers(3, 360),
    st.integers(0, 80),
    st.sampled_from(PATIENTS),
)
def test_the_age_that_birth_and_visit_give_stays_but_for_days_beside_a_birthday(
    born, past_birthday, years, patient
):
    birthday = born.replace(year=born.year + years, day=min(born.day, 28))
    visit = birthday + timedelta(days=past_birthday)
    moved = [
        date.fromisoformat(shifted(day.isoformat(), DAYS, patient=patient)) for day in (born, visit)
    ]

    assert abs(_age(*moved) - _age(born, visit)) <= (past_birthday > 360 or past_birthday < 6)


def test_what_falls_back_is_counted_per_category():
    text = "yesterday 3 May 2021 Monday"
    note = Note("n", text, patient_id="p", lang="en")
    spans = DisjointSpans.of(
        note, [Span(0, 9, Phi.DATE), Span(10, 20, Phi.DATE), Span(21, 27, Phi.DATE)]
    )

    redacted = redact(note, spans, Policy("p", Tag(), {Phi.DATE: WEEKS}), key=KEY)

    assert redacted.fallbacks == {Phi.DATE: 2}
    assert redact(note, spans, Policy("p", Tag()), key=KEY).fallbacks == {}


def test_an_age_or_year_that_is_not_understood_is_counted_too():
    note = Note("n", "XLV yesterday", lang="en")
    spans = DisjointSpans.of(note, [Span(0, 3, Phi.AGE), Span(4, 13, Phi.DATE)])

    assert redact(note, spans, load_policy("safe_harbor"), key=KEY).fallbacks == {
        Phi.AGE: 1,
        Phi.DATE: 1,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "max_days = 300, keep_season = true",
            "shift has no whole week, near a whole year, from min_days = 1 to max",
        ),
        ("max_days = 364, keep_season = 1", "keep_season"),
    ],
)
def test_seasons_that_cannot_stay_are_refused(tmp_path, options, message):
    path = tmp_path / "mine.toml"
    path.write_text(f'name = "mine"\n[actions]\nDATE = {{ action = "shift", {options} }}\n')

    with pytest.raises(ConfigError, match=message):
        load_policy(path)
