"""What texts of one shape may be.

Worked out once per shape, of which there are few, and not once per date.

The shape of a text is the text with 9 for every digit but a leading zero: ``03/15/2021`` has the
shape ``09/99/9999``. That is all that the reading of a date depends on but for the question which
of its orders is a date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from deid_assets.policies.date_forms import Roles, range_forms, single_forms
from deid_assets.policies.date_tokens import DateTokens, tokens_of
from deid_assets.policies.date_writing import Piece, Writer, pieces_of, writer_of
from deid_assets.policies.time_words import WORDS

_CACHED = 16_384
_SHAPES = str.maketrans("12345678", "99999999")
_CLOCK = r"[0-9]{1,2}\s?[:.h]\s?[0-9]{2}(?:[:.][0-9]{2})?(?:[.,][0-9]+)?"
_HOURS = r"(?:\s?(?:[ap]\.?\s?m\.?|uhr|uur|hrs|hours?|horas|heures?|h|u)(?![^\W\d_]))"
_AT = r"(?:(?:at|um|om|kl\.?|klo|klockan|vid|à|a\s+las?|alle(?:\s+ore)?|ore|ab|gegen|vers)\s*)"
_ZONE = r"(?:\s?(?:z|[+-][0-9]{2}:?[0-9]{2}|utc|gmt|cet|est|pst))?"
_TIME = rf"(?:{_AT}?{_CLOCK}{_HOURS}?|{_AT}[0-9]{{1,2}}{_HOURS}?|[0-9]{{1,2}}{_HOURS}){_ZONE}"
_TIME_AFTER = re.compile(rf"(?:T|,?\s*[-\u2013(]?\s*(?<![0-9])){_TIME}\)?\s*$", re.IGNORECASE)
_TIME_BEFORE = re.compile(
    rf"\s*{_TIME}(?:,?\s+(?:on\s+|am\s+|le\s+|del?\s+|op\s+|den\s+)?|,)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class DatePart:
    """One date of a shape.

    Args:
        spots: Name (y, m, d or q), start and end of each number in the text.
        month: Of a month's name, or ``None``.
        day: Of a day in words, or ``None``.
        weekday: 0 (Monday) to 6, or ``None``.
        season: 0 (winter) to 3, or ``None``; of a holiday, the season it stands for.
        is_holiday: Whether the season stands for a holiday.
        is_compact: Whether the digits run on from the year, so that only a likely year makes them a
            date.
        pieces: What it is written with.
        write: What writes them.
    """

    spots: tuple[tuple[str, int, int], ...]
    month: int | None
    day: int | None
    weekday: int | None
    season: int | None
    is_holiday: bool
    is_compact: bool
    pieces: tuple[Piece, ...]
    write: Writer

    @property
    def is_short_year(self) -> bool:
        """Whether the year has two digits."""
        return any(name == "y" and end - start == 2 for name, start, end in self.spots)


@dataclass(frozen=True, slots=True)
class ShapeReading:
    """One way to read the texts of a shape.

    A date or two, which stand in ``[start, end)`` of the text.

    Args:
        first: The date, or the first of a range.
        second: The second, or ``None``.
        between: What stands between two.
        short: Which of two leaves its month to the other: "first" (3-5 May), "second" (May 3-5), or
            empty.
        start: Where they begin; before it a time may stand.
        end: Where they end.
    """

    first: DatePart
    second: DatePart | None
    between: str
    short: str
    start: int
    end: int


def shape_of(text: str) -> str:
    """Return the shape of a text."""
    shape = text.translate(_SHAPES)
    while "90" in shape:
        shape = shape.replace("90", "99")
    return shape


@lru_cache(maxsize=_CACHED)
def likely_candidates(shape: str, lang: str | None) -> tuple[ShapeReading, ...]:
    """Return every way to read the texts of a shape as one date in the note's language, the
    likeliest first.

    Numbers are read with the day first, except in English and where no language is given, then in
    the other order.
    """
    core = next(_cores(shape), None)
    if core is None:
        return ()
    return tuple(_singles(shape, core, _langs(lang)[0], _is_day_first(lang)))


@lru_cache(maxsize=_CACHED)
def other_candidates(shape: str, lang: str | None) -> tuple[ShapeReading, ...]:
    """Return every way to read the texts of a shape that is not likely.

    As two dates, in English, beside a time.
    """
    cores = dict.fromkeys(_cores(shape))
    candidates: list[ShapeReading] = []
    for core, words_lang, read in product(cores, _langs(lang), (_singles, _ranges)):
        candidates += read(shape, core, words_lang, _is_day_first(lang))
    return tuple(candidates)


def _langs(lang: str | None) -> tuple[str, ...]:
    return (lang, "en") if lang is not None and lang in WORDS and lang != "en" else ("en",)


def _is_day_first(lang: str | None) -> bool:
    known = WORDS.get(lang or "en")
    return known is None or known.day_first


def _cores(shape: str) -> Iterator[tuple[int, int]]:
    """Return where the date may stand: everywhere, before a time, after a time."""
    ranges = [(0, len(shape))]
    if clock := _TIME_AFTER.search(shape):
        ranges.append((0, clock.start()))
    if clock := _TIME_BEFORE.match(shape):
        ranges.append((clock.end(), len(shape)))
    for start, end in ranges:
        core = shape[start:end]
        if stripped := core.strip():
            begin = start + core.index(stripped)
            yield begin, begin + len(stripped)


def _singles(
    shape: str, core: tuple[int, int], lang: str, day_first: bool
) -> Iterator[ShapeReading]:
    start, end = core
    tokens = tokens_of(shape[start:end], lang)
    if tokens is None:
        return
    reader = _Reader(tokens, lang, start, day_first=day_first)
    for roles in single_forms(tokens.kinds, lang=lang):
        for part in reader.parts(roles, range(len(tokens.texts)), roles):
            yield ShapeReading(part, None, "", "", start, end)


def _ranges(
    shape: str, core: tuple[int, int], lang: str, day_first: bool
) -> Iterator[ShapeReading]:
    start, end = core
    tokens = tokens_of(shape[start:end], lang)
    if tokens is None:
        return
    reader = _Reader(tokens, lang, start, day_first=day_first)
    for found in range_forms(tokens.kinds):
        between = "".join(tokens.texts[found.end : found.start])
        for first in reader.parts(found.first, range(found.end), found.second):
            for second in reader.parts(
                found.second, range(found.start, len(tokens.texts)), found.first
            ):
                yield ShapeReading(first, second, between, found.short, start, end)


class _Reader:
    """Turns the roles of tokens into dates."""

    def __init__(self, tokens: DateTokens, lang: str, start: int, *, day_first: bool) -> None:
        self._tokens, self._lang, self._day_first = tokens, lang, day_first
        self._starts = [start]
        for token in tokens.texts:
            self._starts.append(self._starts[-1] + len(token))

    def parts(self, roles: Roles, places: range, others: Roles) -> Iterator[DatePart]:
        """Return the dates of the roles, one per order of their numbers.

        Args:
            roles: Of the date.
            places: The tokens that are its own.
            others: Roles of the other date of a range, or its own; its numbers tell whether days
                are padded.
        """
        beside = [place for row in (roles, others) for name, place in row.items() if name in "dmab"]
        for order in self._compact(roles) if "e" in roles else self._orders(roles):
            spots = tuple(self._spots(order))
            if all(name != "y" or end - start > 1 for name, start, end in spots):
                yield self._part(order, spots, places, beside)

    def _part(
        self,
        order: Roles,
        spots: tuple[tuple[str, int, int], ...],
        places: range,
        beside: list[int],
    ) -> DatePart:
        words = self._tokens.words
        month = words.get(order.get("m", -1))
        day = words.get(order.get("d", -1))
        weekday = words.get(order.get("w", -1))
        season = words.get(order.get("z", order.get("h", -1)))
        pieces = pieces_of(self._tokens, order, self._lang, places, beside)
        return DatePart(
            spots=spots,
            month=None if month is None else month.number,
            day=None if day is None else day.number,
            weekday=None if weekday is None else (weekday.weekday or weekday).number,
            season=None if season is None else season.number,
            is_holiday="h" in order,
            is_compact="ymd" in order,
            pieces=pieces,
            write=writer_of(pieces),
        )

    def _spots(self, order: Roles) -> Iterator[tuple[str, int, int]]:
        for name, place in order.items():
            start, end = self._starts[place], self._starts[place + 1]
            if len(name) == 3:
                for part in name:
                    width = end - self._starts[place] - 4 if part == "y" else 2
                    yield part, start, start + width
                    start += width
            elif name in "ymdq" and place not in self._tokens.words:
                yield name, start, end

    def _orders(self, roles: Roles) -> list[Roles]:
        """Return the roles with day and month decided, the likeliest order first."""
        if "a" not in roles:
            return [roles]
        first, second = roles["a"], roles["b"]
        texts = self._tokens.texts
        rest = {name: place for name, place in roles.items() if name not in "ab"}
        day_month, month_day = {**rest, "d": first, "m": second}, {**rest, "m": first, "d": second}
        month_year = (
            [{**rest, "m": first, "y": second}]
            if "y" not in roles and len(texts[second]) == 2
            else []
        )
        # A full stop between numbers means the day comes first, in English too.
        if self._day_first or "." in texts[first + 1 : second]:
            return [day_month, *month_year, month_day]
        return [month_day, day_month, *month_year]

    def _compact(self, roles: Roles) -> list[Roles]:
        """Return the orders of digits without separators; their role is named by the order."""
        place, six_digits = roles["e"], WORDS[self._lang].six_digits
        if len(self._tokens.texts[place]) == 8:
            orders = ["ymd", "dmy" if self._day_first else "mdy"]
        else:
            orders = [six_digits] if six_digits else []
        rest = {name: at for name, at in roles.items() if name != "e"}
        return [{**rest, order: place} for order in orders]
