"""Identifiers: the same shape, valid where the original was, with the birthday moved by the
patient's offset.
"""

from __future__ import annotations

import functools
import importlib
import re
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, Policy
from deid_assets.policies.dates import patient_days
from deid_assets.policies.shift import Shift
from deid_assets.policies.tags import Tag
from deid_assets.reference import check_digits as check
from deid_surrogates.identifiers import SCHEMES
from deid_surrogates.shapes import identifier

KEY = Key(b"a key for tests, 24 bytes")
PATIENTS = [str(number) for number in range(25)]
NATIONAL = Phi.NATIONAL_ID


def context(patient="p", lang="en", policy=None):
    return Context(Note("n", "", patient_id=patient, lang=lang), KEY, policy=policy)


def draw(text, label=NATIONAL, *, lang="en", patient="p", policy=None):
    return identifier(label, text, context(patient, lang, policy))


def shape(text):
    return re.sub("[A-Z]", "A", re.sub("[a-z]", "a", re.sub("[0-9]", "9", text)))


def checker(name):
    pytest.importorskip("stdnum")
    found = importlib.import_module(f"stdnum.{name}").is_valid
    # The package knows which Belgian bank codes are given out.
    return functools.partial(found, check_country=False) if name == "iban" else found


VALID = [
    ("es", NATIONAL, "12345678Z", "es.dni"),
    ("es", NATIONAL, "12.345.678-z", "es.dni"),
    ("es", NATIONAL, "X1234567L", "es.nie"),
    ("it", NATIONAL, "RCCMNL83S18D969H", "it.codicefiscale"),
    ("fr", NATIONAL, "2 95 10 99 126 111 93", "fr.nir"),
    ("de", NATIONAL, "36 574 261 809", "de.idnr"),
    ("nl", NATIONAL, "111222333", "nl.bsn"),
    ("sv", NATIONAL, "880320-0016", "se.personnummer"),
    ("sv", NATIONAL, "19880320-0016", "se.personnummer"),
    ("fi", NATIONAL, "131052-308T", "fi.hetu"),
    ("da", NATIONAL, "211062-5629", "dk.cpr"),
    ("da", NATIONAL, "0101075000", "dk.cpr"),
    ("nb", NATIONAL, "151086 95088", "no.fodselsnummer"),
    ("nn", NATIONAL, "15108695088", "no.fodselsnummer"),
    ("pl", NATIONAL, "44051401359", "pl.pesel"),
    ("pl", NATIONAL, "02070803628", "pl.pesel"),
    ("pt", NATIONAL, "501 964 843", "pt.nif"),
    ("pt", NATIONAL, "390.533.447-05", "br.cpf"),
    ("nl", NATIONAL, "85.07.30-033 28", "be.nn"),
    ("de", NATIONAL, "756.9217.0769.85", "ch.ssn"),
    ("de", NATIONAL, "1237 010180", "at.vnr"),
    ("en", NATIONAL, "943 476 5919", "gb.nhs"),
    ("en", Phi.MRN, "943-476-5919", "gb.nhs"),
    ("en", NATIONAL, "536-22-8726", "us.ssn"),
    ("en", Phi.ACCOUNT, "4111 1111 1111 1111", "luhn"),
    ("es", Phi.ACCOUNT, "ES91 2100 0418 4502 0005 1332", "iban"),
    ("de", Phi.ACCOUNT, "DE89370400440532013000", "iban"),
    ("fr", Phi.ACCOUNT, "FR14 2004 1010 0505 0001 3M02 606", "iban"),
    ("it", Phi.ACCOUNT, "IT60X0542811101000000123456", "iban"),
    ("es", Phi.ACCOUNT, "ES91 2100 0418 4502 0005 1332", "es.iban"),
    ("nl", Phi.ACCOUNT, "BE68 5390 0754 7034", "iban"),
    ("fi", Phi.ACCOUNT, "FI21 1234 5600 0007 85", "iban"),
]


@pytest.mark.parametrize(("lang", "label", "text", "module"), VALID)
def test_what_was_valid_stays_valid_in_its_own_shape(lang, label, text, module):
    is_valid = checker(module)
    assert is_valid(re.sub("[ .]", "", text).upper())

    drawn = {draw(text, label, lang=lang, patient=patient) for patient in PATIENTS}

    assert len(drawn) > 20
    for one in drawn:
        assert is_valid(re.sub("[ .]", "", one).upper())
        assert one != text
        # The control sign of a Finnish code is a digit or a letter.
        assert (
            shape(one)[:-1] == shape(text)[:-1]
            if module == "fi.hetu"
            else shape(one) == shape(text)
        )


@pytest.mark.parametrize(
    ("label", "text", "is_valid"),
    [
        (Phi.LICENSE, "1234567893", lambda value: check.npi(value[:-1]) == value[-1]),
        (Phi.LICENSE, "AB1234563", lambda value: check.dea(value[:-1]) == value[-1]),
        (Phi.VEHICLE, "1M8GDM9AXKP042788", lambda value: check.vin(value) == value[8]),
        (Phi.HEALTH_PLAN, "A123456780", lambda value: check.kvnr(value[:-1]) == value[-1]),
        (
            Phi.HEALTH_PLAN,
            "28 12345678 40",
            lambda value: check.nass(value.replace(" ", "")[:-2]) == value[-2:],
        ),
        (
            Phi.LICENSE,
            "1000345678" + check.luhn("1000345678"),
            lambda value: check.luhn(value[:-1]) == value[-1],
        ),
    ],
)
def test_kinds_without_a_reference_keep_their_check_characters(label, text, is_valid):
    assert is_valid(text)
    assert all(is_valid(draw(text, label, patient=patient)) for patient in PATIENTS)


