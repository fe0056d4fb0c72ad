"""Replacers that write something coarser than the value, which stays true.

Age bands, months, regions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, Replacer
from deid_assets.core.span import Span
from deid_assets.policies.ages import OVER_89, POOLED, ages_of, is_dictated
from deid_assets.policies.date_reading import read
from deid_assets.policies.fallbacks import fall_back
from deid_assets.policies.safe_harbor import YearOnly, Zip3, state_of
from deid_assets.policies.tags import unlike
from deid_assets.policies.time_words import LANGUAGES

AGE_WIDTH = 10
_OLDEST_SHOWN = 89


@dataclass(frozen=True, slots=True)
class AgeBand:
    """``40-49``: the band of an age.

    ``90+`` for a higher one, and the tag where no single band can be read.

    Ages of infants in days, weeks and months fall into a band of years. Numbers are read in digits
    and, in the eight languages, in words.

    Args:
        width: Years in a band, 2 to 45; bands begin at multiples of it, and the last ends with 89.
    """

    width: int = AGE_WIDTH
    may_keep: ClassVar[bool] = True

    def __call__(self, text: str, span: Span, context: Context) -> str:
        lang = context.note.lang
        ages = ages_of(text, lang) or ()
        if OVER_89 in ages:
            return POOLED
        firsts = {year // self.width * self.width for age in ages for year in (age.first, age.last)}
        if len(firsts) != 1 or is_dictated(text, lang):
            return fall_back(text, span, context)
        first = firsts.pop()
        return f"{first}-{min(first + self.width - 1, _OLDEST_SHOWN)}"


@dataclass(frozen=True, slots=True)
class YearMonth:
    """``2021-05``: the month of a date.

    Its year where there is no month; else as ``YearOnly`` does.

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
        return _month(int(year), written.month)


def months_of(text: str) -> frozenset[str]:
    """Return the months that a date may lie in, as ``YearMonth`` writes them.

    Two where 05/03 is read as May and as March.
    """
    readings = [read(text, lang) for lang in (None, *LANGUAGES)]
    return frozenset(
        _month(one.year, one.month) for one in readings if one and one.year and one.month
    )


def years_of(text: str) -> frozenset[str]:
    """Return the years that a date may lie in, as ``YearOnly`` writes them, two digits read too."""
    reader = YearOnly()
    years = (reader.year_of(text, lang) for lang in (None, *LANGUAGES))
    return frozenset(str(year) for year in years if year is not None)


def is_month(text: str) -> bool:
    """Whether a text names a month and its year, and no day."""
    readings = [one for lang in (None, *LANGUAGES) if (one := read(text, lang)) is not None]
    return any(one.year and one.month and one.day is None for one in readings)


def _month(year: int, month: int) -> str:
    return f"{year}-{month:02}"


@dataclass(frozen=True, slots=True)
class Region:
    """``[REGION]`` for a place.

    The state itself where the text ends with one, as ``Boston, MA`` does.
    """

    def __call__(self, text: str, span: Span, context: Context) -> str:  # noqa: ARG002
        return state_of(text) or unlike(text, f"[{Phi.REGION}]")


def by_category(
    *,
    age_width: int = AGE_WIDTH,
    date: Literal["year", "month"] = "year",
    oldest_year: int | None = None,
) -> dict[Phi, Replacer]:
    """Return the generalising replacer of each category that has one.

    The others have nothing coarser than the tag.

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
