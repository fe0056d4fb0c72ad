"""Dates and ages as a grammar sees them."""

from __future__ import annotations

import datetime as dt
from random import Random

from deid_synthesis.grammar import Grammar

YOUNGEST_IN_WORDS = 30


def age_on(born: dt.date, day: dt.date) -> int:
    """Return the completed years of age on a day."""
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))


def draw_birth_date(age: int, day: dt.date, rng: Random) -> dt.date:
    """Return a date of birth that gives the age on the day."""
    latest = dt.date(day.year - age, day.month, min(day.day, 28))
    return latest - dt.timedelta(days=rng.randint(0, 360))


def date_variables(day: dt.date, grammar: Grammar) -> dict[str, str]:
    """Return the variables of a date as a subject.

    ``d``/``dd`` and ``m``/``mm`` without and with a leading zero, ``yy``/``yyyy``, ``month``,
    ``mon`` (abbreviated), ``weekday``, ``ordinal`` ("3rd") and ``dword`` ("third"), ``iso``, and
    ``dd_to``: the day two days later, for ranges (kept within the month).
    """
    words = grammar.lines("calendar.ordinals")
    until = day.day + 2 if day.day <= 26 else day.day
    since = day.day if until > day.day else day.day - 2
    return {
        "key": day.isoformat(),
        "d": str(day.day),
        "dd": f"{day.day:02d}",
        "m": str(day.month),
        "mm": f"{day.month:02d}",
        "yy": f"{day.year % 100:02d}",
        "yyyy": str(day.year),
        "month": grammar.lines("calendar.months")[day.month - 1],
        "mon": grammar.lines("calendar.mons")[day.month - 1],
        "weekday": grammar.lines("calendar.weekdays")[day.weekday()],
        "dword": words[day.day - 1],
        "ordinal": str(day.day) + _suffix(day.day),
        "iso": day.isoformat(),
        "d_from": str(since),
        "d_to": str(until),
    }


def _suffix(number: int) -> str:
    """Return the English ordinal suffix; other languages do not use it."""
    if number in {11, 12, 13}:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def age_variables(age: int, grammar: Grammar) -> dict[str, str]:
    """Return ``age`` in digits, ``age_words`` (young ages in digits, as notes have them) and
    ``decade`` ("nineties").
    """
    words = str(age) if age < YOUNGEST_IN_WORDS else grammar.lines("numbers.words")[age]
    return {
        "age": str(age),
        "age_words": words,
        "decade": grammar.lines("numbers.decades")[min(age // 10, 9)],
    }
