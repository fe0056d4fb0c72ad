"""Identifiers with the check digits their issuers define, and identifiers from plain patterns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from deid_assets.extending.numbers import check_digits as check
from deid_synthesis.national_ids import NATIONAL

LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"


def fill_pattern(pattern: str, rng: Random) -> str:
    """Return the pattern with ``#`` replaced by digits, ``^`` by non-zero digits and ``@`` by
    capital letters.
    """
    choices = {"#": "0123456789", "^": "123456789", "@": LETTERS}
    return "".join(
        rng.choice(choices[character]) if character in choices else character
        for character in pattern
    )


def ssn(rng: Random) -> str:
    """Return a US social security number in an issuable range.

    No 000, 666 or 9xx area, no zero group.
    """
    area = rng.choice([n for n in (rng.randint(1, 665), rng.randint(667, 899)) if n])
    return f"{area:03d}-{rng.randint(1, 99):02d}-{rng.randint(1, 9999):04d}"


def npi(rng: Random) -> str:
    """Return a ten-digit US National Provider Identifier."""
    body = fill_pattern("1########", rng)
    return body + check.npi(body)


def dea(rng: Random) -> str:
    """Return a US DEA registration number.

    Two letters, six digits and a check digit (21 CFR 1301).
    """
    digits = fill_pattern("######", rng)
    body = rng.choice("ABFM") + rng.choice(LETTERS) + digits
    return body + check.dea(body)


def nhs_number(rng: Random) -> str:
    """Return a UK NHS number, spaced 3-3-4."""
    while True:
        body = fill_pattern("^########", rng)
        if digit := check.nhs(body):
            return f"{body[:3]} {body[3:6]} {body[6:]}{digit}"


def vin(rng: Random) -> str:
    """Return a vehicle identification number with its check digit in position 9."""
    body = fill_pattern("^@@@@####@@@#####", rng)
    return body[:8] + check.vin(body) + body[9:]


def dni(rng: Random) -> str:
    """Return a Spanish DNI: eight digits and a control letter."""
    body = f"{rng.randint(1_000_000, 79_999_999):08d}"
    return body + check.dni(body)


def nie(rng: Random) -> str:
    """Return a Spanish NIE: X or Y, seven digits and a control letter."""
    body = f"{rng.choice('XY')}{rng.randint(0, 9_999_999):07d}"
    return body + check.dni(body)


def nass(rng: Random) -> str:
    """Return a Spanish social security number, spaced 2-8-2."""
    province, number = f"{rng.randint(1, 52):02d}", f"{rng.randint(10_000_000, 99_999_999):08d}"
    return f"{province} {number} {check.nass(province + number)}"


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
}
"""Generators a grammar may call as ``{valid NAME}``."""
