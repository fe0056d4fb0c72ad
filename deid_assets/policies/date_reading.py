"""Read the dates people write in notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from deid_assets.policies.calendar_words import WORDS

_PIVOT = 68  # POSIX strptime: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068
_COMMON_YEAR, _LEAP_YEAR = 2001, 2000
_YEAR = "(?P<y>[12][0-9]{3})"
_ANY_YEAR = "(?P<y>[12][0-9]{3}|[0-9]{2})"
_DAY, _MONTH = "(?P<d>[0-9]{1,2})(?P<o>st|nd|rd|th)?", "(?P<m>[0-9]{1,2})"
_OF = r"(?:del?\s+(?:año\s+)?|of\s+)?"
_FORMS = (
    rf"{_YEAR}(?P<s>[-/.]){_MONTH}(?P=s)(?P<d>[0-9]{{1,2}})",
    r"(?P<y>(?:19|20)[0-9]{2})(?P<m>[0-9]{2})(?P<d>[0-9]{2})",
    rf"(?P<a>[0-9]{{1,2}})\s?(?P<s>[-/.])\s?(?P<b>[0-9]{{1,2}})\s?(?P=s)\s?{_ANY_YEAR}",
    rf"{_DAY}\.?[º°]?\s*[-/]?\s*{_OF}(?P<n>MONTHS)\.?(?:[\s,/-]+{_OF}'?{_ANY_YEAR})?",
    rf"(?P<n>MONTHS)\.?\s+{_DAY}(?:\s*,?\s+'?{_ANY_YEAR})?",
    rf"(?P<n>MONTHS)\.?(?:(?:[\s/-]+{_OF}|,\s*){_YEAR}|(?:-|\s?')(?P<yy>[0-9]{{2}}))?",
    rf"{_MONTH}\s?[-/.]\s?{_YEAR}",
    rf"{_YEAR}[-/.]{_MONTH}",
    r"(?P<a>[0-9]{1,2})\s?(?P<s>[-/.])\s?(?P<b>[0-9]{1,2})\.?",
    _YEAR,
)
_BEFORE = (
    r"\s*(?:(?:on|in|el|en|am|im)\s+)?(?:(?:WEEKDAYS)\.?,?\s+)?"
    r"(?:(?:den|the|el|del|mes\s+de|año|early|mid|late)[\s-]+)*"
)
_AFTER = (
    r"(?:(?:,?\s*(?:at\s+|a\s+las\s+|um\s+)?|T)[0-9]{1,2}[:.h][0-9]{2}(?::[0-9]{2})?(?:\.[0-9]+)?"
    r"\s*(?:[ap]\.?m\.?|z|h|hrs|uhr)?)?\s*"
)


@dataclass(frozen=True, slots=True)
class Written:
    """A date as it was written: its parts, and where each stands in the text.

    Args:
        year: Four digits, or ``None`` where the text has no year.
        month: 1 to 12, or ``None``.
        day: 1 to 31, or ``None``.
        places: Range of the text per part: ``y``, ``m``, ``d`` digits, ``n`` a month's name, ``o`` an ordinal ending.
        lang: Whose month names were used.
    """

    year: int | None
    month: int | None
    day: int | None
    places: dict[str, tuple[int, int]]
    lang: str

    def middle(self) -> date:
        """Return the date, or the middle of the month or year; a year that is not given counts as 2001 or 2000.

        Raises:
            ValueError: There is no such day.
        """
        if self.month is None:
            return date(self.year or _COMMON_YEAR, 7, 1)
        is_leap_day = (self.month, self.day) == (2, 29)
        year = self.year or (_LEAP_YEAR if is_leap_day else _COMMON_YEAR)
        return date(year, self.month, 15 if self.day is None else self.day)


def read(text: str, lang: str | None) -> Written | None:
    """Return the parts of a date that fills the whole text, or ``None`` if it is not one we know.

    Month names are read in the note's language, then in English. Numeric dates are read with the day first,
    except in English and where no language is given; the other order is tried where that is no date.
    """
    known = WORDS.get(lang or "en")
    day_first = known is None or known.day_first
    for words_lang in dict.fromkeys((lang, "en") if lang and known else ("en",)):
        for pattern in _patterns(words_lang):
            match = pattern.fullmatch(text)
            for written in _readings(match, words_lang, day_first=day_first) if match else ():
                if _is_date(written):
                    return written
    return None


def full_year(digits: str) -> int:
    """Return the year that two or four digits stand for; two follow POSIX."""
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (2000 if year <= _PIVOT else 1900)


def _readings(match: re.Match[str], lang: str, *, day_first: bool) -> Iterator[Written]:
    places = {name: match.span(name) for name, part in match.groupdict().items() if part is not None}
    if "yy" in places:
        places["y"] = places.pop("yy")
    if "a" not in places:
        yield _written(match.string, places, lang)
        return
    first, second = places.pop("a"), places.pop("b")
    orders = [{"d": first, "m": second}, {"m": first, "d": second}]
    # A full stop between numbers means the day comes first, in English too.
    for order in orders if day_first or match["s"] == "." else reversed(orders):
        yield _written(match.string, {**places, **order}, lang)
    if "y" not in places and second[1] - second[0] == 2:  # 05/99
        yield _written(match.string, {"m": first, "y": second}, lang)


def _written(text: str, places: dict[str, tuple[int, int]], lang: str) -> Written:
    parts = {name: text[start:end] for name, (start, end) in places.items()}
    numbers = {name: int(parts[name]) for name in ("m", "d") if name in parts}
    if "n" in parts:
        numbers["m"] = _month_numbers(lang)[parts["n"].casefold()]
    year = full_year(parts["y"]) if "y" in parts else None
    return Written(year, numbers.get("m"), numbers.get("d"), places, lang)


def _is_date(written: Written) -> bool:
    try:
        written.middle()
    except ValueError:
        return False
    return True


@lru_cache(maxsize=len(WORDS))
def _patterns(lang: str) -> tuple[re.Pattern[str], ...]:
    months = "|".join(re.escape(name) for name in sorted(_month_numbers(lang), key=len, reverse=True))
    weekdays = "|".join(re.escape(name) for name in sorted(WORDS[lang].weekdays, key=len, reverse=True))
    sources = (_BEFORE + form + _AFTER for form in _FORMS)
    return tuple(
        re.compile(source.replace("MONTHS", months).replace("WEEKDAYS", weekdays), re.IGNORECASE) for source in sources
    )


@lru_cache(maxsize=len(WORDS))
def _month_numbers(lang: str) -> dict[str, int]:
    words = WORDS[lang]
    numbers = {name.casefold(): number for name, number in words.others.items()}
    for names in (words.short, words.months):
        numbers |= {name.casefold(): number for number, name in enumerate(names, start=1)}
    return numbers