@pytest.mark.parametrize(
    ("function", "body", "end"),
    [
        # Worked examples of the issuers.
        (check.cpf, "390533447", "05"),
        (check.fodselsnummer, "151086950", "88"),
        (check.nif, "50196484", "3"),
        (check.pesel, "4405140135", "9"),
        (check.pwz, "425740", "5"),
        (check.luhn, "7992739871", "3"),
        (check.npi, "123456789", "3"),
        (check.nhs, "943476591", "9"),
        (check.dni, "12345678", "Z"),
        (check.dni, "X1234567", "L"),
        (check.hetu, "131052308", "T"),
        (check.idnr, "3657426180", "9"),
        (check.ean, "756921707698", "5"),
        (check.bsn, "11122233", "3"),
        (check.niss, "850730033", "28"),
        (check.niss_2000, "170730033", "84"),
        (check.svnr, "123010180", "7"),
        (check.kvnr, "A12345678", "0"),
        (check.dea, "AB123456", "3"),
        (check.nass, "2812345678", "40"),
    ],
)
def test_the_check_characters_are_the_issuers(function, body, end):
    assert function(body) == end


@pytest.mark.parametrize(
    ("function", "body"),
    [(check.nhs, "000000006"), (check.bsn, "00000005"), (check.svnr, "102010180")],
)
def test_a_body_the_issuer_leaves_out_has_no_check_character(function, body):
    assert function(body) is None or function(body).isdigit()


@pytest.mark.parametrize(
    ("lang", "text", "form", "place"),
    [
        ("sv", "19880320-0016", "%Y%m%d", slice(0, 8)),
        ("sv", "880320-0016", "%y%m%d", slice(0, 6)),
        ("fi", "131052-308T", "%d%m%y", slice(0, 6)),
        ("nl", "85073003328", "%y%m%d", slice(0, 6)),
        ("de", "1237010180", "%d%m%y", slice(4, 10)),
    ],
)
@pytest.mark.parametrize(
    "policy", [None, Policy("p", Tag(), {Phi.DATE: Shift(max_days=365, whole_weeks=False)})]
)
def test_a_birthday_in_it_moves_as_the_patients_dates_do(lang, text, form, place, policy):
    from datetime import datetime

    def born(value):
        day = datetime.strptime(value[place], form).date()  # noqa: DTZ007 - a day, no time
        return day.replace(year=day.year - 100) if day.year > 2030 else day

    for patient in PATIENTS:
        days = patient_days(context(patient, lang, policy))

        assert born(draw(text, lang=lang, patient=patient, policy=policy)) == born(
            text
        ) + timedelta(days=days)


def test_the_birthday_of_a_fiscal_code_moves_and_keeps_the_forty_of_a_woman():
    months = "ABCDEHLMPRST"
    for patient in PATIENTS:
        drawn = draw(
            "RSSMRA85M50A562" + check.codice_fiscale("RSSMRA85M50A562"), lang="it", patient=patient
        )
        after = date(1985, 8, 10) + timedelta(days=patient_days(context(patient, "it")))

        assert drawn[6:11] == f"{after.year % 100:02}{months[after.month - 1]}{after.day + 40}"


def test_with_or_without_the_century_it_is_the_same_person():
    for patient in PATIENTS:
        short = draw("880320-0016", lang="sv", patient=patient)

        assert draw("19880320-0016", lang="sv", patient=patient) == f"19{short}"
        assert draw("8803200016", lang="sv", patient=patient) == short.replace("-", "")


def test_the_sign_of_a_finnish_code_says_the_new_century():
    body = "010100A123"
    text = body + check.hetu("010100123")
    signs = {}
    for patient in PATIENTS:
        days = patient_days(context(patient, "fi"))
        signs[(date(2000, 1, 1) + timedelta(days=days)).year >= 2000] = draw(
            text, lang="fi", patient=patient
        )[6]

    assert signs == {True: "A", False: "-"}


def test_a_belgian_number_crosses_the_century_with_the_right_rest():
    text = "00010103" + "3"
    text += check.niss_2000(text)
    is_valid = checker("be.nn")

    assert all(is_valid(draw(text, lang="nl", patient=patient)) for patient in PATIENTS)


@pytest.mark.parametrize(
    "text", ["12345678A", "880320-0017", "ES91 2100 0418 4502 0005 1333", "MRN-12.345/6"]
)
def test_what_was_not_valid_keeps_its_shape_only(text):
    assert shape(draw(text, Phi.ID, lang="es")) == shape(text)


@pytest.mark.parametrize("text", ["unknown", "", "N/A"])
def test_what_has_no_digit_is_no_identifier(text):
    assert draw(text) is None


def test_words_that_name_the_number_stay():
    assert draw("patient ID: 123-45", Phi.ID).startswith("patient ID: ")
    assert draw("Personnummer: 880320-0016", lang="sv").startswith("Personnummer: ")


@given(st.sampled_from(VALID), st.text(min_size=1, max_size=6))
def test_the_same_patient_has_the_same_surrogate_and_it_is_never_the_original(row, patient):
    lang, label, text, _ = row
    drawn = draw(text, label, lang=lang, patient=patient)

    assert drawn == draw(text, label, lang=lang, patient=patient) != text


@given(
    st.from_regex(r"[A-Z]{0,3}[-./ ]?[0-9]{4,14}([-/][0-9a-z]{1,4})?", fullmatch=True),
    st.sampled_from(sorted(Phi)),
)
def test_any_identifier_keeps_its_shape(text, label):
    drawn = draw(text, label)

    # A control letter may take the place of a letter only; the French account and the VIN draw like
    # for like too.
    assert drawn is None or shape(drawn) == shape(text)


def test_every_kind_is_named_once():
    names = [scheme.name for scheme in SCHEMES]

    assert len(set(names)) == len(names)
