"""Dates in the words of eight languages, ranges and partial dates.

Read right, moved right, never impossible.
"""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.policies.date_reading import read, reading
from deid_assets.policies.dates import move_dates
from deid_assets.policies.time_words import DAY_WORDS, WORDS

LANGS = sorted(WORDS)
days = st.dates(date(1970, 1, 1), date(2068, 12, 31))
offsets = st.integers(-3650, 3650).filter(bool)


def long_form(day, lang, *, short=False):
    month = (WORDS[lang].short if short else WORDS[lang].months)[day.month - 1]
    month += "ta" if lang == "fi" and not short else ""
    if lang == "en":
        return f"{month} {day.day}, {day.year}"
    if lang == "es":
        return f"{day.day} de {month} de {day.year}"
    first = "er" if lang == "fr" and day.day == 1 else ""
    return f"{day.day}{first}{'.' if lang in ('de', 'fi') else ''} {month} {day.year}"


def capitals(text):
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


def full(written):
    return date(written.year, written.month, written.day)


@given(days, st.sampled_from(LANGS), st.booleans(), offsets)
def test_a_date_in_words_is_read_and_moves_by_the_offset(day, lang, short, offset):
    text = long_form(day, lang, short=short)

    assert full(read(text, lang)) == day
    assert move_dates(text, lang, days=offset) == long_form(
        day + timedelta(days=offset), lang, short=short
    ) or (
        # "May" and its like are their own abbreviation: the full name may come back.
        short
        and full(read(move_dates(text, lang, days=offset), lang)) == day + timedelta(days=offset)
    )


@given(days, st.sampled_from(LANGS), st.sampled_from([str.upper, str.lower, capitals]), offsets)
def test_the_case_stays(day, lang, cased, offset):
    written = move_dates(cased(long_form(day, lang)), lang, days=offset)

    assert written == cased(written)


@pytest.mark.parametrize("lang", LANGS)
def test_every_name_of_every_month_and_weekday_is_read_in_every_form(lang):
    words = WORDS[lang]
    rows = [
        words.months,
        *words.month_forms,
        *([name + end for name in words.months] for end in words.month_endings),
    ]
    for row in rows:
        for number, name in enumerate(row, start=1):
            assert read(f"{name} 2021", lang).month == number
    for row in (words.weekdays, words.short_weekdays, *words.weekday_forms):
        for number, name in enumerate(row):
            written = read(f"{name} 3/5/2021", lang)
            assert written is not None
            assert written.part.weekday == number


@pytest.mark.parametrize("lang", LANGS)
def test_every_day_in_words_is_read_and_written(lang):
    for row in DAY_WORDS[lang]:
        for number, name in enumerate(row, start=1):
            text = f"{name} {WORDS[lang].months[4]}"
            assert read(text, lang).day == number
            assert (
                move_dates(text, lang, days=365 + 1 - number) == f"{row[0]} {WORDS[lang].months[4]}"
                or number == 1
            )


