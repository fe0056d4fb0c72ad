"""Identifiers with the check digits their issuers define, and identifiers from plain patterns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from deid_assets.synthesis.national_ids import NATIONAL

DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
"""Control letters of the Spanish DNI and NIE, indexed by the number modulo 23 (Real Decreto 1553/2005)."""

VIN_VALUES = dict(zip("0123456789ABCDEFGHJKLMNPRSTUVWXYZ", "012345678912345678123457923456789", strict=True))
"""Transliteration of vehicle identification numbers (49 CFR 565.15, table III)."""

VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
"""Weight per position of a vehicle identification number (49 CFR 565.15, table IV)."""

LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"
NPI_LUHN_OFFSET = 24
"""Contribution of the prefix 80840 to the Luhn sum of an NPI (45 CFR 162.406)."""


def filled(pattern: str, rng: Random) -> str:
    """Return the pattern with ``#`` replaced by digits, ``^`` by non-zero digits and ``@`` by capital letters."""
    choices = {"#": "0123456789", "^": "123456789", "@": LETTERS}
    return "".join(rng.choice(choices[sign]) if sign in choices else sign for sign in pattern)


def luhn_digit(digits: str, *, offset: int = 0) -> str:
    """Return the check digit to be appended (ISO/IEC 7812-1, annex B)."""
    doubled = (int(digit) * 2 for digit in digits[::-2])
    total = offset + sum(value - 9 if value > 9 else value for value in doubled) + sum(map(int, digits[-2::-2]))
    return str(-total % 10)


def ssn(rng: Random) -> str:
    """Return a US social security number in an issuable range: no 000, 666 or 9xx area, no zero group."""
    area = rng.choice([n for n in (rng.randint(1, 665), rng.randint(667, 899)) if n])
    return f"{area:03d}-{rng.randint(1, 99):02d}-{rng.randint(1, 9999):04d}"


def npi(rng: Random) -> str:
    """Return a ten-digit US National Provider Identifier."""
    body = filled("1########", rng)
    return body + luhn_digit(body, offset=NPI_LUHN_OFFSET)


def dea(rng: Random) -> str:
    """Return a US DEA registration number: two letters, six digits and a check digit (21 CFR 1301)."""
    body = filled("######", rng)
    total = sum(map(int, body[::2])) + 2 * sum(map(int, body[1::2]))
    return rng.choice("ABFM") + rng.choice(LETTERS) + body + str(total % 10)


def nhs_number(rng: Random) -> str:
    """Return a UK NHS number, spaced 3-3-4; modulus 11 with weights 10 to 2."""
    while True:
        body = filled("^########", rng)
        check = -sum(int(digit) * weight for digit, weight in zip(body, range(10, 1, -1), strict=True)) % 11
        if check < 10:
            return f"{body[:3]} {body[3:6]} {body[6:]}{check}"


def vin(rng: Random) -> str:
    """Return a vehicle identification number with its check digit in position 9."""
    body = filled("^@@@@####@@@#####", rng)
    digits = (int(VIN_VALUES[sign]) * weight for sign, weight in zip(body, VIN_WEIGHTS, strict=True))
    check = "0123456789X"[sum(digits) % 11]
    return body[:8] + check + body[9:]


def dni(rng: Random) -> str:
    """Return a Spanish DNI: eight digits and a control letter."""
    number = rng.randint(1_000_000, 79_999_999)
    return f"{number:08d}{DNI_LETTERS[number % 23]}"


def nie(rng: Random) -> str:
    """Return a Spanish NIE: X, Y or Z, seven digits and a control letter."""
    prefix, number = rng.choice((0, 1)), rng.randint(0, 9_999_999)
    return f"{'XY'[prefix]}{number:07d}{DNI_LETTERS[(prefix * 10_000_000 + number) % 23]}"


def nass(rng: Random) -> str:
    """Return a Spanish social security number, spaced 2-8-2; the last two digits are the rest modulo 97."""
    province, number = rng.randint(1, 52), rng.randint(10_000_000, 99_999_999)
    return f"{province:02d} {number:08d} {(province * 100_000_000 + number) % 97:02d}"


def iban_es(rng: Random) -> str:
    """Return a Spanish IBAN in groups of four (ISO 13616; account control digits of the bank code)."""
    weights = (1, 2, 4, 8, 5, 10, 9, 7, 3, 6)

    def control(digits: str) -> str:
        rest = 11 - sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True)) % 11
        return str({11: 0, 10: 1}.get(rest, rest))

    bank, account = filled("^#######", rng), filled("##########", rng)
    body = bank + control("00" + bank) + control(account) + account
    check = 98 - int(body + "142800") % 97
    iban = f"ES{check:02d}{body}"
    return " ".join(iban[start : start + 4] for start in range(0, len(iban), 4))


VALID: Mapping[str, Callable[[Random], str]] = {
    **NATIONAL,
    "ssn": ssn,
    "npi": npi,
    "dea": dea,
    "nhs": nhs_number,
    "vin": vin,
    "dni": dni,
    "nie": nie,
    "nass": nass,
    "iban_es": iban_es,
}
"""Generators a grammar may call as ``{valid NAME}``."""
