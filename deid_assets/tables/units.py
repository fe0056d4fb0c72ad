"""Units of measure: those of UCUM by its grammar, and others as hospitals write them, by a list.

A text is a unit where each of its words is one. Words beside those of UCUM are those of
``units.toml``, letter for letter; numbers are powers of ten and what a measurement is related to,
such as ``/24 h``. Some words are also names (``day``, ``mo``, ``U``): they are kept.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import product

MOST_CHARS = 40
MOST_PARTS = 5
_ANNOTATION = re.compile(r"\{([^{}]*)\}")
_BETWEEN = re.compile(r"[/.·*\u00d7\s]+")
_DIVISION = re.compile(r"\s*(?:/|\bper\b)\s*")
_POWER_OF_TEN = r"(?:[x\u00d7]\s?)?10\s?(?:[*^eE]|E\+)[+-]?[0-9]{1,2}"
_POWER_ALONE = re.compile(_POWER_OF_TEN)
_FACTOR = re.compile(rf"/?(?<!\w)(?:{_POWER_OF_TEN}|10{{3,6}}|^1(?=/))(?!\w)|/[0-9]{{1,3}}(?!\w)")
"""A power of ten, and a number that a measurement is related to; none that may be an age."""
_FOLLOWING = re.compile(r"[\s.·*\u00d7]*([^\W\d]+)")
"""The word after a number that is not divided by it."""
_HOURS = re.compile(r"/(?:[1-9]|[1-6][0-9]|7[0-2])[\s.]?(?:h|hrs?|hours?|HRS?)(?!\w)")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_EXPONENT = re.compile(r"\^?[+-]?[0-9]$")
_UNITY = "1"
_SQUARE_METRES = re.compile(r"1\.73\s?_?m\^?2", re.IGNORECASE)
"""Body surface to which a clearance is related; the only number with a fraction."""
_COLUMN_OF = re.compile(r"\b(mm|cm|MM|CM) (Hg|H2O|HG|hg)\b")
_DEGREES = re.compile(r"(?:\bdegrees|\bdeg|°) ?([CF])\b")
_PARENTHESES = re.compile(r"[()]")
_TITLE = re.compile(r"[A-Z][a-z]+")
_INITIAL = re.compile(r"(?<![^\W\d_])[^\W\d_]\.")
_OF_NAME = re.compile(r"[A-Z][a-z]*|[^\W\d_]\.")
"""Beside other words, what a name may be a part of."""


@cache
def _lists() -> dict[str, Sequence[str]]:
    text = files(__package__).joinpath("units.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def _symbols() -> frozenset[str]:
    """Return the symbols of UCUM with their prefixes, letter for letter."""
    known = _lists()
    prefixed = (f"{prefix}{unit}" for prefix, unit in product(known["prefixes"], known["metric"]))
    return frozenset({*known["plain"], *known["metric"], *prefixed})


@cache
def _list_written() -> frozenset[str]:
    return frozenset(_lists()["written"])


@cache
def _times() -> frozenset[str]:
    return frozenset(_lists()["times"])


@cache
def _annotations() -> frozenset[str]:
    return frozenset(_lists()["annotations"])


@lru_cache(maxsize=1 << 14)
def is_unit(text: str) -> bool:
    """Whether a text is a unit of measure, word by word.

    Words with a capital beside others, initials, and numbers before a unit of time are none: they
    may be names and ages.

    Args:
        text: Such as ``mmol/L``, ``10*3/uL``, ``mm[Hg]``, ``{score}``, ``beats/min``.
    """
    text = text.strip().translate(_SUPERSCRIPTS)
    if text == _UNITY or _POWER_ALONE.fullmatch(text):
        return True
    noted = _ANNOTATION.findall(text)
    if len(text) > MOST_CHARS or any(one.strip().casefold() not in _annotations() for one in noted):
        return False
    bare = _normalize(_ANNOTATION.sub("", text))
    if _has_counted_time(bare):
        return False
    bare, factors = _FACTOR.subn("/", bare)
    words = [part for part in _BETWEEN.split(bare) if part]
    if not (words or noted) or len(words) > MOST_PARTS or factors > 1 or _may_be_name(bare):
        return False
    only_ucum = any(map(_TITLE.fullmatch, words)) or _INITIAL.search(bare) is not None
    return all(_is_symbol(word, only_ucum=only_ucum) for word in words)


def _normalize(text: str) -> str:
    """Return a text with slashes alone, and what is written with blanks inside as one word."""
    text = _DIVISION.sub("/", _PARENTHESES.sub("", text))
    text = _COLUMN_OF.sub(r"\1\2", _SQUARE_METRES.sub("m2", text))
    return _HOURS.sub("/h", _DEGREES.sub(r"deg\1", text)).strip()


def _has_counted_time(bare: str) -> bool:
    """Whether a number stands before a unit of time, as in ages."""
    following = (_FOLLOWING.match(bare, one.end()) for one in _FACTOR.finditer(bare))
    return any(one is not None and one[1].casefold() in _times() for one in following)


def _may_be_name(bare: str) -> bool:
    """Whether a text has an initial, or a word with a capital beside others."""
    words = bare.strip("/ ").split()
    if len(words) == 1:
        return _INITIAL.fullmatch(bare) is not None
    return any(_OF_NAME.fullmatch(word) or _TITLE.fullmatch(word.strip(".,")) for word in words)


def _is_symbol(word: str, *, only_ucum: bool) -> bool:
    """Whether a word is a symbol, with a digit as its exponent.

    Args:
        word: One word of a text.
        only_ucum: Whether other spellings do not count, since a name may stand beside.
    """
    spellings = {word, _EXPONENT.sub("", word)}
    if not _symbols().isdisjoint(spellings):
        return True
    return not only_ucum and not _list_written().isdisjoint(spellings)
