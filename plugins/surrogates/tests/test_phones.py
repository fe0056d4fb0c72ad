"""Telephone numbers.

The same country, kind, length and separators, and a fictional range where there is one.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Context
from deid_surrogates.phones import phone

phonenumbers = pytest.importorskip("phonenumbers")
KEY = Key(b"a key for tests, 24 bytes")
PATIENTS = [str(number) for number in range(25)]


def draw(text, *, lang="en", patient="p"):
    return phone(text, Context(Note("n", "", patient_id=patient, lang=lang), KEY))


def separators(text):
    return re.sub("[0-9]", "9", text)


NUMBERS = [
    ("en", "(617) 253-0143", "US"),
    ("en", "+1 617.253.0143", "US"),
    ("en", "1-800-555-1234", "US"),
    ("en", "020 7925 0918", "GB"),
    ("en", "+44 7911 123456", "GB"),
    ("es", "+34 612 345 678", "ES"),
    ("es", "0034 912 34 56 78", "ES"),
    ("es", "942 20 25 28", "ES"),
    ("it", "+39 347 1234567", "IT"),
    ("it", "06 69821234", "IT"),
    ("fr", "01 42 68 53 00", "FR"),
    ("fr", "+33 (0)6 12 34 56 78", "FR"),
    ("fr", "02/555.12.34", "BE"),
    ("de", "030 901820", "DE"),
    ("de", "0171 1234567", "DE"),
    ("de", "+49 (0)89 21 00 00", "DE"),
    ("de", "+41 44 668 18 00", "CH"),
    ("nl", "06-12345678", "NL"),
    ("nl", "020-6241111", "NL"),
    ("sv", "08-506 390 00", "SE"),
    ("sv", "070-123 45 67", "SE"),
    ("fi", "040 123 4567", "FI"),
    ("fi", "09 310 1691", "FI"),
]


@pytest.mark.parametrize(("lang", "text", "region"), NUMBERS)
def test_a_number_keeps_its_country_kind_and_form(lang, text, region):
    kind = phonenumbers.number_type(phonenumbers.parse(text, region))

    for patient in PATIENTS:
        drawn = draw(text, lang=lang, patient=patient)
        number = phonenumbers.parse(drawn, region)

        assert separators(drawn) == separators(text)
        assert phonenumbers.is_possible_number(number)
        assert number.country_code == phonenumbers.parse(text, region).country_code
        # Ranges kept for fiction are in no numbering plan of some countries.
        assert phonenumbers.number_type(number) in (kind, phonenumbers.PhoneNumberType.UNKNOWN)
        assert drawn != text


@pytest.mark.parametrize(
    ("lang", "text", "fictional"),
    [
        ("en", "(617) 253-0143", r"\([2-9]\d\d\) 555-01\d\d"),
        ("en", "1-800-234-1234", r"1-8\d\d-555-01\d\d"),
        ("en", "+44 7911 123456", r"\+44 7700 900\d\d\d"),
        ("en", "020 7925 0918", r"020 7946 0\d\d\d"),
        ("en", "01865 270000", r"01632 960\d\d\d"),
        ("fr", "06 12 34 56 78", r"06 39 98 \d\d \d\d"),
        ("fr", "01 42 68 53 00", r"0(1 99 00|2 61 91|3 53 01|4 65 71|5 36 49) \d\d \d\d"),
        ("de", "0171 1234567", r"0171 39200\d\d"),
        ("sv", "070-123 45 67", r"070-174 06 \d\d"),
        ("sv", "08-506 390 00", r"08-465 004 \d\d"),
    ],
)
def test_a_number_is_of_a_range_kept_for_fiction(lang, text, fictional):
    assert all(
        re.fullmatch(fictional, draw(text, lang=lang, patient=patient)) for patient in PATIENTS
    )


@pytest.mark.parametrize(
    ("lang", "text", "form"),
    [
        ("en", "Tel: 617-253-0143 ext. 42", r"Tel: \d{3}-555-01\d\d ext\. \d\d"),
        ("en", "617-253-0143x5123", r"\d{3}-555-01\d\dx\d{4}"),
        ("en", "(617) 555-0194 x9424", r"\(\d{3}\) 555-01\d\d x\d{4}"),
        ("sv", "08-506 390 00 ankn 12", r"08-465 004 \d\d ankn \d\d"),
        ("fr", "01 42 68 53 00 poste 412", r"0\d \d\d \d\d \d\d \d\d poste \d{3}"),
        ("it", "02 66981234 int. 12", r"0\d \d{8} int\. \d\d"),
        ("nl", "toestel 4321", r"toestel \d{4}"),
    ],
)
def test_an_extension_becomes_other_digits(lang, text, form):
    for patient in PATIENTS:
        assert re.fullmatch(form, draw(text, lang=lang, patient=patient))


@pytest.mark.parametrize(
    ("lang", "own", "abroad"),
    [
        ("es", "612 345 678", "+34612345678"),
        ("sv", "070-123 45 67", "+46 70 123 45 67"),
        ("fr", "01.42.68.53.00", "0033 142685300"),
        ("en", "617-253-0143", "+1 (617) 253-0143"),
    ],
)
def test_with_or_without_the_country_it_is_the_same_number(lang, own, abroad):
    first, second = (re.sub("[^0-9]", "", draw(text, lang=lang)) for text in (own, abroad))

    assert second.endswith(first.lstrip("0"))


@pytest.mark.parametrize(
    "text", ["-", "12", "617-253-0143 (Mary)", "1-800-FLOWERS", "\u0661\u0662\u0663 456 7890"]
)
def test_what_is_no_number_or_holds_a_word_has_no_surrogate(text):
    assert draw(text) is None


@pytest.mark.parametrize(
    ("lang", "text"),
    [("en", "4321"), ("en", "253-0143"), ("es", "12 34 56"), ("xx", "123 456 789")],
)
def test_a_number_of_no_plan_keeps_its_form(lang, text):
    assert separators(draw(text, lang=lang)) == separators(text)
    assert draw(text, lang=lang) != text


@given(
    st.from_regex(r"\+?[0-9]{3,15}", fullmatch=True),
    st.sampled_from(["en", "es", "de", "fi", None]),
)
def test_any_number_has_another_of_its_form_and_always_the_same(text, lang):
    drawn = draw(text, lang=lang)

    assert drawn == draw(text, lang=lang)
    assert drawn is None or (separators(drawn) == separators(text) and drawn != text)