@pytest.mark.parametrize(
    ("lang", "text", "first", "second"),
    [
        ("en", "3–5 May 2021", (2021, 5, 3), (2021, 5, 5)),
        ("en", "May 3-5, 2021", (2021, 5, 3), (2021, 5, 5)),
        ("en", "May 3 to 5", (None, 5, 3), (None, 5, 5)),
        ("en", "between 3 and 5 May", (None, 5, 3), (None, 5, 5)),
        ("en", "December 30 to January 2, 2021", (2020, 12, 30), (2021, 1, 2)),
        ("en", "5/3/21 - 5/5/21", (2021, 5, 3), (2021, 5, 5)),
        ("en", "2021-05-03 to 2021-05-05", (2021, 5, 3), (2021, 5, 5)),
        ("en", "2019-2021", (2019, None, None), (2021, None, None)),
        ("en", "2019-21", (2019, None, None), (2021, None, None)),
        ("en", "May/June 2021", (2021, 5, None), (2021, 6, None)),
        ("es", "del 3 al 5 de mayo de 2021", (2021, 5, 3), (2021, 5, 5)),
        ("es", "3 a 5 de mayo", (None, 5, 3), (None, 5, 5)),
        ("it", "dal 3 al 5 maggio 2021", (2021, 5, 3), (2021, 5, 5)),
        ("it", "dal 3 all'8 maggio 2021", (2021, 5, 3), (2021, 5, 8)),
        ("fr", "du 3 au 5 mai 2021", (2021, 5, 3), (2021, 5, 5)),
        ("de", "12.–14.3.2021", (2021, 3, 12), (2021, 3, 14)),
        ("de", "3. bis 5. Mai 2021", (2021, 5, 3), (2021, 5, 5)),
        ("de", "vom 30.12.2020 bis 2.1.2021", (2020, 12, 30), (2021, 1, 2)),
        ("nl", "3 t/m 5 mei 2021", (2021, 5, 3), (2021, 5, 5)),
        ("sv", "3-5/6", (None, 6, 3), (None, 6, 5)),
        ("sv", "den 3 till 5 maj 2021", (2021, 5, 3), (2021, 5, 5)),
        ("fi", "3.–5.5.2021", (2021, 5, 3), (2021, 5, 5)),
        ("fi", "28.12.2020-2.1.2021", (2020, 12, 28), (2021, 1, 2)),
    ],
)
def test_both_ends_of_a_range_are_read(lang, text, first, second):
    found = reading(text, lang)

    assert [(one.year, one.month, one.day) for one in (found.first, found.second)] == [
        first,
        second,
    ]
    assert read(text, lang) is None


RANGES = [
    ("en", "{a}–{b} {month} {year}"),
    ("en", "{month} {a}-{b}, {year}"),
    ("es", "del {a} al {b} de {month} de {year}"),
    ("it", "dal {a} al {b} {month} {year}"),
    ("fr", "du {a} au {b} {month} {year}"),
    ("de", "{a}.–{b}. {month} {year}"),
    ("de", "{a}.–{b}.{number}.{year}"),
    ("nl", "{a} t/m {b} {month} {year}"),
    ("sv", "{a}–{b} {month} {year}"),
    ("fi", "{a}.–{b}.{number}.{year}"),
]


@given(days, st.integers(1, 27), offsets, st.sampled_from(RANGES))
def test_a_range_keeps_its_length_and_gets_its_second_month_and_year_where_it_needs_them(
    day, length, offset, row
):
    lang, form = row
    start = day.replace(day=1 + day.day % (28 - length))
    month = WORDS[lang].months[start.month - 1]
    end = start + timedelta(days=length)
    text = form.format(a=start.day, b=end.day, month=month, number=start.month, year=start.year)

    found = reading(move_dates(text, lang, days=offset), lang)

    assert full(found.second) - full(found.first) == timedelta(days=length)
    assert full(found.first) - start == timedelta(days=offset)


@pytest.mark.parametrize(
    ("lang", "text", "offset", "expected"),
    [
        ("en", "3–5 May 2021", 27, "30 May–1 June 2021"),
        ("en", "May 3–5, 2021", 27, "May 30–June 1, 2021"),
        ("en", "May 3–5, 2021", 241, "December 30, 2021–January 1, 2022"),
        ("en", "3–5 May 2021", 241, "30 December 2021–1 January 2022"),
        ("de", "3.–5.5.2021", 27, "30.5.–1.6.2021"),
        ("de", "3.–5.5.2021", 241, "30.12.2021–1.1.2022"),
        ("de", "3. bis 5. Mai", 27, "30. Mai bis 1. Juni"),
        ("fr", "du 3 au 5 mai", 27, "du 30 mai au 1er juin"),
        ("es", "del 3 al 5 de mayo de 2021", 27, "del 30 de mayo al 1 de junio de 2021"),
        ("sv", "3-5/6", 27, "30/6-2/7"),
        ("en", "3rd to 5th of May", 27, "30th of May to 1st of June"),
        ("en", "3rd to 5th of May, 2021", 241, "30th of December, 2021 to 1st of January, 2022"),
        ("it", "dal 3 al 5 maggio", 33, "dal 5 al 7 giugno"),
        ("it", "dal 3 al 5 maggio", 27, "dal 30 maggio al 1 giugno"),
    ],
)
def test_a_range_that_crosses_a_month_or_a_year_says_so(lang, text, offset, expected):
    assert move_dates(text, lang, days=offset) == expected


