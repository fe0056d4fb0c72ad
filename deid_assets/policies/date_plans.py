"""The short way for nearly every date: where its shape alone says what each of its numbers is.

A plan is made once per shape and language. What has no plan, or no plan that makes it a date, goes the long way of
``date_reading``; both give the same answer. Nothing is kept of the dates themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from deid_assets.policies.date_reading import FIRST_COMPACT, LAST_COMPACT, MAX_CHARS, full_year
from deid_assets.policies.date_shapes import Candidate, likely_candidates
from deid_assets.policies.date_writing import Writer

_CACHED = 16_384
_SHAPES = bytes.maketrans(b"12345678", b"99999999")
_NUMBERS = {f"{number:0{width}}": number for width in (1, 2) for number in range(10**width)}
_YEARS = {f"{year}": year for year in range(1100, 2900)}
_SHORT_YEARS = {f"{year:02}": full_year(f"{year:02}") for year in range(100)}
_COMPACT_YEARS = {digits: year for digits, year in _YEARS.items() if FIRST_COMPACT <= year <= LAST_COMPACT}
_COMMON_YEAR = tuple((day.month, day.day) for day in (date(2001, 1, 1) + timedelta(n) for n in range(365)))
_YEAR_DAYS = {day: place for place, day in enumerate(_COMMON_YEAR)} | {(2, 29): 31 + 28 - 1}
_MIDDLE = 15
_LONGEST_MONTH = 31
_NOWHERE = slice(0)

Mover = Callable[[str, int], str]
"""Moves a date of one shape by some days.

It raises ``ValueError`` where its numbers are no date in this order, and ``KeyError`` or ``OverflowError`` where they
may be one that it cannot move.
"""


class DatePlan(NamedTuple):
    """Places of year, month and day in a shape; an empty slice where it has none.

    Args:
        years: Digits that may stand for the year to the year.
        year: Place of the year.
        month: Place of the month.
        day: Place of the day.
        named_month: Of a month's name, else 0.
        named_day: Of a day in words, else 0.
        weekday: Of a weekday's name, from 0, else 0.
        write: Writes the date.
    """

    years: Mapping[str, int]
    year: slice
    month: slice
    day: slice
    named_month: int
    named_day: int
    weekday: int
    write: Writer


def moved_plain(text: str, lang: str | None, days: int) -> str | None:
    """Return a date of one day, month and year, or of two of them, moved; ``None`` for what has no plan.

    Args:
        text: The date alone.
        lang: Language of the note.
        days: The offset, not 0.
    """
    shape = text.encode().translate(_SHAPES)
    while b"90" in shape:
        shape = shape.replace(b"90", b"99")
    for move in _movers_of(shape, lang):
        try:
            return move(text, days)
        except ValueError:
            continue
        except (KeyError, OverflowError):
            break
    return None


@lru_cache(maxsize=_CACHED)
def _movers_of(shape: bytes, lang: str | None) -> tuple[Mover, ...]:
    """Return the plans of a shape, the likeliest first, as far as every reading before them has a plan too."""
    text = shape.decode()
    movers: list[Mover] = []
    for candidate in likely_candidates(text, lang) if len(text) <= MAX_CHARS else ():
        mover = _mover_of(candidate, len(text))
        if mover is None:
            break
        movers.append(mover)
    return tuple(movers)


def _mover_of(candidate: Candidate, size: int) -> Mover | None:
    part = candidate.first
    if candidate.second or (candidate.start, candidate.end) != (0, size) or part.season is not None:
        return None
    places = {name: slice(start, end) for name, start, end in part.spots}
    plan = DatePlan(
        years=_SHORT_YEARS if part.is_short_year else _COMPACT_YEARS if part.is_compact else _YEARS,
        year=places.get("y", _NOWHERE),
        month=places.get("m", _NOWHERE),
        day=places.get("d", _NOWHERE),
        named_month=part.month or 0,
        named_day=part.day or 0,
        weekday=part.weekday or 0,
        write=part.write,
    )
    if not part.month and "m" not in places:
        return None
    has_day = bool(part.day) or "d" in places
    if "y" not in places:
        return _of_any_year(plan) if has_day else None
    return _of_day(plan) if has_day else _of_month(plan)


def _of_day(plan: DatePlan) -> Mover:
    years, year_at, month_at, day_at, named_month, named_day, weekday, write = plan

    def move(text: str, days: int) -> str:
        month, day = named_month or _NUMBERS[text[month_at]], named_day or _NUMBERS[text[day_at]]
        after = date(years[text[year_at]], month, day) + _offset(days)
        number = after.day
        return write((0, number, after.month, after.year, (weekday + days) % 7, 0, 0, number))

    return move


def _of_month(plan: DatePlan) -> Mover:
    """Move the middle of the month, and by a month at least."""
    years, year_at, month_at, _, named_month, _, weekday, write = plan

    def move(text: str, days: int) -> str:
        before = date(years[text[year_at]], named_month or _NUMBERS[text[month_at]], _MIDDLE)
        after = before + _offset(days)
        if (after.month, after.year) == (before.month, before.year):
            after = before + _offset(_LONGEST_MONTH if days > 0 else -_LONGEST_MONTH)
        return write((0, 0, after.month, after.year, (weekday + days) % 7, 0, 0, 0))

    return move


def _of_any_year(plan: DatePlan) -> Mover:
    """Move within a year of 365 days."""
    _, _, month_at, day_at, named_month, named_day, weekday, write = plan

    def move(text: str, days: int) -> str:
        month, day = named_month or _NUMBERS[text[month_at]], named_day or _NUMBERS[text[day_at]]
        place = _YEAR_DAYS.get((month, day))
        if place is None:
            raise ValueError("no day of a year")
        if days % 365 == 0:
            raise OverflowError("once around the year")
        month, day = _COMMON_YEAR[(place + days) % 365]
        return write((0, day, month, 0, (weekday + days) % 7, 0, 0, day))

    return move


@lru_cache(maxsize=_CACHED)
def _offset(days: int) -> timedelta:
    return timedelta(days)
