"""Generalised values: coarser, still true, and the tag where that cannot be said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, Policy
from deid_assets.core.span import Span
from deid_assets.policies import load_policy
from deid_assets.policies.generalize import AgeBand, by_category
from deid_assets.policies.time_words import NUMBERS

KEY = Key(b"a key for tests, 24 bytes")


@pytest.fixture
def policy(tmp_path):
    def write(options: str = ""):
        path = tmp_path / "mine.toml"
        path.write_text(f'name = "mine"\ndefault = {{ action = "generalize"{options} }}\n')
        return load_policy(path)

    return write


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("45", "40-49"),
        ("45-year-old", "40-49"),
        ("64 años", "60-69"),
        ("82 Jahre", "80-89"),
        ("0", "0-9"),
        ("89", "80-89"),
        ("late 70s", "70-79"),
        ("in his 80's", "80-89"),
        ("1.5 years", "0-9"),
        ("94 days", "0-9"),
        ("8 weeks", "0-9"),
        ("130 months", "10-19"),
        ("41-43", "40-49"),
        ("40-49", "40-49"),
        ("9 years 2 months", "0-9"),
        ("90", "90+"),
        ("104 years", "90+"),
        ("ninety-two", "90+"),
        ("noventa y dos años", "90+"),
        ("forty-five", "40-49"),
        ("Eighty-three years old", "80-89"),
        ("three months", "0-9"),
        ("his forties", "40-49"),
        # Two bands, dictated digits, and what is not understood.
        ("four five", "[AGE]"),
        ("38-42", "[AGE]"),
        ("29 1/2", "[AGE]"),
        ("over 45", "[AGE]"),
        ("4 5", "[AGE]"),
        ("XLV", "[AGE]"),
    ],
)
def test_an_age_becomes_its_band(redacted, policy, text, expected):
    assert redacted(f"<AGE>{text}</AGE>", policy()) == expected


@pytest.mark.parametrize(
    ("width", "text", "expected"),
    [
        (5, "45", "45-49"),
        (5, "89", "85-89"),
        (20, "45", "40-59"),
        (20, "85", "80-89"),
        (5, "late 70s", "[AGE]"),
    ],
)
def test_the_width_of_the_band_is_an_option_and_no_band_goes_over_89(
    redacted, policy, width, text, expected
):
    assert redacted(f"<AGE>{text}</AGE>", policy(f", age_width = {width}")) == expected


@given(st.integers(0, 130), st.integers(2, 45))
def test_every_age_lies_in_its_band(age, width):
    text = str(age)
    band = AgeBand(width)(text, Span(0, len(text), Phi.AGE), Context(Note("n", text), KEY))

    if age > 89:
        assert band == "90+"
    else:
        first, last = map(int, band.split("-"))
        assert first <= age <= last <= 89


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("es", "setenta y ocho años", "70-79"),
        ("es", "18 meses", "0-9"),
        ("es", "noventa y un años", "90+"),
        ("it", "45 anni", "40-49"),
        ("it", "anni 45", "40-49"),
        ("it", "quarantacinque anni", "40-49"),
        ("it", "45enne", "40-49"),
        ("it", "45 aa", "40-49"),
        ("it", "18 mesi", "0-9"),
        ("it", "novantuno", "90+"),
        ("fr", "trente-neuf ans", "30-39"),
        ("fr", "39 ans", "30-39"),
        ("fr", "vingt et un ans", "20-29"),
        ("fr", "quatre-vingt-neuf ans", "80-89"),
        ("fr", "quatre-vingt-dix ans", "90+"),
        ("fr", "6 semaines", "0-9"),
        ("de", "45-jährige", "40-49"),
        ("de", "fünfundvierzigjährig", "40-49"),
        ("de", "45 J.", "40-49"),
        ("de", "40er", "40-49"),
        ("de", "6 Wo", "0-9"),
        ("de", "zweiundneunzig", "90+"),
        ("nl", "45-jarige", "40-49"),
        ("nl", "45 jr", "40-49"),
        ("nl", "vijfenveertig jaar", "40-49"),
        ("nl", "18 mnd", "0-9"),
        ("nl", "drieënnegentig", "90+"),
        ("sv", "45-årig", "40-49"),
        ("sv", "45 år", "40-49"),
        ("sv", "45-åring", "40-49"),
        ("sv", "6 v", "0-9"),
        ("sv", "fyrtiofem år", "40-49"),
        ("sv", "fyrtioårsåldern", "40-49"),
        ("sv", "nittiotvå år", "90+"),
        ("fi", "45-vuotias", "40-49"),
        ("fi", "45 v.", "40-49"),
        ("fi", "neljäkymmentäviisi vuotta", "40-49"),
        ("fi", "45-vuotiaalla", "40-49"),
        ("fi", "18 kk", "0-9"),
        ("fi", "nelikymppinen", "40-49"),
        ("fi", "yhdeksänkymmentäkaksi vuotta", "90+"),
        ("fi", "92 v", "90+"),
        # Another language's words are not understood.
        ("fi", "45 Jahre alt und krank", "[AGE]"),
        ("sv", "45 vuotta", "[AGE]"),
    ],
)
def test_an_age_is_read_in_eight_languages(redacted, policy, lang, text, expected):
    assert redacted(f"<AGE>{text}</AGE>", policy(), lang=lang) == expected


@given(st.integers(0, 99), st.sampled_from(sorted(NUMBERS)))
def test_every_age_in_words_lies_in_its_band(age, lang):
    text = NUMBERS[lang][age]
    band = AgeBand()(text, Span(0, len(text), Phi.AGE), Context(Note("n", text, lang=lang), KEY))

    assert band == ("90+" if age > 89 else f"{age // 10 * 10}-{age // 10 * 10 + 9}")


@pytest.mark.parametrize(
    ("kept", "lang", "text", "expected"),
    [
        ("year", "en", "05/03/2021", "2021"),
        ("year", "en", "2021", "2021"),
        ("year", "es", "3 de mayo de 2021", "2021"),
        ("year", "en", "May 3", "[DATE]"),
        ("year", "en", "3/5/31", "[DATE]"),
        ("month", "en", "05/03/2021", "2021-05"),
        ("month", "es", "05/03/2021", "2021-03"),
        ("month", "de", "21.06.67", "1967-06"),
        ("month", "en", "May 2021", "2021-05"),
        ("month", "en", "2021-05", "2021-05"),
        ("month", "en", "2021", "2021"),
        ("month", "en", "May 3", "[DATE]"),
        ("month", "en", "March 1931", "[DATE]"),
        ("month", "en", "31 February 1990", "1990"),
        ("month", "en", "last week", "[DATE]"),
    ],
)
def test_a_date_becomes_its_year_or_month(redacted, kept, lang, text, expected):
    replacer = by_category(date=kept, oldest_year=1937)[Phi.DATE]

    assert redacted(f"<DATE>{text}</DATE>", Policy("p", replacer), lang=lang) == expected


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("en", "<ZIP>02139</ZIP>", "021XX"),
        ("en", "<ZIP>03601</ZIP>", "000XX"),
        ("es", "<ZIP>28905</ZIP>", "[ZIP]"),
        ("en", "<CITY>Boston</CITY>", "[REGION]"),
        ("en", "<CITY>Boston, MA</CITY>", "MA"),
        ("en", "<CITY>, MA</CITY>", "[REGION]"),
        ("en", "<STREET>12 Elm St, Boston, Massachusetts</STREET>", "Massachusetts"),
        ("es", "<STREET>Calle Mayor, 12</STREET>", "[REGION]"),
        ("en", "<HOSPITAL>General Hospital</HOSPITAL>", "[REGION]"),
        ("en", "<REGION>Massachusetts</REGION>", "[REGION]"),
        ("en", "<REGION>[REGION]</REGION>", "[REDACTED]"),
        ("en", "<COUNTRY>France</COUNTRY>", "[COUNTRY]"),
        ("en", "<NAME>Lee</NAME>", "[NAME]"),
        ("en", "<SEX>male</SEX>", "[SEX]"),
    ],
)
def test_places_become_regions_and_all_else_is_tagged(redacted, lang, text, expected):
    assert redacted(text, "gdpr_strict", lang=lang) == expected


def test_one_category_alone_can_be_generalised(redacted, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\nkeep = ["ZIP"]\n[actions]\nAGE = { action = "generalize", age_width = 5 }\n'
    )

    text = redacted("<AGE>45</AGE> <DATE>2021</DATE> <ZIP>02139</ZIP>", load_policy(path))

    assert text == "45-49 [DATE] 02139"


def test_what_the_file_keeps_or_names_goes_before_a_generalising_default(redacted, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\ndefault = "generalize"\nkeep = ["DATE"]\n[actions]\nAGE = "tag"\n'
    )

    text = redacted("<AGE>45</AGE> <DATE>3 May 2021</DATE> <CITY>Rome</CITY>", load_policy(path))

    assert text == "[AGE] 3 May 2021 [REGION]"


def test_a_number_of_thousands_of_digits_is_no_age_under_90(redacted, policy):
    assert redacted(f"<AGE>{'9' * 5000}</AGE>", policy()) == "90+"
