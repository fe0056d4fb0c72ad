"""The words that dates and ages are written with: ``calendar.toml`` of each language.

Names of months and weekdays are those of CLDR, as Babel brings it; endings and other spellings are
those of clinical notes. Notes in other languages, or in none, are read with the English words;
their numeric dates with the day first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from babel import Locale, UnknownLocaleError

from deid_assets.core.errors import ConfigError
from deid_assets.languages import CALENDAR, language, languages, other_codes, read_toml

LANGUAGES = languages(CALENDAR)
_SEASONS = ("winter", "spring", "summer", "autumn")


@dataclass(frozen=True, slots=True)
class CalendarWords:
    """One language's words.

    Args:
        months: Twelve full names.
        short: Twelve abbreviations without a full stop.
        weekdays: Seven full names, from Monday.
        short_weekdays: Seven abbreviations without a full stop.
        seasons: Winter, spring, summer, autumn.
        fillers: Words that stand before or between the parts of a date and say no time of their
            own.
        until: Words between the two ends of a range, or before the second.
        ordinals: Ending of the day from 1 to 31, or one ending for all; empty where none is
            written.
        other_endings: Endings that are read as well.
        quarter: Words for a quarter of a year; the first letter of the short form stands before the
            number: Q1.
        month_endings: Endings of inflected full names of months, appended.
        weekday_endings: The same for weekdays.
        month_forms: Further rows of twelve names, each row in one form.
        weekday_forms: Further rows of seven names.
        season_forms: Further rows of four names.
        other_months: Other spellings, with their month from 1; they come back as abbreviations.
        other_weekdays: Other spellings, with their weekday from 0; they come back as full names.
        holidays: Names of holidays, with the season they stand for: 0 winter, 1 spring, 2 summer, 3
            autumn.
        day_first: Whether 3/4 is the third of April.
        pads: Whether 12.10.2021 becomes 03.05.2021 rather than 3.5.2021.
        first_day: How the first day of a month is written before its name, where that is not 1.
        elided: Articles with what they become before the days that begin with a vowel, 8 and 11.
        six_digits: Order of six digits in a row: "ymd", "dmy", or empty where they are not read.
        own_forms: Names of forms of dates that few languages have, those of ``date_forms``.
    """

    months: tuple[str, ...]
    short: tuple[str, ...]
    weekdays: tuple[str, ...]
    short_weekdays: tuple[str, ...]
    seasons: tuple[str, ...]
    fillers: tuple[str, ...]
    until: tuple[str, ...]
    quarter: tuple[str, ...]
    ordinals: tuple[str, ...] = ()
    other_endings: tuple[str, ...] = ()
    month_endings: tuple[str, ...] = ()
    weekday_endings: tuple[str, ...] = ()
    month_forms: tuple[tuple[str, ...], ...] = ()
    weekday_forms: tuple[tuple[str, ...], ...] = ()
    season_forms: tuple[tuple[str, ...], ...] = ()
    other_months: Mapping[str, int] = field(default_factory=dict)
    other_weekdays: Mapping[str, int] = field(default_factory=dict)
    holidays: Mapping[str, int] = field(default_factory=dict)
    day_first: bool = True
    pads: bool = True
    first_day: str = "1"
    elided: Mapping[str, str] = field(default_factory=dict)
    six_digits: str = ""
    own_forms: tuple[str, ...] = ()


def _freeze(value: Any) -> Any:
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def _calendar(lang: str, table: Mapping[str, Any]) -> CalendarWords:
    """Return a language's words.

    Names of months and weekdays as CLDR has them, standing alone, and its own.

    Raises:
        ConfigError: A key is missing or unknown, or CLDR has no such language.
    """
    try:
        names = Locale(lang)
    except UnknownLocaleError:
        raise ConfigError(f"{lang}/{CALENDAR}: Babel knows no language {lang!r}") from None
    months, days = names.months["stand-alone"], names.days["stand-alone"]
    known = {
        "months": tuple(months["wide"][month] for month in range(1, 13)),
        "short": tuple(months["abbreviated"][month].rstrip(".") for month in range(1, 13)),
        "weekdays": tuple(days["wide"][day] for day in range(7)),
        "short_weekdays": tuple(days["abbreviated"][day].rstrip(".") for day in range(7)),
    }
    holidays = {
        name: _SEASONS.index(season)
        for season, names in table.get("holidays", {}).items()
        for name in names
    }
    own = {key: _freeze(value) for key, value in table.items()}
    try:
        return CalendarWords(**{**known, **own, "holidays": holidays})
    except TypeError as error:  # names the keys
        fault = str(error).partition("__init__() ")[2]
        raise ConfigError(f"{lang}/{CALENDAR}: [calendar]: {fault}") from None


def _read(lang: str) -> dict[str, Any]:
    """Return the tables of a file; those that may be left out are empty."""
    table = read_toml(language(lang).folder / CALENDAR)
    return {"calendar": {}, "days": {}, "ages": {}, **table}


_FILES = {
    lang: _read(lang)
    for lang in (*LANGUAGES, *(other for other, own in other_codes().items() if own in LANGUAGES))
}


def _of_ages(key: str) -> dict[str, tuple[str, ...]]:
    return {lang: tuple(file["ages"][key]) for lang, file in _FILES.items() if key in file["ages"]}


WORDS: Mapping[str, CalendarWords] = {
    lang: _calendar(lang, file["calendar"]) for lang, file in _FILES.items()
}
DAY_WORDS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    lang: _freeze(file["days"].get("rows", [])) for lang, file in _FILES.items()
}
"""The days of the month as they stand before or after a month's name.

Rows of 31 words, each row in one form.
"""
NUMBERS = _of_ages("numbers")
"""0 to 99 in words; as all words of ages folded: small letters, no accents, blanks for hyphens."""
OTHER_NUMBERS: Mapping[str, Mapping[str, int]] = {
    lang: file["ages"].get("other_numbers", {}) for lang, file in _FILES.items()
}
"""Other spellings."""
ENDINGS = _of_ages("endings")
"""Suffixes that may follow a number without a blank: "45-vuotias", "einundzwanzigjährig"."""
YEARS = _of_ages("years")
"""Words beside an age that say no other unit."""


def _small_units(file: Mapping[str, Any]) -> dict[str, int]:
    per_year: dict[str, int] = {}
    for count, units in file["ages"].get("small_units", {}).items():
        per_year |= dict.fromkeys(units.split(), int(count))
    return per_year


SMALL_UNITS: Mapping[str, Mapping[str, int]] = {
    lang: _small_units(file) for lang, file in _FILES.items()
}
"""Units shorter than a year with how many make one.

"v" is a year in Finnish and a week in Swedish.
"""
DECADES = _of_ages("decades")
"""Words for an age in a decade, from the twenties on."""
