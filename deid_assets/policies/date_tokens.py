"""Cut a date into tokens and say, in one character each, what they may be.

===== ======================================== ===== =================================
D     one or two digits                        o     a filler: "of", "de", "den"
Y     four digits                               t     "to", "until", "bis"
E     eight digits                             s     the ending of an ordinal: "3rd"
S     six digits                               Q     a quarter's word: "Q", "Quartal"
M     a month's name                           Z     a season
W     a weekday's name                         H     a holiday
m     a month's or a weekday's: "mar"          ~     a dash that is no hyphen
w     a day of the month in words: "third"
===== ======================================== ===== =================================

A blank run is one space, and the marks ``. , / - : ' ( )`` and the degree sign stand for
themselves.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from deid_assets.policies.drawing import case_like, fold
from deid_assets.policies.time_words import DAY_WORDS, WORDS, CalendarWords

_MARKS = {mark: mark for mark in ".,/-:'()\u00b0"} | {
    "\u2019": "'",
    "\u2018": "'",
    "\u2010": "-",
    "\u2011": "-",
    "\u2012": "~",
    "\u2013": "~",
    "\u2014": "~",
    "\u2212": "-",
    "_": "-",
    "|": "/",
    "`": "'",
    "\u00b4": "'",
}
_LETTER = "[^\\W\\d_][\u0300-\u036f]*"
_TOKEN = rf"[0-9]+|(?:{_LETTER})+|\s+|."
_DIGITS = {1: "D", 2: "D", 4: "Y", 6: "S", 8: "E"}


@dataclass(frozen=True, slots=True)
class DateWord:
    """Meaning of a word.

    Args:
        kind: Its character, as above.
        number: Day and month from 1, weekday from 0 (Monday), season from 0 (winter); -1 for other
            words.
        names: The row it belongs to, by number; a day's and a month's row begins with an empty
            name.
        weekday: For ``m``, the weekday it may be, with its row.
        day: For a month before another month, the day it is: "sept novembre".
    """

    kind: str
    number: int = -1
    names: tuple[str, ...] = ()
    weekday: DateWord | None = None
    day: DateWord | None = None


@dataclass(frozen=True, slots=True)
class DateTokens:
    """A text in tokens.

    ``kinds`` has one character per token, ``words`` says what those of a lexicon mean.
    """

    kinds: str
    texts: tuple[str, ...]
    words: dict[int, DateWord]


@dataclass(frozen=True, slots=True)
class DateLexicon:
    """One language's words by their case-folded spelling, and the pattern that cuts its texts."""

    words: dict[str, DateWord]
    endings: frozenset[str]
    pattern: re.Pattern[str]


def tokens_of(text: str, lang: str) -> DateTokens | None:
    """Return the tokens, or ``None`` where one of them says nothing in a date."""
    lexicon = lexicon_of(lang)
    texts = lexicon.pattern.findall(text)
    kinds: list[str] = []
    words: dict[int, DateWord] = {}
    for place, token in enumerate(texts):
        kind = _plain_kind(token)
        if not kind:
            folded = unicodedata.normalize("NFC", token.casefold())
            if folded in lexicon.endings and _ends_number(kinds):
                kind = "s"
            else:
                word = lexicon.words.get(folded)
                if word is None:
                    return None
                words[place] = word
                kind = word.kind
        kinds.append(kind)
        if kinds[-3:] == ["M", " ", "M"] and (day := words[place - 2].day) is not None:
            words[place - 2], kinds[-3] = day, day.kind
    return DateTokens("".join(kinds), tuple(texts), words)


def _plain_kind(token: str) -> str:
    """Return the kind of digits, blanks and marks, and nothing for a word or what may stand for
    one.
    """
    if token[0] in "0123456789":
        return _DIGITS.get(len(token), "?")
    return " " if token.isspace() else _MARKS.get(token, "")


def _ends_number(kinds: list[str]) -> bool:
    return bool(kinds) and (
        kinds[-1] == "D" or kinds[-2:] == ["D", ":"] or kinds[-2:] == ["D", "."]
    )


@lru_cache(maxsize=256)
def case_row(names: tuple[str, ...], model: str) -> tuple[str, ...]:
    """Return the row in the case of the model: "MAY", "may", "May" or another."""
    return tuple(name and case_like(model, name) for name in names)


def row_like(word: DateWord, token: str) -> tuple[str, ...]:
    """Return the word's row, in the case the token has."""
    if len(token) > 1 and token.isupper():
        return case_row(word.names, "XX")
    if token.islower():
        return case_row(word.names, "x")
    return case_row(word.names, "Xx" if token[0].isupper() else "xX")


@lru_cache(maxsize=len(WORDS))
def lexicon_of(lang: str) -> DateLexicon:
    """Return the words of one of the languages of ``WORDS``."""
    calendar = WORDS[lang]
    words: dict[str, DateWord] = {}
    for row in _month_rows(calendar):
        _add(words, "M", ("", *row))
    for name, month in calendar.other_months.items():
        _put(words, name, DateWord("M", month, ("", *calendar.short)))
    for row in _weekday_rows(calendar):
        _add(words, "W", row)
    for name, weekday in calendar.other_weekdays.items():
        _put(
            words,
            name,
            DateWord("W", weekday, calendar.weekdays if len(name) > 4 else calendar.short_weekdays),
        )
    for row in DAY_WORDS[lang]:
        _add(words, "w", ("", *row))
    for row in (calendar.seasons, *calendar.season_forms):
        _add(words, "Z", row)
    for name, season in calendar.holidays.items():
        _put(words, name, DateWord("H", season, calendar.seasons))
    for kind, names in (("o", calendar.fillers), ("t", calendar.until), ("Q", calendar.quarter)):
        for name in names:
            _put(words, name, DateWord(kind))
    endings = frozenset(
        (*(ending for ending in calendar.ordinals if ending), *calendar.other_endings)
    )
    phrases = sorted((name for name in words if not name.isalpha()), key=len, reverse=True)
    joined = "|".join(re.escape(phrase) for phrase in phrases)
    start = rf"(?:{joined})(?![^\W_])|" if phrases else ""
    return DateLexicon(words, endings, re.compile(start + _TOKEN, re.IGNORECASE | re.DOTALL))


def _month_rows(calendar: CalendarWords) -> list[tuple[str, ...]]:
    inflected = [
        tuple(name + ending for name in calendar.months) for ending in calendar.month_endings
    ]
    return [calendar.months, calendar.short, *inflected, *calendar.month_forms]


def _weekday_rows(calendar: CalendarWords) -> list[tuple[str, ...]]:
    inflected = [
        tuple(name + ending for name in calendar.weekdays) for ending in calendar.weekday_endings
    ]
    return [calendar.weekdays, calendar.short_weekdays, *inflected, *calendar.weekday_forms]


def _add(words: dict[str, DateWord], kind: str, row: tuple[str, ...]) -> None:
    plain = tuple(fold(name) for name in row)
    for names in (row, plain):
        for number, name in enumerate(names):
            if name:
                _put(words, name, DateWord(kind, number, names))


def _put(words: dict[str, DateWord], name: str, word: DateWord) -> None:
    """Keep the first meaning of a spelling; one that is a month's and a weekday's keeps both."""
    spelling = unicodedata.normalize("NFC", name.casefold())
    known = words.setdefault(spelling, word)
    if known.kind == "M" and word.kind == "W":
        words[spelling] = DateWord("m", known.number, known.names, weekday=word)
    elif known.kind == "M" and word.kind == "w":
        words[spelling] = DateWord("M", known.number, known.names, day=word)
