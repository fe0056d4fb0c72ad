"""The parts of Safe Harbor that look at the value.

Years, postal areas and states. 45 CFR 164.514(b)(2)(i).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_assets.policies.date_reading import read
from deid_assets.policies.drawing import fold, split_words
from deid_assets.policies.fallbacks import fall_back

LOW_POPULATION_2000 = frozenset(
    split_words("036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893")
)
"""Three-digit areas of 20,000 people or fewer, 2000 Census, as listed in HHS (2012), Guidance on
De-identification.
"""

LOW_POPULATION_2020 = frozenset(
    split_words("036 059 102 202 203 204 205 369 556 692 753 772 821 823 878 879 884 893")
)
"""The same summed from the 2020 Census' ZIP code tabulation areas.

202 to 205 are government offices.
"""


def _areas(ranges: str) -> frozenset[str]:
    """Return the areas of ranges: "000-002 008" is 000, 001, 002 and 008."""
    areas: set[str] = set()
    for part in split_words(ranges):
        first, _, last = part.partition("-")
        areas.update(f"{area:03}" for area in range(int(first), int(last or first) + 1))
    return frozenset(areas)


NO_RESIDENTS_2020 = _areas(
    "000-005 008 055 090-099 192 213 269 311 332 340 343 345 348 353 375 399 419 428-429"
    " 459 509 517-519 529 533 536 552 555 568-569 578-579 589 621 632 642-643 649 659 663"
    " 682 694-699 702 709 715 732-733 742 771 817-819 839 842 848-849 854 858 861-862"
    " 866-869 872 876 885-889 892 896 899 901 909 929 938 942 962-966 969 987"
)
"""Three-digit areas without a tabulation area in the 2020 Census.

Offices, post boxes, the military, or not in use.
"""

_LOW_POPULATION = LOW_POPULATION_2000 | LOW_POPULATION_2020 | NO_RESIDENTS_2020
_ZIP = re.compile(r"\s*([0-9]{3})[0-9]{2}(?:[-\s]?[0-9]{4})?\s*")
_FOUR_DIGITS = re.compile(r"(?<![0-9])[12][0-9]{3}(?![0-9])")
_STATES = frozenset(
    split_words(
        "alabama,alaska,arizona,arkansas,california,colorado,connecticut,delaware,"
        "district of columbia,florida,georgia,hawaii,idaho,illinois,indiana,iowa,kansas,kentucky,"
        "louisiana,maine,maryland,massachusetts,michigan,minnesota,mississippi,missouri,montana,"
        "nebraska,nevada,new hampshire,new jersey,new mexico,new york,north carolina,north dakota,"
        "ohio,oklahoma,oregon,pennsylvania,puerto rico,rhode island,south carolina,south dakota,"
        "tennessee,texas,utah,vermont,virginia,washington,west virginia,wisconsin,wyoming",
        ",",
    )
)
_STATE_CODES = frozenset(
    split_words(
        "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH"
        " NJ NM NY NC ND OH OK OR PA PR RI SC SD TN TX UT VT VA WA WV WI WY"
    )
)


def _oldest_year() -> int:
    return datetime.now(tz=UTC).year - 89


@dataclass(frozen=True, slots=True)
class YearOnly:
    """The year of a date, or the tag where no single year can be read.

    A year in which someone over 89 may have been born gets the tag, whether or not the date is a
    birth. Two digits stand for the last such year that is not ahead.

    Args:
        oldest_year: First year that is written out; without it, 89 years before the policy is
            loaded.
    """

    oldest_year: int = field(default_factory=_oldest_year)
    may_keep: ClassVar[bool] = True

    def __call__(self, text: str, span: Span, context: Context) -> str:
        year = self.year_of(text, context.note.lang)
        if year is None or year < self.oldest_year:
            return fall_back(text, span, context)
        return str(year)

    def year_of(self, text: str, lang: str | None) -> int | None:
        """Return the one year that a date of a language has, or ``None``."""
        # Four digits are a year only if they are the only ones: 1200 may be a time of day, and a
        # range has two.
        four_digits = set(_FOUR_DIGITS.findall(text))
        if len(four_digits) == 1:
            return int(four_digits.pop())
        written = read(text, lang) if not four_digits else None
        if written is None or written.year is None:
            return None
        is_ahead = written.year > self.oldest_year + 89
        return written.year - 100 if written.is_short_year and is_ahead else written.year


@dataclass(frozen=True, slots=True)
class Zip3:
    """The first three digits of a US code, ``021XX``.

    ``000XX`` for areas with 20,000 people or fewer.

    Only notes in English are taken to hold US codes; other codes get the tag.
    """

    def __call__(self, text: str, span: Span, context: Context) -> str:
        area = zip_area(text)
        if area is None or context.note.lang != "en":
            return fall_back(text, span, context)
        return area


def zip_area(text: str) -> str | None:
    """Return what ``Zip3`` writes for a US code, ``None`` where the text is none."""
    found = _ZIP.fullmatch(text)
    if found is None:
        return None
    return "000XX" if found[1] in _LOW_POPULATION else f"{found[1]}XX"


@dataclass(frozen=True, slots=True)
class UsState:
    """Keeps a state of the US, the District of Columbia or Puerto Rico, by name or code.

    Tags any other region.
    """

    may_keep: ClassVar[bool] = True

    def __call__(self, text: str, span: Span, context: Context) -> str:
        return text if _is_state(text) else fall_back(text, span, context)


def state_of(place: str) -> str | None:
    """Return the state with which a place ends, as in ``Boston, MA``, or ``None``."""
    before, comma, last = place.rpartition(",")
    state = last.strip()
    return state if comma and before.strip() and _is_state(state) else None


def _is_state(text: str) -> bool:
    return fold(text) in _STATES or text.strip(" .") in _STATE_CODES
