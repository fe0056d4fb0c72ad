"""Read the dates people write in notes.

Whole and partial, with weekdays and times, one or a range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

from deid_assets.policies.date_shapes import (
    DatePart,
    ShapeReading,
    likely_candidates,
    other_candidates,
    shape_of,
)

_PIVOT = 68  # POSIX strptime: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068
_COMMON_YEAR, _LEAP_YEAR = 2001, 2000
_LAST_YEAR = 2999
_FIRST_COMPACT, _LAST_COMPACT = 1850, 2150
_MONTH_DAYS = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MAX_CHARS = 80
_CACHED = 32_768


@dataclass(slots=True, repr=False)
class WrittenDate:
    """A date as it was written: its parts, and what it is written back with.

    Args:
        year: Four digits, or ``None`` where the text has no year.
        month: 1 to 12, or ``None``.
        day: 1 to 31, or ``None``.
        quarter: 1 to 4, or ``None``.
        part: Its weekday, its season, and the pieces it is written with.
    """

    year: int | None
    month: int | None
    day: int | None
    quarter: int | None
    part: DatePart

    @property
    def is_short_year(self) -> bool:
        """Whether the year has two digits."""
        return self.part.is_short_year

    def unit(self) -> str:
        """Return what the date leaves open within: "month", "season", "quarter" or "year"."""
        if self.month is not None:
            return "month"
        if self.part.season is not None:
            return "season"
        return "year" if self.quarter is None else "quarter"

    def middle(self) -> date:
        """Return the date, or the middle of the month, season, quarter or year.

        A year that is not given counts as 2001, or 2000 for 29 February.

        Raises:
            ValueError: There is no such day, or the text names a weekday or a day of the month
                alone.
        """
        year = self.year or (_LEAP_YEAR if (self.month, self.day) == (2, 29) else _COMMON_YEAR)
        if self.month is not None:
            return date(year, self.month, self.day or 15)
        if self.part.season is not None:
            return date(year, 1 + 3 * self.part.season, 15)
        if self.quarter is not None:
            return date(year, 3 * self.quarter - 1, 15)
        if self.year is None:
            raise ValueError("neither year, month nor season is given")
        return date(year, 7, 1)


@dataclass(slots=True, repr=False)
class DateReading:
    """One date or two of a text.

    Args:
        first: The date, or the first of a range.
        second: The second, or ``None``.
        place: Where they stand, and what stands between two.
        ordinal: Proleptic ordinal of a single date with a year, of its middle if it is partial; 0
            for all else.
        unit: What a single date with a year is the middle of, "month", "season", "quarter" or
            "year"; else empty.
        year_day: Day of a common year, from 0, of a single date without a year, and -1 for all
            else.
    """

    first: WrittenDate
    second: WrittenDate | None
    place: ShapeReading
    ordinal: int = 0
    year_day: int = -1
    unit: str = ""


def read(text: str, lang: str | None) -> WrittenDate | None:
    """Return the parts of one date that fills the whole text, or ``None`` if it is not one
    we know.
    """
    found = reading(text, lang)
    return None if found is None or found.second is not None else found.first


@lru_cache(maxsize=_CACHED)
def reading(text: str, lang: str | None) -> DateReading | None:
    """Return the date or the two dates that fill the text, or ``None`` if they are none we know.

    A time of day may stand before or after. The latest readings are kept in memory, with their
    texts.
    """
    if len(text) > _MAX_CHARS:
        return None
    shape = shape_of(text)
    return _read(text, likely_candidates(shape, lang)) or _read(text, other_candidates(shape, lang))


def _read(text: str, candidates: Iterable[ShapeReading]) -> DateReading | None:
    """Return the first candidate that is a date with the text's numbers."""
    for candidate in candidates:
        first = _fill(candidate.first, text)
        if first is None:
            continue
        if candidate.second is None:
            if _is_date(first) or _is_part(first):
                return _single(first, candidate)
            continue
        second = _fill(candidate.second, text)
        for both in _complete(first, second, candidate.short) if second is not None else ():
            return DateReading(*both, candidate)
    return None


def _single(written: WrittenDate, place: ShapeReading) -> DateReading:
    found = DateReading(written, None, place)
    if written.year is not None:
        found.ordinal = written.middle().toordinal()
        found.unit = "" if written.day is not None else written.unit()
    elif written.month is not None and written.day is not None:
        day = 28 if (written.month, written.day) == (2, 29) else written.day
        found.year_day = date(_COMMON_YEAR, written.month, day).timetuple().tm_yday - 1
    return found


def full_year(digits: str) -> int:
    """Return the year that two or four digits stand for; two follow POSIX."""
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (2000 if year <= _PIVOT else 1900)


def _fill(part: DatePart, text: str) -> WrittenDate | None:
    """Return the date with the numbers of the text, which may be no day.

    ``None`` for no likely year.
    """
    year = quarter = None
    month, day = part.month, part.day
    for name, start, end in part.spots:
        digits = text[start:end]
        if name == "y":
            year = full_year(digits)
        elif name == "m":
            month = int(digits)
        elif name == "d":
            day = int(digits)
        else:
            quarter = int(digits)
    if year is not None and year > _LAST_YEAR:
        return None
    if part.is_compact and year is not None and not _FIRST_COMPACT <= year <= _LAST_COMPACT:
        return None
    return WrittenDate(year, month, day, quarter, part)


def _complete(
    first: WrittenDate, second: WrittenDate, short: str
) -> Iterator[tuple[WrittenDate, WrittenDate]]:
    """Return both dates with the month and the year that one leaves to the other, if they fit."""
    if short == "first":
        if second.month is None or second.day is None:
            return
        first = replace(first, month=second.month, year=second.year)
    elif short == "second":
        first = replace(first, year=first.year or second.year)
        second = replace(second, month=first.month, year=first.year)
    elif (
        first.year is None
        and second.year is not None
        and (first.month is None) == (second.month is None)
    ):
        is_year_before = (first.month or 0, first.day or 0) > (second.month or 0, second.day or 0)
        first = replace(first, year=second.year - is_year_before)
    if _is_date(first) and _is_date(second):
        yield first, second


def _is_date(written: WrittenDate) -> bool:
    if written.month is not None:
        if not 1 <= written.month <= 12:
            return False
        is_short_february = (
            written.month == 2 and written.year is not None and not _is_leap(written.year)
        )
        return (
            written.day is None
            or 1 <= written.day <= _MONTH_DAYS[written.month] - is_short_february
        )
    if written.quarter is not None:
        return 1 <= written.quarter <= 4
    return written.day is None and (written.part.season is not None or written.year is not None)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _is_part(written: WrittenDate) -> bool:
    """Whether it is a weekday alone, or a day of a month that is not named."""
    if not (written.year is None and written.month is None and written.quarter is None):
        return False
    return written.part.weekday is not None if written.day is None else 1 <= written.day <= 31
