"""Shift dates by whole weeks and write them back in the format they came in."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from deid_assets.core.redact import Context
from deid_assets.policies.calendar_words import WORDS
from deid_assets.policies.date_reading import Written, read
from deid_assets.policies.drawing import Draw, cased_like

MAX_WEEKS = 52
_RANGE = re.compile(
    r"\s*[\u2013\u2014]\s*|\s+-\s+|(?<=[0-9]{4})-(?=[0-9]{4})|\s+(?:to|until|through|a|al|y|bis|und|au|et)\s+",
    re.IGNORECASE,
)


def shifted(text: str, context: Context) -> str | None:
    """Return the date moved by the patient's offset, in the same format, or ``None`` if it cannot be read.

    The offset is 1 to 52 whole weeks in either direction, so weekdays stay right. Times of day stay.
    Partial dates move as their middle does, and by at least one of their smallest unit.
    """
    shift = timedelta(weeks=_shift_weeks(context))
    return each_date(text, context.note.lang, lambda part, written: moved(part, written, shift))


def each_date(text: str, lang: str | None, move: Callable[[str, Written], str | None]) -> str | None:
    """Return a date, or both ends of a range, as ``move`` rewrites them; ``None`` where one is not read or moved."""
    written = read(text, lang)
    whole = None if written is None else move(text, written)
    if whole is not None:
        return whole
    parts = _RANGE.split(text)
    if len(parts) != 2:
        return None
    readings = [read(part, lang) for part in parts]
    start, end = (None if found is None else move(part, found) for part, found in zip(parts, readings, strict=True))
    between = text[len(parts[0]) : len(text) - len(parts[1])]
    return None if start is None or end is None else start + between + end


def _shift_weeks(context: Context) -> int:
    weeks = context.numbers.get("shift weeks")
    if weeks is None:
        draw = Draw(context, "shift")
        weeks = context.numbers["shift weeks"] = (1 + draw.below(MAX_WEEKS)) * (1 if draw.below(2) else -1)
    return weeks


def moved(text: str, written: Written, shift: timedelta) -> str | None:
    """Return the date moved, in the same format, or ``None`` where the calendar ends.

    A text without a day moves as the middle of its month or year, and by at least one month or year.
    """
    before = written.middle()
    try:
        after = before + shift
    except OverflowError:
        return None
    step = timedelta(days=31) if shift > timedelta(0) else timedelta(days=-31)
    if written.day is None and written.month is not None:
        is_same_month = after.month == before.month and (written.year is None or after.year == before.year)
        after = before + step if is_same_month else after
    elif written.month is None and after.year == before.year:
        after = after.replace(year=after.year + (1 if step.days > 0 else -1))
    return rewritten(text, written, after)


def rewritten(text: str, written: Written, day: date) -> str:
    """Return the text with its day, month and year replaced by those of ``day``."""
    for name, (start, end) in sorted(written.places.items(), key=lambda place: place[1], reverse=True):
        if name != "s":
            text = text[:start] + _part(name, text[start:end], written, day) + text[end:]
    return text


def _part(name: str, old: str, written: Written, day: date) -> str:
    if name == "n":
        words = WORDS[written.lang]
        is_full = old.casefold() in {month.casefold() for month in words.months}
        return cased_like(old, (words.months if is_full else words.short)[day.month - 1])
    if name == "o":
        return cased_like(old, _ordinal(day.day))
    if name == "y":
        return f"{day.year:04}" if len(old) == 4 else f"{day.year % 100:02}"
    widths = [end - start for part, (start, end) in written.places.items() if part in ("m", "d")]
    # 03/12 is padded and 3/12 is not; beside a month's name only a leading zero tells.
    is_padded = old.startswith("0") if "n" in written.places else min(widths) == 2
    return f"{day.month if name == 'm' else day.day:0{2 if is_padded else 1}}"


def _ordinal(day: int) -> str:
    return "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
