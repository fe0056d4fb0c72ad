"""National and health identifiers with the check digits their issuers define."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from deid_assets.extending.numbers import check_digits as check


def nl_bsn(rng: Random) -> str:
    """Return a Dutch BSN that begins with 9, a range not issued."""
    while True:
        body = "9" + _digits(rng, 7)
        if digit := check.bsn(body):
            return f"{body}{digit}"


def be_niss(rng: Random) -> str:
    """Return a Belgian national number of someone born before 2000."""
    day = f"{rng.randint(30, 99):02d}{rng.randint(1, 12):02d}{rng.randint(1, 28):02d}"
    body = f"{day}{rng.randint(1, 997):03d}"
    return f"{body[:2]}.{body[2:4]}.{body[4:6]}-{body[6:]}.{check.niss(body)}"


def nl_iban(rng: Random) -> str:
    """Return a Dutch IBAN of a bank that does not exist."""
    return _iban("NL", "BANK" + _digits(rng, 10))


def be_iban(rng: Random) -> str:
    """Return a Belgian IBAN; the account ends in its rest modulo 97."""
    return _iban("BE", f"001{_digits(rng, 7)}00")


def it_codice_fiscale(rng: Random) -> str:
    """Return an Italian fiscal code with its control letter."""
    name = "".join(rng.choice("BCDFGLMNPRSTVZ") for _ in range(6))
    day = rng.randint(1, 28) + rng.choice((0, 40))
    town = rng.choice(
        (
            "A271",
            "A662",
            "A944",
            "C351",
            "D612",
            "D969",
            "F205",
            "F839",
            "H501",
            "L219",
            "L736",
            "L781",
        )
    )
    body = f"{name}{rng.randint(20, 99):02d}{rng.choice('ABCDEHLMPRST')}{day:02d}{town}"
    return body + check.codice_fiscale(body)


def it_iban(rng: Random) -> str:
    """Return an Italian IBAN of a bank that does not exist; the account has its control letter."""
    account = _digits(rng, 20)
    iban = _iban("IT", f"X99999{account[:5]}00{account[5:15]}").replace(" ", "")
    return (
        f"{iban[:4]} {iban[4]} {iban[5:10]} {iban[10:15]} {iban[15:]}"
        if rng.random() < 0.3
        else iban
    )


def se_personnummer(rng: Random) -> str:
    """Return a Swedish personnummer with its century and Luhn digit (Folkbokföringslag 1991:481,
    section 18).
    """
    day = f"{rng.randint(1925, 2012)}{rng.randint(1, 12):02d}{rng.randint(1, 28):02d}"
    body = f"{day}{rng.randint(0, 999):03d}"
    return f"{body[:8]}-{body[8:]}{check.luhn(body[2:])}"


def se_personnummer_short(rng: Random) -> str:
    """Return a Swedish personnummer in ten digits."""
    return se_personnummer(rng)[2:]


def se_bankgiro(rng: Random) -> str:
    """Return a Swedish bankgiro number, seven or eight digits, the last by Luhn (Bankgirot)."""
    body = str(rng.randint(100_000, 9_999_999))
    return f"{body[:-3]}-{body[-3:]}{check.luhn(body)}"


def fi_hetu(rng: Random) -> str:
    """Return a Finnish personal identity code."""
    birth = f"{rng.randint(1, 28):02d}{rng.randint(1, 12):02d}{rng.randint(25, 99):02d}"
    number = f"{rng.randint(2, 899):03d}"
    return f"{birth}-{number}{check.hetu(birth + number)}"


def de_kvnr(rng: Random) -> str:
    """Return a German health insurance number: a letter, eight digits, a check digit."""
    body = rng.choice("ABCDEFGHKLMNPRSTUVWXYZ") + _digits(rng, 8)
    return body + check.kvnr(body)


def de_idnr(rng: Random) -> str:
    """Return a German tax number of eleven digits.

    One of the first ten stands twice (section 139b AO).
    """
    characters = rng.sample("0123456789", 9)
    if characters[0] == "0":
        characters[0], characters[1] = characters[1], characters[0]
    body = "".join(characters) + rng.choice(characters[:7])
    number = body + check.idnr(body)
    return (
        f"{number[:2]} {number[2:5]} {number[5:8]} {number[8:]}" if rng.random() < 0.7 else number
    )


def de_lanr(rng: Random) -> str:
    """Return a German physician's number.

    Six digits, a check digit, a specialty (KBV, section 293 SGB V).
    """
    body = str(rng.randint(100_000, 999_999))
    return f"{body}{check.lanr(body)}{rng.randint(1, 68):02d}"


def de_iban(rng: Random) -> str:
    """Return a German IBAN of a bank code that is not given out."""
    return _iban("DE", "99999999" + _digits(rng, 10))


def at_svnr(rng: Random) -> str:
    """Return an Austrian insurance number: three digits, a check digit, the birthday."""
    birth = f"{rng.randint(1, 28):02d}{rng.randint(1, 12):02d}{rng.randint(25, 99):02d}"
    while True:
        serial = str(rng.randint(100, 999))
        if digit := check.svnr(serial + birth):
            return f"{serial}{digit} {birth}" if rng.random() < 0.7 else f"{serial}{digit}{birth}"


def ch_ahv(rng: Random) -> str:
    """Return a Swiss AHV number with the check digit of EAN-13 (AHVV, article 134bis)."""
    body = "756" + _digits(rng, 9)
    return f"756.{body[3:7]}.{body[7:11]}.{body[11]}{check.ean(body)}"


def fr_nir(rng: Random) -> str:
    """Return a French social security number with its key (decree 46-1432 of 14 June 1946)."""
    month = f"{rng.randint(1, 2)}{rng.randint(25, 99):02d}{rng.randint(1, 12):02d}"
    body = f"{month}{rng.randint(1, 95):02d}"
    body = (
        body[:5]
        + ("21" if body[5:] == "20" else body[5:])
        + f"{rng.randint(1, 699):03d}{rng.randint(1, 499):03d}"
    )
    key = check.nir(body)
    spaced = f"{body[0]} {body[1:3]} {body[3:5]} {body[5:7]} {body[7:10]} {body[10:]} {key}"
    return spaced if rng.random() < 0.6 else body + key


def fr_rpps(rng: Random) -> str:
    """Return a French professional's number, RPPS.

    Eleven digits that begin with 10, the last by Luhn (ANS).
    """
    body = "10" + _digits(rng, 8)
    return body + check.luhn(body)


def fr_iban(rng: Random) -> str:
    """Return a French IBAN of a bank that does not exist.

    Its account has the key of the RIB (CFONB).
    """
    return _iban("FR", f"99999{_digits(rng, 5)}{_digits(rng, 11)}00")


def es_iban(rng: Random) -> str:
    """Return a Spanish IBAN; its account has the control digits of the bank and of the number."""
    bank = rng.choice("123456789") + _digits(rng, 7)
    return _iban("ES", f"{bank}00{_digits(rng, 10)}")


def dk_cpr(rng: Random) -> str:
    """Return a Danish CPR number of someone born between 1940 and 1999."""
    return f"{_birth(rng)}-{rng.randint(0, 3999):04d}"


def dk_iban(rng: Random) -> str:
    """Return a Danish IBAN of a registration number that is not given out."""
    return _iban("DK", "9999" + _digits(rng, 10))


def no_fodselsnummer(rng: Random) -> str:
    """Return a Norwegian birth number of someone born between 1940 and 1999."""
    while True:
        body = f"{_birth(rng)}{rng.randint(0, 499):03d}"
        if digits := check.fodselsnummer(body):
            return f"{body[:6]} {body[6:]}{digits}" if rng.random() < 0.6 else body + digits


def no_iban(rng: Random) -> str:
    """Return a Norwegian IBAN of a bank that does not exist."""
    return _iban("NO", "9999" + _digits(rng, 7))


def pl_pesel(rng: Random) -> str:
    """Return a Polish PESEL of someone born between 1925 and 1999."""
    day = f"{rng.randint(25, 99):02d}{rng.randint(1, 12):02d}{rng.randint(1, 28):02d}"
    body = day + _digits(rng, 4)
    return body + check.pesel(body)


def pl_pwz(rng: Random) -> str:
    """Return the number of a Polish physician, its check digit in front."""
    while True:
        body = _digits(rng, 6)
        if (digit := check.pwz(body)) not in ("0", "10"):
            return digit + body


def pl_iban(rng: Random) -> str:
    """Return a Polish IBAN of a bank that does not exist."""
    return _iban("PL", "9999" + _digits(rng, 20))


def pt_nif(rng: Random) -> str:
    """Return a Portuguese tax number of a person, in groups of three or in one."""
    body = rng.choice("123") + _digits(rng, 7)
    number = body + check.nif(body)
    return f"{number[:3]} {number[3:6]} {number[6:]}" if rng.random() < 0.5 else number


def pt_iban(rng: Random) -> str:
    """Return a Portuguese IBAN of a bank that does not exist."""
    return _iban("PT", "9999" + _digits(rng, 17))


def br_cpf(rng: Random) -> str:
    """Return a Brazilian CPF."""
    body = _digits(rng, 9)
    return f"{body[:3]}.{body[3:6]}.{body[6:]}-{check.cpf(body)}"


def _birth(rng: Random) -> str:
    """Return a day as DDMMYY, from 1940 to 1999."""
    return f"{rng.randint(1, 28):02d}{rng.randint(1, 12):02d}{rng.randint(40, 99):02d}"


def _digits(rng: Random, count: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(count))


def _iban(country: str, account: str) -> str:
    """Return an IBAN in groups of four (ISO 13616).

    The account's own check digits are set right.
    """
    account = check.own_account(country, account)
    written = f"{country}{check.iban(country, account)}{account}"
    return " ".join(written[start : start + 4] for start in range(0, len(written), 4))


NATIONAL: Mapping[str, Callable[[Random], str]] = {
    "at_svnr": at_svnr,
    "ch_ahv": ch_ahv,
    "de_iban": de_iban,
    "de_idnr": de_idnr,
    "de_kvnr": de_kvnr,
    "de_lanr": de_lanr,
    "be_iban": be_iban,
    "fr_iban": fr_iban,
    "fr_nir": fr_nir,
    "fr_rpps": fr_rpps,
    "be_niss": be_niss,
    "br_cpf": br_cpf,
    "dk_cpr": dk_cpr,
    "dk_iban": dk_iban,
    "it_codice_fiscale": it_codice_fiscale,
    "it_iban": it_iban,
    "nl_bsn": nl_bsn,
    "nl_iban": nl_iban,
    "no_fodselsnummer": no_fodselsnummer,
    "no_iban": no_iban,
    "pl_iban": pl_iban,
    "pl_pesel": pl_pesel,
    "pl_pwz": pl_pwz,
    "pt_iban": pt_iban,
    "pt_nif": pt_nif,
    "fi_hetu": fi_hetu,
    "iban_es": es_iban,
    "se_bankgiro": se_bankgiro,
    "se_personnummer": se_personnummer,
    "se_personnummer_short": se_personnummer_short,
}
"""Generators a grammar may call as ``{valid NAME}``.

Names begin with the country, ``it_codice_fiscale``.
"""
