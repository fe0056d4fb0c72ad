"""Checks of a match by number: check digits, calendars and number plans.

Anything a check raises is an error.

====  ========================================  =======================================
Lang  Text                                      Why
====  ========================================  =======================================
en    <ACCOUNT>4111-1111-1111-1111</ACCOUNT>    a card, by its check digit
en    <ID>4111-1111-1111-1112</ID>              a number, but no card
en    <VEHICLE>1HGCM82633A004352</VEHICLE>      a vehicle, by its check digit
en    1HGCM82633A004353                         kept: no vehicle, and no label says one
en    VIN <VEHICLE>1HGCM82633A004353</VEHICLE>  a label counts for more than the check
en    <IP>10.20.30.40</IP>                      an address of the Internet
en    300.168.1.10                              kept: a part is over 255
en    Grades 3 4 5 4 3                          kept: spaced digits, none over 5
====  ========================================  =======================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deid_rules.national_checks import NATIONAL_CHECKS

Check = Callable[[str], bool]


def _stdnum(module: str) -> Check:
    def check(text: str) -> bool:
        from importlib import (  # noqa: PLC0415 - each number's module loads when first met
            import_module,
        )

        return bool(import_module(f"stdnum.{module}").is_valid(text))

    return check


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _high_digits(text: str) -> bool:
    """Spaced digits that are no row of grades from 0 to 5."""
    return any(digit in text for digit in "6789")


def _three_digits(text: str) -> bool:
    """A number that may identify: three digits or more."""
    return len(_digits(text)) >= 3


def _card(text: str) -> bool:
    from stdnum import luhn  # noqa: PLC0415

    digits = _digits(text)
    return 12 <= len(digits) <= 19 and len(set(digits)) > 1 and bool(luhn.is_valid(digits))


def _ipv4(text: str) -> bool:
    return all(int(part) <= 255 for part in text.split("."))


def _ip(text: str) -> bool:
    from ipaddress import ip_address  # noqa: PLC0415

    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _phone(text: str) -> bool:
    """Digits of a telephone number with its extension.

    7 to 17, not all the same (ITU-T E.164 allows 15 without).
    """
    digits = _digits(text)
    return 7 <= len(digits) <= 17 and len(set(digits)) > 1


def _vin(text: str) -> bool:
    from deid_assets.extending.numbers import check_digits  # noqa: PLC0415

    return bool(check_digits.is_vin(text.upper()))


def _npi(text: str) -> bool:
    """National Provider Identifier: ten digits, the first 1 or 2."""
    from deid_assets.extending.numbers import check_digits  # noqa: PLC0415

    digits = _digits(text)
    return len(digits) == 10 and digits[0] in "12" and check_digits.npi(digits[:9]) == digits[9]


_WARD = """
    AM CBC CCU CNA CPR CT CXR DO DOB ECG ECHO ED EEG EGD EKG EMG EMS ENT ER ERCP FNP GI GU GYN HPI
    HR ICU IM IR IV LPN LVN MA MD MRA MRI MRN NG NICU NP NPO OB OR OT PA PACU PCP PCR PE PET PICU
    PM PO PT RN RRT RT SLP SNF SW TEE TIA TTE UA US USA UK VA VNA VNS VS XR
"""
_NO_INITIALS = frozenset(_WARD.split())
"""Abbreviations of a ward that stand where initials of people do."""


def _initials(text: str) -> bool:
    """Capitals that may be someone's initials: with points, or no abbreviation of every day."""
    return "." in text or text not in _NO_INITIALS


def _slash_range(text: str) -> bool:
    """Days such as ``7/3-7/5``, where ``4/5-5/5`` are grades: the second numbers differ."""
    return (
        len(
            {part.split("/")[1] for part in text.replace("\u2013", "-").replace(" ", "").split("-")}
        )
        > 1
    )


def _slash_day(text: str) -> bool:
    """A day and a month, where a fraction of 5, 6 or 10 is a grade."""
    first, second = (int(part) for part in text.split("/"))
    return second not in (5, 6, 10) or first > second


def _dea(text: str) -> bool:
    """DEA registration: two letters and seven digits, the last one the check digit."""
    from deid_assets.extending.numbers import check_digits  # noqa: PLC0415

    digits = _digits(text)
    return len(digits) == 7 and check_digits.dea(f"AA{digits[:6]}") == digits[6]


CHECKS: Mapping[str, Check] = {
    **NATIONAL_CHECKS,
    "card": _card,
    "dea": _dea,
    "digits": _three_digits,
    "high_digits": _high_digits,
    "iban": _stdnum("iban"),
    "initials": _initials,
    "ip": _ip,
    "ipv4": _ipv4,
    "nhs": _stdnum("gb.nhs"),
    "npi": _npi,
    "phone": _phone,
    "slash_day": _slash_day,
    "slash_range": _slash_range,
    "ssn": _stdnum("us.ssn"),
    "vin": _vin,
}
"""Checks by the name a pattern uses.

``stdnum:MODULE`` names any other module of python-stdnum, ``stdnum:es.dni``.
"""


def check_named(name: str) -> Check:
    """Return a check by the name a pattern gives.

    Raises:
        KeyError: There is no such check.
    """
    if name.startswith("stdnum:"):
        return _stdnum(name.removeprefix("stdnum:"))
    return CHECKS[name]
