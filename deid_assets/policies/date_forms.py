"""The forms of dates, over the kinds of their tokens; one form serves every language.

The forms are matched once per sequence of kinds, of which there are few, and not once per text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from deid_assets.core.errors import ConfigError
from deid_assets.languages import CALENDAR
from deid_assets.policies.time_words import WORDS

_BEFORE = r"(?:[Wm]\.?,? ?)?(?:[ot]['.-]? ?)*"
_AFTER = r"\.?(?:,? ?\(?W\.?\)?)?(?: o)*"
_ENDING = r"(?::?s|\.s|\u00b0)?"
_JOIN = r"[ ./,-]*(?:o['.-]? ?)*"
_YEAR = r"(?:[ ./,-]*(?:o['.-]? ?)*'?(?P<y>[YD]))?"
_SOURCES = (
    r"(?P<y>Y) ?(?P<x>[-/.]) ?(?P<m>D) ?(?P=x) ?(?P<d>D)",
    r"(?P<e>E)",
    r"(?P<e>S)",
    r"(?P<a>D) ?(?P<x>[-/.]) ?(?P<b>D) ?(?P=x) ?'?(?P<y>[YD])",
    r"(?P<a>D) ?[/.] ?(?P<b>D)\.? (?P<y>Y)",
    r"(?P<a>D) (?P<b>D) (?P<y>Y)",
    r"(?P<y>Y) (?P<m>D) (?P<d>D)",
    rf"(?P<d>[Dw]){_ENDING}\.?{_JOIN}(?P<m>[Mm])\.?{_YEAR}",
    rf"(?P<m>[Mm])\.? ?(?:o ?)*(?P<d>[Dw]){_ENDING}(?:[ ,]+(?:o ?)*'?(?P<y>[YD]))?",
    rf"(?P<m>[Mm])[-/.](?P<d>D){_ENDING}[-/.,] ?'?(?P<y>[YD])",
    rf"(?P<y>Y)[ ,./-]*(?P<m>[Mm])\.?(?:[ ./-]*(?P<d>D){_ENDING})?",
    rf"(?P<m>[Mm])\.?(?:{_JOIN}(?P<y>Y))?",
    r"(?P<m>[Mm])\.?(?: ?[-/] ?'?| ?')(?P<y>D)",
    r"(?P<m>[Mm])\.? (?:o ?)*(?P<y>D)",
    r"(?P<m>D) ?[-/.] ?(?P<y>Y)",
    r"(?P<y>Y)[-/.](?P<m>D)",
    r"(?P<a>D) ?[-/.] ?(?P<b>D)\.?",
    r"(?P<y>Y)",
    r"(?P<z>Z)(?:[ ,/-]*(?:o['.]? ?)*'?(?P<y>[YD]))?",
    r"(?P<h>H)(?:[ ,/-]*(?:o['.]? ?)*'?(?P<y>[YD]))?",
    r"Q ?(?P<q>D)(?:[ ,/-]*(?:o['.]? ?)*'?(?P<y>[YD]))?",
    rf"(?P<q>D){_ENDING}\.? ?Q(?:[ ,/-]*(?:o['.]? ?)*'?(?P<y>[YD]))?",
    r"(?P<y>Y)[ /-]*Q ?(?P<q>D)",
    r"(?P<d>D):?s",
)
_FORMS = tuple(re.compile(_BEFORE + source + _AFTER) for source in _SOURCES)
_NAMED_FORMS: Mapping[str, re.Pattern[str]] = {
    "d/m-y": re.compile(_BEFORE + r"(?P<a>D) ?/ ?(?P<b>D) ?- ?'?(?P<y>D)" + _AFTER),
    "yy-mm-dd": re.compile(_BEFORE + r"(?P<y>D)-(?P<m>D)-(?P<d>D)" + _AFTER),
}
"""Forms of some languages alone, 3/5-21 and 21-05-03, by what their ``own_forms`` call them."""
_DAY_AFTER_WORD = re.compile(r"(?:[Wm]\.?,? ?)?(?:[ot]['.-]? ?)+(?P<d>D)\.?")
_WEEKDAY = re.compile(r"(?:[ot] ?)*[Wm]\.?")
_DAY = re.compile(_BEFORE + rf"(?P<d>[Dw]){_ENDING}\.?")
_DAY_AND_YEAR = re.compile(rf"(?P<d>[Dw]){_ENDING}(?:[ ,]+(?:o ?)*'?(?P<y>[YD]))?" + _AFTER)
_SHORT_YEAR = re.compile(r"'?(?P<y>D)")
_BETWEEN = re.compile(r" ?~ ?| - | t(?:' ?| )| ?[-/] ?")

Roles = dict[str, int]
"""The parts of one date, each with the place of its token: y, m, d.