@pytest.mark.parametrize(
    ("lang", "text", "offset", "expected"),
    [
        ("en", "Q4 2021", 92, "Q1 2022"),
        ("en", "2nd quarter of 2021", 92, "3rd quarter of 2021"),
        ("fr", "T1 2021", 92, "T2 2021"),
        ("de", "1. Quartal 2021", -92, "4. Quartal 2020"),
        ("en", "winter 2021", 100, "spring 2021"),
        ("fi", "keväällä 2021", 100, "kesällä 2021"),
        ("sv", "hösten 2021", 100, "vintern 2022"),
        ("en", "Mon.", 1, "Tue."),
        ("fi", "maanantaina", 1, "tiistaina"),
        ("sv", "måndagen", 6, "söndagen"),
        ("en", "on the 3rd", 4, "on the 7th"),
        ("sv", "den 3:e", 4, "den 7:e"),
        ("de", "Ende Mai", 3, "Ende Juni"),
        ("es", "mar. 4/5/2021", 1, "mié. 5/5/2021"),
        ("en", "2021", 3, "2022"),
        ("sv", "1:a maj", 1, "2:a maj"),
        ("sv", "1:a maj", 2, "3:e maj"),
        ("fr", "1er mai", 1, "2 mai"),
        ("en", "last May", 31, "last June"),
        ("es", "mayo pasado", 31, "junio pasado"),
        ("fr", "sept novembre", 1, "huit novembre"),
        ("fr", "sept. 2020", 31, "oct. 2020"),
        ("fi", "viime toukokuussa", 31, "viime kesäkuussa"),
        ("fr", "30 avril 2021", 1, "1er mai 2021"),
        ("fr", "30/04/2021", 1, "01/05/2021"),
        ("it", "il 3 maggio", 5, "l'8 maggio"),
        ("it", "L'8 maggio", 1, "Il 9 maggio"),
        ("it", "dal 7 maggio", 1, "dall'8 maggio"),
        ("en", "21st of May", 1, "22nd of May"),
        ("en", "MAY 2ND", 1, "MAY 3RD"),
        ("en", "May 31", 1, "June 1"),
        ("de", "3. Jan.", 365 + 59, "3. Mär."),
        ("fr", "3 janv.", 365 + 59, "3 mars"),
        ("sv", "3 jan.", 365 + 59, "3 mars"),
        ("nl", "3 feb.", 365 + 28, "3 mrt."),
        ("en", "29 February", 365 + 1, "1 March"),
    ],
)
def test_a_partial_date_moves_in_its_own_words(lang, text, offset, expected):
    assert move_dates(text, lang, days=offset) == expected


@pytest.mark.parametrize(
    "text",
    [
        "10:30",
        "at 10 am",
        "3 weeks",
        "3, 5 and 7 May",
        "29/02/2021",
        "31-31-2021",
        "May 2nd 3",
        "1.2.3.4",
        "12345",
        "Q5 2021",
        "0/0/2021",
        "2021/13/01",
        "Monday to Friday",
        "x" * 200,
        "3 May 2021 3 May 2021",
        "%s",
        "1980s",
    ],
)
@pytest.mark.parametrize("lang", LANGS)
def test_what_is_no_date_is_not_read(lang, text):
    assert reading(text, lang) is None or reading(text, lang).second is not None


@given(
    st.text(st.sampled_from("0123456789./- :,May den al bis'T"), max_size=24),
    st.sampled_from([*LANGS, None, "xx"]),
    offsets,
)
def test_whatever_is_moved_can_be_read_again_and_nothing_raises(text, lang, offset):
    found = move_dates(text, lang, days=offset)

    assert found is None or reading(found, lang) is not None


@given(
    days, offsets, st.sampled_from(["%d/%m/%Y", "%Y-%m-%d", "%d.%m.%y", "%Y%m%d", "%d-%m-%Y %H:%M"])
)
def test_a_percent_sign_or_a_time_beside_a_date_does_no_harm(day, offset, form):
    text = day.strftime(form)

    assert move_dates(f" {text} ", "es", days=offset) == f" {move_dates(text, 'es', days=offset)} "


def test_neither_a_reading_nor_its_dates_show_the_date():
    found = reading("3–5 May 2021", "en")

    assert "2021" not in repr(found) + repr(found.first)
