"""What the library of national number plans says about a candidate telephone number.

====  ===================================  ==========================
Lang  Text                                 Why
====  ===================================  ==========================
en    Call <PHONE>(617) 726-2000</PHONE>.  a number that the plan has
en    <PHONE>617-726-2000 x123</PHONE>     with an extension
en    <PHONE>0046 8 123 456 78</PHONE>     of another country
fr    <PHONE>01 42 34 56 78</PHONE>        as dialled in France
fr    scores 10 20 30 40 50                kept: no plan has it
====  ===================================  ==========================
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from functools import lru_cache

CACHED_NUMBERS = 4096
_EXTENSION = re.compile(r"[\s,;]*(?:x|ext\.?|extension)[\s.:#]*\d+\Z", re.IGNORECASE)


class Phone(IntEnum):
    """Degree to which a numbering plan confirms a candidate."""

    IMPOSSIBLE = 0
    POSSIBLE = 1
    VALID = 2


Confirm = Callable[[str], Phone]


def phone_in(*regions: str) -> Confirm:
    """Return the judge of a number as dialled in any of the regions.

    Args:
        regions: ISO 3166 codes whose plans are tried in turn; none where the number must begin with
            ``+`` or ``00``.
    """

    @lru_cache(maxsize=CACHED_NUMBERS)
    def judge(text: str) -> Phone:
        dialled = _EXTENSION.sub("", " ".join(text.split()))
        if dialled.startswith("00"):
            dialled = "+" + dialled[2:]
        best = Phone.IMPOSSIBLE
        for region in regions or (None,):
            if (best := max(best, _judge(dialled, region))) is Phone.VALID:
                break
        return best

    return judge


def _judge(text: str, region: str | None) -> Phone:
    import phonenumbers  # noqa: PLC0415 - the number plans load when a number is first met

    try:
        number = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return Phone.IMPOSSIBLE
    if phonenumbers.is_valid_number(number):
        return Phone.VALID
    return Phone.POSSIBLE if phonenumbers.is_possible_number(number) else Phone.IMPOSSIBLE