A and b where their order is open; e for digits
without separators, z, h, q for a season, a holiday, a quarter; w for a weekday."""


@dataclass(frozen=True, slots=True)
class Range:
    """Two dates: the roles of each, the token after the first and the token the second begins with.

    Args:
        first: Roles of the first.
        second: Roles of the second.
        end: One past the last token of the first.
        start: First token of the second.
        short: Which of the two leaves the month to the other, "first" or "second", or empty.
    """

    first: Roles
    second: Roles
    end: int
    start: int
    short: str = ""


@lru_cache(maxsize=4096)
def single_forms(kinds: str, *, lang: str = "") -> tuple[Roles, ...]:
    """Return every way to read the kinds as one date, the likeliest first."""
    return tuple(_singles(kinds, lang))


@lru_cache(maxsize=4096)
def range_forms(kinds: str) -> tuple[Range, ...]:
    """Return every way to read the kinds as two dates, the likeliest first."""
    return tuple(found for match in _BETWEEN.finditer(kinds) for found in _ranges(kinds, match))


def _singles(kinds: str, lang: str) -> Iterator[Roles]:
    for form in (*_own_forms(lang), *_FORMS):
        if match := form.fullmatch(kinds):
            yield _roles(match)
    if match := _DAY_AFTER_WORD.fullmatch(kinds):
        yield _roles(match)
    if match := _WEEKDAY.fullmatch(kinds):
        yield _roles(match)


def _own_forms(lang: str) -> Iterator[re.Pattern[str]]:
    words = WORDS.get(lang)
    for name in words.own_forms if words else ():
        if name not in _NAMED_FORMS:
            known = ", ".join(_NAMED_FORMS)
            raise ConfigError(f"{lang}/{CALENDAR}: own_forms: {name!r} is none of {known}")
        yield _NAMED_FORMS[name]


def _roles(match: re.Match[str], offset: int = 0) -> Roles:
    roles = {
        name: start + offset
        for name in match.groupdict()
        if name != "x" and (start := match.start(name)) >= 0
    }
    months = {roles[name] for name in ("m",) if name in roles}
    weekdays = (place + offset for place, kind in enumerate(match.string) if kind in "Wm")
    weekday = next((place for place in weekdays if place not in months), None)
    return roles if weekday is None else {**roles, "w": weekday}


def _ranges(kinds: str, match: re.Match[str]) -> Iterator[Range]:
    left, right = kinds[: match.start()], kinds[match.end() :]
    end, start = match.start(), match.end()
    firsts = single_forms(left)
    seconds = [_move(roles, start) for roles in single_forms(right)]
    pairs = ((first, second) for first in firsts for second in seconds)
    yield from (
        Range(first, second, end, start)
        for first, second in pairs
        if _level(first) == _level(second) != ""
    )
    if day := _DAY.fullmatch(left):
        yield from (Range(_roles(day), second, end, start, "first") for second in seconds)
    if day := _DAY_AND_YEAR.fullmatch(right):
        second = _roles(day, start)
        yield from (
            Range(first, second, end, start, "second")
            for first in firsts
            if {"m", "d"} <= first.keys()
        )
    if year := _SHORT_YEAR.fullmatch(right):
        yield from (
            Range(first, _roles(year, start), end, start)
            for first in firsts
            if first.keys() == {"y"}
        )


def _level(roles: Roles) -> str:
    """Return the finest part, so that a day is not taken for the beginning of a year.

    Nothing for a weekday alone.
    """
    if roles.keys() & {"d", "e", "a"}:
        return "d"
    return next((name for name in "mzqy" if name in roles), "")


def _move(roles: Roles, offset: int) -> Roles:
    return {name: place + offset for name, place in roles.items()}
