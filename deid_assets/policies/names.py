"""Surrogates for names: word by word, so that "Maria Garcia" and a later "Garcia" agree."""

from __future__ import annotations

import re
import unicodedata

from deid_assets.core.redact import Context
from deid_assets.policies.drawing import ATTEMPTS, Draw, cased_like, fold, listed
from deid_assets.policies.shapes import reshape
from deid_assets.policies.vocabulary import genders, vocabulary

# Letters with their combining marks; an apostrophe inside, as in O'Brien.
_WORD = re.compile(r"[^\W\d_][\u0300-\u036f]*(?:['\u2019]?[^\W\d_][\u0300-\u036f]*)*")
_POSSESSIVE = ("'s", "\u2019s", "'S", "\u2019S")
_LETTERS = "ABCDEFGHIJKLMNOPRSTVW"
# Particles, titles and degrees do not say which person it is.
_PARTICLES = frozenset(
    listed("da das de del della den der di do dos du e i la las le los ten ter van vom von y zu zum")
)
_TITLES = frozenset(listed("dr dra drs prof mr mrs ms miss sr sra srta herr frau"))
_DEGREES = frozenset(listed("jr sr md phd rn"))
_SPANISH_TITLES = frozenset(("don", "dona"))  # "Don" is a first name in English


def person(text: str, context: Context, attempt: int = 0) -> str | None:
    """Return another name with the same number of words, initials, particles, case and punctuation.

    A word that is a known first name becomes a first name of the same gender, any other a surname. ``None`` for
    scripts whose vowel signs are no letters: they would stay.
    """
    found = list(_WORD.finditer(text))
    parts: list[str] = []
    cursor = 0
    for place, match in enumerate(found):
        replaced = match[0] if _is_kept(match[0], place, len(found), context) else _word(match[0], context, attempt)
        parts += (text[cursor : match.start()], replaced)
        cursor = match.end()
    between = "".join((*parts[::2], text[cursor:]))
    if any(unicodedata.category(char).startswith("M") for char in between):
        return None
    name = "".join((*parts, text[cursor:]))
    return _other_digits(name, context, attempt) if any(map(str.isdigit, name)) else name


def username(text: str, context: Context, attempt: int = 0) -> str:
    """Return an account name of the same shape."""
    return reshape(text, context, "USERNAME", attempt)


def last_name(context: Context, kind: str, value: str, *, attempt: int = 0) -> str:
    """Return the surname that names a street, a hospital or an organisation."""
    return Draw(context, kind, value, attempt=attempt).pick(vocabulary(context.note.lang).last)


def _is_kept(token: str, place: int, count: int, context: Context) -> bool:
    value = fold(token)
    if value in _PARTICLES:
        # One letter in capitals is an initial: John E Smith.
        is_initial = len(token) == 1 and token.isupper()
        return place < count - 1 and not is_initial and (place > 0 or (token.islower() and len(token) > 1))
    is_title = value in _TITLES or (value in _SPANISH_TITLES and context.note.lang == "es")
    return (is_title and place < count - 1) or (value in _DEGREES and place > 0)


def _word(token: str, context: Context, attempt: int) -> str:
    stem, ending = (token[:-2], token[-2:]) if token.endswith(_POSSESSIVE) else (token, "")
    value = fold(stem)
    if len(value) == 1:
        return _initial(stem, context, attempt) + ending
    if len(stem) == 2 and stem.isupper():
        return "".join(_initial(letter, context, attempt) for letter in stem) + ending
    words = vocabulary(context.note.lang)
    gender = genders(context.note.lang).get(value)
    pool = words.last if gender is None else words.female if gender == "female" else words.male
    for number in range(attempt, attempt + ATTEMPTS):
        drawn = Draw(context, "name", value, attempt=number).pick(pool)
        if fold(drawn) != value:
            break
    return cased_like(stem, drawn) + ending


def _initial(letter: str, context: Context, attempt: int) -> str:
    others = _LETTERS.replace(letter[0].upper(), "")
    return cased_like(letter, Draw(context, "initial", letter.upper(), attempt=attempt).pick(others))


def _other_digits(name: str, context: Context, attempt: int) -> str:
    digits = iter(reshape("".join(filter(str.isdigit, name)), context, "name digits", attempt))
    return "".join(next(digits) if char.isdigit() else char for char in name)
