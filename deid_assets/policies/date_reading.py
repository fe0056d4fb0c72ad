"""Read the dates people write in notes: whole and partial, with weekdays and times, one or a range."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

from deid_assets.policies.calendar_words import WORDS
from deid_assets.policies.date_forms import Range, Roles, range_forms, single_forms
from deid_assets.policies.date_tokens import Tokens, tokens_of
from deid_assets.policies.date_writing import Piece, pieces_of

_PIVOT = 68  # POSIX strptime: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068
_COMMON_YEAR, _LEAP_YEAR = 2001, 2000
_MAX_CHARS = 80
_CACHED = 32_768
_CLOCK = r"[0-9]{1,2}\s?[:.h]\s?[0-9]{2}(?:[:.][0-9]{2})?(?:[.,][0-9]+)?"
_HOURS = r"(?:\s?(?:[ap]\.?\s?m\.?|uhr|uur|hrs|hours?|horas|heures?|h|u)(?![^\W\d_]))"
_AT = r"(?:(?:at|um|om|kl\.?|klo|klockan|vid|à|a\s+las?|alle(?:\s+ore)?|ore|ab|gegen|vers)\s*)"
_ZONE = r"(?:\s?(?:z|[+-][0-9]{2}:?[0-9]{2}|utc|gmt|cet|est|pst))?"
_TIME = rf"(?:{_AT}?{_CLOCK}{_HOURS}?|{_AT}[0-9]{{1,2}}{_HOURS}?|[0-9]{{1,2}}{_HOURS}){_ZONE}"
_TIME_AFTER = re.compile(rf"(?:T|,?\s*[-\u2013(]?\s*(?<![0-9])){_TIME}\)?\s*$", re.IGNORECASE)
_TIME_BEFORE = re.compile(rf"\s*{_TIME}(?:,?\s+(?:on\s+|am\s+|le\s+|del?\s+|op\s+|den\s+)?|,)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Written:
    """A date as it was written: its parts, and what to write them back with.

    Args:
        year: Four digits, or ``None`` where the text has no year.
        month: 1 to 12, or ``None``.
        day: 1 to 31, or ``None``.
        weekday: 0 (Monday) to 6, or ``None``.
        season: 0 (winter) to 3, or ``None``; of a holiday, the season it stands for.
        quarter: 1 to 4, or ``None``.
        is_holiday: Whether the season stands for a holiday.
        is_short_year: Whether the year has two digits.
        pieces: What ``date_writing.write`` makes the text of.
    """

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    season: int | None = None
    quarter: int | None = None
    is_holiday: bool = False
    is_short_year: bool = False
    pieces: tuple[Piece, ...] = ()

    def middle(self) -> date:
        """Return the date, or the middle of the month, season, quarter or year.

        A year that is not given counts as 2001, or 2000 for 29 February.

        Raises:
            ValueError: There is no such day, or the text names a weekday or a day of the month alone.
        """
        year = self.year or (_LEAP_YEAR if (self.month, self.day) == (2, 29) else _COMMON_YEAR)
        if self.month is not None:
            return date(year, self.month, self.day or 15)
        if self.season is not None:
            return date(year, 1 + 3 * self.season, 15)
        if self.quarter is not None:
            return date(year, 3 * self.quarter - 1, 15)
        if self.year is None:
            raise ValueError("neither year, month nor season is given")
        return date(year, 7, 1)


@dataclass(frozen=True, slots=True)
class Reading:
    """One date or two, and what stands around them.

    Args:
        first: The date, or the first of a range.
        second: The second, or ``None``.
        before: What stands before, such as a time.
        between: What stands between two.
        after: What stands after.
        short: Which of two leaves its month to the other: "first" (3-5 May), "second" (May 3-5), or empty.
    """

    first: Written
    second: Written | None = None
    before: str = ""
    between: str = ""
    after: str = ""
    short: str = ""


def read(text: str, lang: str | None) -> Written | None:
    """Return the parts of one date that fills the whole text, or ``None`` if it is not one we know."""
    found = reading(text, lang)
    return None if found is None or found.second is not None else found.first


@lru_cache(maxsize=_CACHED)
def reading(text: str, lang: str | None) -> Reading | None:
    """Return the date or the two dates that fill the text, or ``None`` if they are none we know.

    Words are read in the note's language, then in English. Numbers are read with the day first, except in English
    and where no language is given; the other order is tried where that is no date. The latest readings are kept in
    memory, with their texts.
    """
    core = text.strip()
    if not core or len(core) > _MAX_CHARS:
        return None
    start = text.index(core)
    whole = _in_languages(core, lang)
    if whole is not None:
        return _around(whole, text[:start], text[start + len(core) :])
    for pattern in (_TIME_AFTER, _TIME_BEFORE):
        clock = pattern.search(text) if pattern is _TIME_AFTER else pattern.match(text)
        if clock is None:
            continue
        begin, end = (0, clock.start()) if pattern is _TIME_AFTER else (clock.end(), len(text))
        found = _in_languages(text[begin:end].strip(), lang)
        if found is not None:
            inner = text[begin:end]
            left = begin + len(inner) - len(inner.lstrip())
            right = left + len(inner.strip())
            return _around(found, text[:left], text[right:])
    return None


def full_year(digits: str) -> int:
    """Return the year that two or four digits stand for; two follow POSIX."""
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (2000 if year <= _PIVOT else 1900)


def _around(found: Reading, before: str, after: str) -> Reading:
    return replace(found, before=before, after=after) if before or after else found


def _in_languages(text: str, lang: str | None) -> Reading | None:
    known = WORDS.get(lang or "en")
    day_first = known is None or known.day_first
    for words_lang in dict.fromkeys((lang, "en") if lang and known else ("en",)):
        tokens = tokens_of(text, words_lang) if text else None
        found = None if tokens is None else _reading(tokens, words_lang, day_first=day_first)
        if found is not None:
            return found
    return None


def _reading(tokens: Tokens, lang: str, *, day_first: bool) -> Reading | None:
    for roles in single_forms(tokens.kinds, is_swedish=lang == "sv"):
        for written in _readings(tokens, roles, lang, day_first=day_first):
            return Reading(written)
    for found in range_forms(tokens.kinds):
        for first in _readings(tokens, found.first, lang, day_first=day_first, end=found.end):
            for second in _readings(tokens, found.second, lang, day_first=day_first, start=found.start):
                both = _completed(first, second, found)
                if both is not None:
                    between = "".join(tokens.texts[found.end : found.start])
                    return Reading(*both, between=between, short=found.short)
    return None


def _completed(first: Written, second: Written, found: Range) -> tuple[Written, Written] | None:
    """Return both dates with the month and the year that one leaves to the other, or ``None`` if they do not fit."""
    if found.short == "first":
        if second.month is None or second.day is None:
            return None
        first = replace(first, month=second.month, year=second.year)
    elif found.short == "second":
        first = replace(first, year=first.year or second.year)
        second = replace(second, month=first.month, year=first.year)
    elif first.year is None and second.year is not None and (first.month is None) == (second.month is None):
        is_year_before = (first.month or 0, first.day or 0) > (second.month or 0, second.day or 0)
        first = replace(first, year=second.year - is_year_before)
    if first.day is None and second.day is None and "y" in found.second and second.is_short_year:
        century = (first.year or 0) // 100 * 100
        second = replace(second, year=century + (second.year or 0) % 100)
    return (first, second) if _is_date(first) and _is_date(second) else None


def _readings(
    tokens: Tokens, roles: Roles, lang: str, *, day_first: bool, start: int = 0, end: int | None = None
) -> Iterator[Written]:
    last = len(tokens.texts) if end is None else end
    orders = _compact(tokens, roles, lang, day_first=day_first) if "e" in roles else None
    for order in orders or _orders(tokens, roles, day_first=day_first):
        written = _written(tokens, order)
        if written is not None and (_is_date(written) or _is_part(written)):
            yield replace(written, pieces=pieces_of(tokens, order, lang, range(start, last)))


def _orders(tokens: Tokens, roles: Roles, *, day_first: bool) -> Iterator[Roles]:
    """Return the roles with day and month decided, the likeliest order first."""
    if "a" not in roles:
        yield roles
        return
    first, second = roles["a"], roles["b"]
    rest = {name: place for name, place in roles.items() if name not in "ab"}
    day_month, month_day = {**rest, "d": first, "m": second}, {**rest, "m": first, "d": second}
    # A full stop between numbers means the day comes first, in English too.
    is_day_first = day_first or "." in tokens.texts[first + 1 : second]
    month_year = [{**rest, "m": first, "y": second}] if "y" not in roles and len(tokens.texts[second]) == 2 else []
    yield from (day_month, *month_year, month_day) if is_day_first else (month_day, day_month, *month_year)


def _compact(tokens: Tokens, roles: Roles, lang: str, *, day_first: bool) -> list[Roles]:
    """Return the orders of digits without separators; each role is the place of the token and 100 times its order."""
    calendar, place = WORDS[lang], roles["e"]
    if len(tokens.texts[place]) == 6:
        return [{**roles, "e": place, calendar.six_digits: place}] if calendar.six_digits else []
    return [{**roles, order: place} for order in ("ymd", "dmy" if day_first else "mdy")]


def _written(tokens: Tokens, roles: Roles) -> Written | None:
    order = next((name for name in roles if len(name) == 3), None)
    digits = _compact_parts(tokens.texts[roles[order]], order) if order else {}
    digits |= {name: tokens.texts[roles[name]] for name in ("y", "d", "q") if name in roles}
    month = _month(tokens, roles["m"]) if "m" in roles else int(digits["m"]) if "m" in digits else None
    if len(digits.get("y", "0000")) == 1 or (order == "ymd" and not 1850 <= full_year(digits["y"]) <= 2150):
        return None
    season = tokens.words.get(roles.get("z", roles.get("h", -1)))
    return Written(
        year=full_year(digits["y"]) if "y" in digits else None,
        month=month,
        day=int(digits["d"]) if "d" in digits else None,
        weekday=_weekday(tokens, roles["w"]) if "w" in roles else None,
        season=None if season is None else season.number,
        quarter=int(digits["q"]) if "q" in digits else None,
        is_holiday="h" in roles,
        is_short_year=len(digits.get("y", "")) == 2,
    )


def _compact_parts(digits: str, order: str) -> dict[str, str]:
    widths = {"y": len(digits) - 4, "m": 2, "d": 2}
    parts: dict[str, str] = {}
    for name in order:
        parts[name], digits = digits[: widths[name]], digits[widths[name] :]
    return parts


def _month(tokens: Tokens, place: int) -> int:
    return tokens.words[place].number if place in tokens.words else int(tokens.texts[place])


def _weekday(tokens: Tokens, place: int) -> int:
    word = tokens.words[place]
    return word.number if word.weekday is None else word.weekday.number


def _is_date(written: Written) -> bool:
    if written.month is not None and not 1 <= written.month <= 12:
        return False
    if written.day is not None and written.month is not None:
        return 1 <= written.day <= monthrange(written.year or _LEAP_YEAR, written.month)[1]
    if written.quarter is not None:
        return 1 <= written.quarter <= 4
    return written.day is None and (written.month or written.season is not None or written.year) is not None


def _is_part(written: Written) -> bool:
    """Whether it is a weekday alone, or a day of a month that is not named."""
    others = (written.year, written.month, written.season, written.quarter)
    if any(other is not None for other in others[1:]):
        return False
    return 1 <= written.day <= 31 if written.day is not None else written.weekday is not None
