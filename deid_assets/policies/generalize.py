"""Replacers that write something coarser than the value, which stays true: age bands, months, regions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, Replacer
from deid_assets.core.span import Span
from deid_assets.policies.ages import POOLED, Age90
from deid_assets.policies.date_reading import read
from deid_assets.policies.drawing import fold, listed
from deid_assets.policies.safe_harbor import UsState, YearOnly, Zip3
from deid_assets.policies.tags import Tag, unlike

AGE_WIDTH = 10
_OLDEST_SHOWN = 89
_AGE_NUMBER = re.compile(r"([0-9]+)(?:[.,][0-9]+)?[\s'\u2019-]*([a-z]*)")
_SPACED = re.compile(r"[0-9]\s+[0-9]")  # "4 5" may be 45, dictated
_PER_YEAR = {
    unit: count
    for count, units in (
        (365, "d day days dia dias tag tage tagen jour jours"),
        (52, "w wk wks week weeks semana semanas woche wochen semaine semaines"),
        (12, "mo mos mth mths month months mes meses monat monate monaten mois"),
        (8760, "h hour hours hora horas"),
    )
    for unit in listed(units)
}


@dataclass(frozen=True, slots=True)
class AgeBand:
    """``40-49``: the band of an age; ``90+`` for a higher one, and the tag where no single band can be read.

    Ages of infants in days, weeks and months fall into a band of years. Ages spelled in words get the tag.

    Args:
        width: Years in a band, 2 to 45; bands begin at multiples of it, and the last ends with 89.
    """

    width: int = AGE_WIDTH
    may_keep: ClassVar[bool] = True

    def __call__(self, text: str, span: Span, context: Context) -> str:
        understood = Age90()(text, span, context)
        if understood == POOLED:
            return POOLED
        is_clear = understood == text and not _SPACED.search(text)
        found = _AGE_NUMBER.findall(fold(text)) if is_clear else []
        firsts = {age // self.width * self.width for number, unit in found for age in _years(int(number), unit)}
        if len(firsts) != 1:
            return Tag()(text, span, context)
        first = firsts.pop()
        return f"{first}-{min(first + self.width - 1, _OLDEST_SHOWN)}"


def _years(number: int, unit: str) -> tuple[int, ...]:
    if unit == "s":  # "his 70s": every age of the decade
        return (number, number + 9)
    return (number // _PER_YEAR.get(unit, 1),)


@dataclass(frozen=True, slots=True)
class YearMonth:
    """``2021-05``: the month of a date; its year where there is no month; else as ``YearOnly`` does.

    Args:
        year: Decides which years are written out.
    """

    year: YearOnly = field(default_factory=YearOnly)
    may_keep: ClassVar[bool] = True

    def __call__(self, text: str, span: Span, context: Context) -> str:
        year = self.year(text, span, context)
        written = read(text, context.note.lang)
        if not year.isdigit() or written is None or written.month is None:
            return year
        return f"{year}-{written.month:02}"


@dataclass(frozen=True, slots=True)
class Region:
    """``[REGION]`` for a place; the state itself where the text ends with one, as ``Boston, MA`` does."""

    def __call__(self, text: str, span: Span, context: Context) -> str:
        before, comma, last = text.rpartition(",")
        last = last.strip()
        if comma and before.strip() and UsState()(last, span, context) == last:
            return last
        return unlike(text, f"[{Phi.REGION}]")


def by_category(
    *, age_width: int = AGE_WIDTH, date: Literal["year", "month"] = "year", oldest_year: int | None = None
) -> dict[Phi, Replacer]:
    """Return the generalising replacer of each category that has one; the others have nothing coarser than the tag.

    Args:
        age_width: Years in an age band.
        date: What stays of a date.
        oldest_year: First year that is written out, as for ``YearOnly``.
    """
    year = YearOnly() if oldest_year is None else YearOnly(oldest_year)
    return {
        Phi.AGE: AgeBand(age_width),
        Phi.DATE: year if date == "year" else YearMonth(year),
        Phi.ZIP: Zip3(),
        Phi.CITY: Region(),
        Phi.STREET: Region(),
        Phi.HOSPITAL: Region(),
    }
