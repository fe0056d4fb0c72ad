"""Move dates by a patient's offset and write them back in the format they came in."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from functools import cache

from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context
from deid_assets.policies.date_reading import DateReading, WrittenDate, reading
from deid_assets.policies.date_writing import DAY, LITERAL, MONTH, YEAR, Piece, Values, writer_of
from deid_assets.policies.drawing import Draw

MAX_WEEKS = 52
_COMMON_YEAR = 2001
_YEAR_DAYS = 365
_LONGEST_MONTH = 31
_FIRST_ORDINAL, _LAST_ORDINAL = date(1000, 1, 1).toordinal(), date.max.toordinal()
_STEPS = {"year": 365, "quarter": 91, "season": 91, "month": 31}
"""Days that lead from the middle of a year, a quarter, a season or a month into the next."""


def shift_date(text: str, context: Context) -> str | None:
    """Return the date moved by the patient's offset, in the same format, or ``None`` if it cannot
    be read.

    The offset is 1 to 52 whole weeks in either direction, so weekdays stay right. Times of day
    stay.
    """
    return move_dates(text, context.note.lang, days=7 * _shift_weeks(context))


def patient_days(context: Context) -> int:
    """Return the patient's offset in days, for dates inside other values, such as a personal
    number.

    It is the offset of the policy's action for dates where that has one, and the one of
    ``shift_date`` otherwise.
    """
    action = None if context.policy is None else context.policy.action(Phi.DATE)
    offset_days = getattr(action, "offset_days", None)
    return 7 * _shift_weeks(context) if offset_days is None else int(offset_days(context))


def _shift_weeks(context: Context) -> int:
    weeks = context.numbers.get("shift weeks")
    if weeks is None:
        draw = Draw(context, "shift")
        weeks = context.numbers["shift weeks"] = (1 + draw.below(MAX_WEEKS)) * (
            1 if draw.below(2) else -1
        )
    return weeks


def move_dates(text: str, lang: str | None, *, days: int, keep_season: bool = False) -> str | None:
    """Return the text with its date or both its dates moved, or ``None`` where one is not read or
    cannot be moved.

    Args:
        text: One date, whole or partial, or a range.
        lang: Language of the note.
        days: The offset, not 0.
        keep_season: Write the season in place of a holiday; without it a holiday is not moved.
    """
    found = reading(text, lang)
    if found is None:
        return None
    core = _move_found(found, days, keep_season=keep_season)
    place = found.place
    return text[: place.start] + core + text[place.end :] if core else None


def _move_found(found: DateReading, days: int, *, keep_season: bool) -> str:
    """Return the date or range after the move, or nothing where it cannot be moved."""
    part = found.first.part
    weekday = 0 if part.weekday is None else (part.weekday + days) % 7
    if found.ordinal and (keep_season or not part.is_holiday):
        after = _move_ordinal(found.ordinal, days, found.unit)
        return "" if after is None else part.write(_all_values(after, weekday))
    if found.year_day >= 0 and days % _YEAR_DAYS:
        month, day = _days_of_year()[(found.year_day + days) % _YEAR_DAYS]
        return part.write((0, day, month, 0, weekday, 0, 0, day))
    first = _values(found.first, days, keep_season=keep_season)
    if first is None:
        return ""
    if found.second is None:
        return found.first.part.write(first)
    second = _values(found.second, days, keep_season=keep_season)
    if second is None:
        return ""
    left, right = _range_pieces(found, first, second)
    return writer_of(left)(first) + found.place.between + writer_of(right)(second)


def _move_ordinal(ordinal: int, days: int, unit: str) -> date | None:
    """Return the day moved, and by at least the unit; ``None`` where the calendar ends."""
    if not _FIRST_ORDINAL <= ordinal + days <= _LAST_ORDINAL:
        return None
    after = date.fromordinal(ordinal + days)
    if unit:
        before = date.fromordinal(ordinal)
        if after.year == before.year and _of_unit(before, unit) == _of_unit(after, unit):
            return move_day(before, _STEPS[unit] if days > 0 else -_STEPS[unit])
    return after


def _all_values(day: date, weekday: int) -> Values:
    month = day.month
    return (0, day.day, month, day.year, weekday, month % 12 // 3, (month + 2) // 3, day.day)


@cache
def _days_of_year() -> tuple[tuple[int, int], ...]:
    first = date(_COMMON_YEAR, 1, 1)
    days = (first + timedelta(days=place) for place in range(_YEAR_DAYS))
    return tuple((day.month, day.day) for day in days)


def move_day(day: date, days: int) -> date | None:
    """Return the date moved, or ``None`` where the calendar ends."""
    try:
        after = day + timedelta(days=days)
    except OverflowError:
        return None
    return after if after.toordinal() >= _FIRST_ORDINAL else None


def _values(written: WrittenDate, days: int, *, keep_season: bool) -> Values | None:
    """Return the values after the move.

    A text without a day moves as the middle of its month, season, quarter or year, and by at least
    one of them. A day and month without a year move within a year of 365 days, so 29 February never
    appears without a year.
    """
    weekday = 0 if written.part.weekday is None else (written.part.weekday + days) % 7
    if written.part.is_holiday and not keep_season:
        return None
    if written.part.season is not None and written.year is None and keep_season:
        return None
    if written.month is None and written.day is not None:
        day = (written.day - 1 + days) % _LONGEST_MONTH + 1
        return None if day == written.day else (0, day, 0, 0, weekday, 0, 0, day)
    if (written.year, written.month, written.part.season, written.quarter) == (
        None,
        None,
        None,
        None,
    ):
        return None if weekday == written.part.weekday else (0, 0, 0, 0, weekday, 0, 0, 0)
    after = _move_middle(written, days)
    if after is None:
        return None
    return _all_values(after, weekday)


def _move_middle(written: WrittenDate, days: int) -> date | None:
    if written.year is None and written.day is not None and days % _YEAR_DAYS == 0:
        return None
    if written.year is None and (written.month, written.day) == (2, 29):
        written = replace(written, day=28)
    before = written.middle()
    after = _move_on(before, days, in_circle=written.year is None)
    if (written.day is not None and written.month is not None) or after is None:
        return after
    if written.year is not None:
        return _move_ordinal(before.toordinal(), days, written.unit())
    unit = written.unit()
    if _of_unit(before, unit) != _of_unit(after, unit):
        return after
    return _move_on(before, _STEPS[unit] if days > 0 else -_STEPS[unit], in_circle=True)


def _move_on(before: date, days: int, *, in_circle: bool) -> date | None:
    if not in_circle:
        return move_day(before, days)
    start = date(_COMMON_YEAR, 1, 1)
    place = (before.replace(year=_COMMON_YEAR) - start).days + days
    return start + timedelta(days=place % _YEAR_DAYS)


def _of_unit(day: date, unit: str) -> int:
    if unit == "month":
        return day.month
    if unit == "season":
        return day.month % 12 // 3
    return day.year if unit == "year" else (day.month + 2) // 3


def _range_pieces(
    found: DateReading, first: Values, second: Values
) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Return the pieces of both dates.

    The one without a month gets it where the two no longer share it.
    """
    left, right = found.first.part.pieces, () if found.second is None else found.second.part.pieces
    if not found.place.short or (first[MONTH] == second[MONTH] and first[YEAR] == second[YEAR]):
        return left, right
    with_year = first[YEAR] != second[YEAR]
    if found.place.short == "second":
        places = {code: place for place, (code, _) in enumerate(left)}
        end = {code: place for place, (code, _) in enumerate(right)}
        longer = left[places[MONTH] : places[DAY]] + right
        own_year = (
            right[end[DAY] + 1 : end[YEAR] + 1]
            if with_year and YEAR in end and YEAR not in places
            else ()
        )
        return left + own_year, longer
    places = {code: place for place, (code, _) in enumerate(right)}
    if places[MONTH] < places[DAY]:
        return left, right
    last = (
        places[YEAR]
        if with_year and YEAR in places and places[YEAR] > places[MONTH]
        else places[MONTH]
    )
    day = next(place for place, (code, _) in enumerate(left) if code == DAY)
    tail = left[day + 1 :] if _is_digits(right[places[MONTH]]) and last == places[MONTH] else ()
    return left[: day + 1] + right[places[DAY] + 1 : last + 1] + tail, right


def _is_digits(piece: Piece) -> bool:
    return piece[0] != LITERAL and piece[1][1].isdigit()
