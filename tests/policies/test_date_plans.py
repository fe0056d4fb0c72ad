"""The short way to a moved date gives what the long way gives, and takes nearly every date."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deid_assets.policies.calendar_words import WORDS
from deid_assets.policies.date_plans import moved_plain
from deid_assets.policies.dates import moved_by_reading

LANGS = sorted(WORDS)
GOLDEN = sorted(
    (path.stem.rpartition("_")[2], line.split("\t")[0])
    for path in (Path(__file__).parent / "golden").glob("dates_*.tsv")
    for line in path.read_text("utf-8").splitlines()[1:]
)
NUMERIC = (
    "{m:02}/{d:02}/{y}",
    "{m}/{d}/{y2:02}",
    "{y}-{m:02}-{d:02}",
    "{d:02}.{m:02}.{y}",
    "{d}.{m}.",
    "{m}/{d}",
    "{y}{m:02}{d:02}",
)
NAMED = (
    "{d} {month} {y}",
    "{month} {d}, {y}",
    "{month} {y}",
    "{d} {month}",
    "{weekday} {d} {month} {y}",
    "{d}. {short} {y2:02}",
)

days_moved = st.integers(-3650, 3650).filter(bool)


def written(form: str, day: date, lang: str) -> str:
    words = WORDS[lang]
    return form.format(
        d=day.day,
        m=day.month,
        y=day.year,
        y2=day.year % 100,
        month=words.months[day.month - 1],
        short=words.short[day.month - 1],
        weekday=words.weekdays[day.weekday()],
    )


@given(
    st.dates(date(1870, 1, 1), date(2120, 12, 31)),
    st.sampled_from((*NUMERIC, *NAMED)),
    st.sampled_from(LANGS),
    days_moved,
)
@example(date(2020, 2, 29), "{m}/{d}", "en", 365)
@example(date(2020, 2, 29), "{d} {month}", "es", -730)
@example(date(2021, 5, 15), "{month} {y}", "en", 1)
@example(date(2021, 5, 15), "{month} {y}", "en", -1)
def test_both_ways_give_the_same(day, form, lang, days):
    text = written(form, day, lang)

    assert moved_plain(text, lang, days) in (None, moved_by_reading(text, lang, days=days))


@given(st.text("0123456789./- ", min_size=1, max_size=11), st.sampled_from(LANGS), days_moved)
@example("19.12.2099", "de", 40)
@example("31/02/2020", "es", 7)
@example("0000-01-01", "en", 7)
@example("18491231", "en", 7)
def test_both_ways_give_the_same_for_any_numbers(text, lang, days):
    assert moved_plain(text, lang, days) in (None, moved_by_reading(text, lang, days=days))


@pytest.mark.parametrize(("lang", "text"), GOLDEN)
@pytest.mark.parametrize("days", [-364, 30, 3650])
def test_both_ways_give_the_same_for_the_golden_originals(lang, text, days):
    assert moved_plain(text, lang, days) in (None, moved_by_reading(text, lang, days=days))


@pytest.mark.parametrize(
    "form", ["{m:02}/{d:02}/{y}", "{m}/{d}/{y2:02}", "{y}-{m:02}-{d:02}", "{month} {d}, {y}", "{m}/{d}", "{month} {y}"]
)
def test_dates_of_the_usual_forms_take_the_short_way(form):
    assert moved_plain(written(form, date(2021, 5, 13), "en"), "en", 60) is not None


@pytest.mark.parametrize(
    "text", ["3-5 May 2021", "Q2 2021", "2021", "2021-05-03 10:30", "Monday", "31 February 2021", "x" * 90]
)
def test_what_has_no_plan_is_left_to_the_long_way(text):
    assert moved_plain(text, "en", 60) is None
