"""Checks of national and health identifiers that python-stdnum does not have; each names its source.

What python-stdnum has is named in a pattern directly, ``check = "stdnum:nl.bsn"``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping


def _cross_sum(value: int) -> int:
    return sum(map(int, str(value)))


def _de_kvnr(text: str) -> bool:
    """Krankenversichertennummer: a letter as two digits, weights 1 and 2, cross sums, modulo 10.

    GKV-Spitzenverband, Richtlinie zur Krankenversichertennummer after section 290 SGB V.
    """
    number = text.replace(" ", "").upper()
    if len(number) != 10 or not ("A" <= number[0] <= "Z" and number[1:].isdecimal()):
        return False
    digits = f"{ord(number[0]) - 64:02d}{number[1:9]}"
    return sum(_cross_sum(int(digit) * (1 + at % 2)) for at, digit in enumerate(digits)) % 10 == int(number[9])


_RVNR_WEIGHTS = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)


def _de_rvnr(text: str) -> bool:
    """Versicherungsnummer of the pension insurance: weights of section 4 VKVV, cross sums, modulo 10."""
    number = text.replace(" ", "").upper()
    if len(number) != 12 or not ("A" <= number[8] <= "Z" and (number[:8] + number[9:]).isdecimal()):
        return False
    digits = f"{number[:8]}{ord(number[8]) - 64:02d}{number[9:11]}"
    total = sum(_cross_sum(int(digit) * weight) for digit, weight in zip(digits, _RVNR_WEIGHTS, strict=True))
    return total % 10 == int(number[11])


def _se_personnummer(text: str) -> bool:
    """Personnummer or samordningsnummer: a date, in the latter with 60 added to the day, and Luhn over ten digits.

    Folkbokföringslag (1991:481), section 18; lag (2022:1697) om samordningsnummer.
    """
    from stdnum import luhn  # noqa: PLC0415

    digits = "".join(character for character in text if character.isdigit())
    if len(digits) not in (10, 12):
        return False
    month, day = int(digits[-8:-6]), int(digits[-6:-4])
    return 1 <= month <= 12 and (1 <= day <= 31 or 61 <= day <= 91) and bool(luhn.is_valid(digits[-10:]))


NATIONAL_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "de_kvnr": _de_kvnr,
    "de_rvnr": _de_rvnr,
    "se_personnummer": _se_personnummer,
}
"""Checks by the name a pattern uses; names begin with the country, ``de_kvnr``."""
