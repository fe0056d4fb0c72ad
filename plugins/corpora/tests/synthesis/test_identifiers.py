from importlib import import_module
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.phi import Phi
from deid_synthesis.identifiers import VALID, fill_pattern

stdnum = pytest.importorskip(
    "stdnum", reason="python-stdnum is the independent judge of check digits"
)
from stdnum import iban, luhn  # noqa: E402
from stdnum.es import dni, nie  # noqa: E402
from stdnum.gb import nhs  # noqa: E402
from stdnum.us import ssn  # noqa: E402


def _npi(number):
    return luhn.is_valid("80840" + number)


def _dea(number):
    digits = list(map(int, number[2:]))
    return (sum(digits[0:6:2]) + 2 * sum(digits[1:6:2])) % 10 == digits[6]


def _nass(number):
    digits = number.replace(" ", "")
    return int(digits[:10]) % 97 == int(digits[10:])


def _vin(number):
    values = {**{str(n): n for n in range(10)}, **dict(zip("ABCDEFGH", range(1, 9), strict=True))}
    values |= dict(zip("JKLMN", range(1, 6), strict=True)) | {"P": 7, "R": 9}
    values |= dict(zip("STUVWXYZ", range(2, 10), strict=True))
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    rest = (
        sum(values[character] * weight for character, weight in zip(number, weights, strict=True))
        % 11
    )
    return len(number) == 17 and number[8] == ("X" if rest == 10 else str(rest))


def _stdnum(module):
    return import_module(f"stdnum.{module}").is_valid


def _kvnr(number):
    from deid_rules.checks import check_named

    return check_named("de_kvnr")(number)


def _lanr(number):
    digits = [int(character) for character in number if character.isdigit()]
    return (
        len(digits) >= 7
        and -sum(d * w for d, w in zip(digits[:6], (4, 9) * 3, strict=True)) % 10 == digits[6]
    )


def _pwz(number):
    digits = [int(character) for character in number]
    return sum(d * w for d, w in zip(digits[1:], range(1, 7), strict=True)) % 11 == digits[0]


def _luhn(number):
    return luhn.is_valid("".join(filter(str.isdigit, number)))


NATIONAL_JUDGES = {
    "at_svnr": _stdnum("at.vnr"),
    "be_iban": iban.is_valid,
    "be_niss": _stdnum("be.nn"),
    "br_cpf": _stdnum("br.cpf"),
    "ch_ahv": _stdnum("ch.ssn"),
    "de_iban": iban.is_valid,
    "de_idnr": _stdnum("de.idnr"),
    "de_kvnr": _kvnr,
    "de_lanr": _lanr,
    "dk_cpr": _stdnum("dk.cpr"),
    "dk_iban": iban.is_valid,
    "fi_hetu": _stdnum("fi.hetu"),
    "fr_iban": iban.is_valid,
    "fr_nir": _stdnum("fr.nir"),
    "fr_rpps": _luhn,
    "it_codice_fiscale": _stdnum("it.codicefiscale"),
    "it_iban": iban.is_valid,
    "nl_bsn": _stdnum("nl.bsn"),
    "nl_iban": iban.is_valid,
    "no_fodselsnummer": _stdnum("no.fodselsnummer"),
    "no_iban": lambda number: iban.is_valid(number, check_country=False),
    "pl_iban": iban.is_valid,
    "pl_pesel": _stdnum("pl.pesel"),
    "pl_pwz": _pwz,
    "pt_iban": iban.is_valid,
    "pt_nif": _stdnum("pt.nif"),
    "se_bankgiro": _luhn,
    "se_personnummer": _stdnum("se.personnummer"),
    "se_personnummer_short": _stdnum("se.personnummer"),
}
JUDGES = NATIONAL_JUDGES | {
    "ssn": ssn.is_valid,
    "npi": _npi,
    "dea": _dea,
    "nhs": nhs.is_valid,
    "vin": _vin,
    "dni": dni.is_valid,
    "nie": nie.is_valid,
    "nass": _nass,
    "iban_es": iban.is_valid,
}


@pytest.mark.parametrize("name", sorted(VALID))
@given(seed=st.integers())
def test_identifiers_pass_the_check_of_their_issuer(name, seed):
    number = VALID[name](Random(seed))
    assert JUDGES[name](number), number


def test_patterns_are_filled():
    assert fill_pattern("A-##", Random(1)).startswith("A-")
    assert "0" not in {fill_pattern("^", Random(seed)) for seed in range(200)}


def test_identifiers_in_notes_are_valid(corpus, expected):
    numbers = {
        note.text[span.start : span.end]
        for note, spans in corpus
        for span in spans
        if span.label is Phi.NATIONAL_ID
        and not {"spaced_digits", "wrapped_number"} & set(note.meta["cases"].split(","))
    }
    judges = [import_module(f"stdnum.{module}").is_valid for module in expected["national_ids"]]
    assert numbers
    for number in numbers:
        plain = " ".join(number.split())
        assert any(judge(plain) for judge in judges), number


def test_spanish_phones_are_valid(corpora):
    phonenumbers = pytest.importorskip("phonenumbers")
    found = [
        note.text[span.start : span.end]
        for note, spans in corpora("es")
        for span in spans
        if span.label in {Phi.PHONE, Phi.FAX} and "ext" not in note.text[span.start : span.end]
    ]
    assert found
    valid = sum(
        phonenumbers.is_valid_number(phonenumbers.parse(" ".join(number.split()), "ES"))
        for number in found
    )
    assert valid / len(found) > 0.95
