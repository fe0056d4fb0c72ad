"""Checks of national and health identifiers that python-stdnum does not have.

What python-stdnum has is named in a pattern directly, ``check = "stdnum:nl.bsn"``. Check digits
load when first met.

====  =======================================  ===============================
Lang  Text                                     Why
====  =======================================  ===============================
de    <HEALTH_PLAN>A123456780</HEALTH_PLAN>    a health insurance number
de    <ID>A123456781</ID>                      a wrong check digit: any number
de    <NATIONAL_ID>65170839J003</NATIONAL_ID>  a pension insurance number
sv    <NATIONAL_ID>811218-9876</NATIONAL_ID>   a personnummer
sv    <MRN>811318-9876</MRN>                   month 13: any record number
====  =======================================  ===============================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping


def _de_kvnr(text: str) -> bool:
    """Krankenversichertennummer: a letter and nine digits, the last the check digit."""
    from deid_assets.extending.numbers import check_digits  # noqa: PLC0415

    number = text.replace(" ", "").upper()
    if len(number) != 10 or not ("A" <= number[0] <= "Z" and number[1:].isdecimal()):
        return False
    return check_digits.kvnr(number[:9]) == number[9]


def _de_rvnr(text: str) -> bool:
    """Versicherungsnummer of the pension insurance.

    A letter in the ninth place, the last digit the check digit.
    """
    from deid_assets.extending.numbers import check_digits  # noqa: PLC0415

    number = text.replace(" ", "").upper()
    if len(number) != 12 or not ("A" <= number[8] <= "Z" and (number[:8] + number[9:]).isdecimal()):
        return False
    return check_digits.rvnr(number[:11]) == number[11]


def _se_personnummer(text: str) -> bool:
    """Personnummer or samordningsnummer.

    A date, in the latter with 60 added to the day, and Luhn over ten digits.

    Folkbokföringslag (1991:481), section 18; lag (2022:1697) om samordningsnummer.
    """
    from stdnum import luhn  # noqa: PLC0415

    digits = "".join(character for character in text if character.isdigit())
    if len(digits) not in (10, 12):
        return False
    month, day = int(digits[-8:-6]), int(digits[-6:-4])
    return (
        1 <= month <= 12
        and (1 <= day <= 31 or 61 <= day <= 91)
        and bool(luhn.is_valid(digits[-10:]))
    )


NATIONAL_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "de_kvnr": _de_kvnr,
    "de_rvnr": _de_rvnr,
    "se_personnummer": _se_personnummer,
}
"""Checks by the name a pattern uses; names begin with the country, ``de_kvnr``."""
