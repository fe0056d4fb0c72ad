"""The age rule of Safe Harbor: every age over 89 becomes one category.

And what an age says, in eight languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_assets.policies.drawing import Draw, fold, split_words
from deid_assets.policies.fallbacks import fall_back
from deid_assets.policies.time_words import (
    DECADES,
    ENDINGS,
    NUMBERS,
    OTHER_NUMBERS,
    SMALL_UNITS,
    YEARS,
)

POOLED = "90+"
_OLDEST = 89
_NUMBER = re.compile(r"(?P<number>[0-9]+)(?:[.,][0-9]+)?[\s'\u2019-]*(?P<unit>[a-z]*)")
_STRANGE = re.compile(r"[^\W0-9a-z_]")  # letters and digits that folding does not turn into ASCII
_LETTERS = re.compile(r"[a-z]+")
_YEARS_OLD = re.compile(r"(?<![a-z])y\W?o(?![a-z])")  # an "o" elsewhere may be a misread zero
# Spelled in full, or any mention of one: "90s", "ninety-two", "nonagenarian", "noventa y uno",
# "neunzig".
_OVER_89 = re.compile(
    r"ninet(?!een)|nonagen|centen|hundred|noventa|noventon|\bcien|neunzig|hundert|nonant"
    r"|quatre-?\s?vingt-?\s?(?:dix|onze|douze|treize|quatorze|quinze|seize)|\bcent\b|negentig|honderd|novant|\bcento"
    r"|nittio|hundra|nitti|halvfems|hundre|yhdeksan-?kymm|yhdeksan-?kymp|ysikymp|\bsata"
)
_DIGIT = (
    r"(?:[0-9]|zero|oh|one|two|three|four|five|six|seven|eight|nine"
    r"|cero|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve)"
)
# Digits one by one, as dictated or scanned: "9 2", "nine two", "1 0 2". Not "9 1/2".
_SPACED = re.compile(
    rf"(?<![0-9a-z])(?:9|nine|nueve|(?:1|one|uno)[\s-]+{_DIGIT})[\s-]+{_DIGIT}(?![0-9a-z/])"
)
_PER_YEAR = {
    **dict.fromkeys(split_words("d day days dia dias tag tage tagen jour jours"), 365),
    **dict.fromkeys(
        split_words("w wk wks week weeks semana semanas woche wochen semaine semaines"), 52
    ),
    **dict.fromkeys(
        split_words("mo mos mth mths month months mes meses monat monate monaten mois"), 12
    ),
    **dict.fromkeys(split_words("h hour hours hora horas"), 8760),
}
# Every word that may stand beside an age under 90, folded; another word means the text was not
# understood.
_UNDERSTOOD = frozenset(_PER_YEAR) | frozenset(
    split_words(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
        " sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty"
        " twenties thirties forties fifties sixties seventies eighties teens teenager infant"
        " newborn neonate toddler adolescent early mid late year years yr yrs yo y s old aged age"
        " in his her their the a an of and half un una uno dos tres cuatro cinco seis siete ocho"
        " nueve diez once doce trece catorce quince dieciseis diecisiete dieciocho diecinueve"
        " veinte veintiun veintiuno veintiuna veintidos veintitres veinticuatro veinticinco"
        " veintiseis veintisiete veintiocho veintinueve treinta cuarenta cincuenta sesenta setenta"
        " ochenta ano anos edad medio media con recien nacido nacida adolescente lactante neonato"
        " de los las el la jahre jahren jahr jahrig jahrige jahriger jahriges alt ans an"
    )
)
_DECADE_ENDINGS = frozenset(split_words("s er ern arsaldern tal talet kymppinen kymppisena"))


@dataclass(frozen=True, slots=True)
class AgeWords:
    """Words that the ages of one language are written with, folded.

    Args:
        understood: Words that may stand beside an age.
        per_year: Units shorter than a year, with how many make one.
        numbers: Numbers in words, blanks for hyphens.
        decades: Words for a decade, with its first year.
        endings: What may follow a number in words without a blank.
        spelled: Finds numbers and decades in words, and the word after.
    """

    understood: frozenset[str]
    per_year: Mapping[str, int]
    numbers: Mapping[str, int]
    decades: Mapping[str, int]
    endings: frozenset[str]
    spelled: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Age:
    """The years that an age may be, first and last; the same twice for most."""

    first: int
    last: int


OVER_89 = Age(90, 90)


@dataclass(frozen=True, slots=True)
class Age90:
    """Keeps an age up to 89, writes ``90+`` for a higher one, and tags what it cannot read.

    Numbers with a unit shorter than a year are ages of infants and stay. 45 CFR
    164.514(b)(2)(i)(C).
    """

    may_keep: ClassVar[bool] = True

    def __call__(self, text: str, span: Span, context: Context) -> str:
        ages = ages_of(text, context.note.lang)
        if ages is None:
            return fall_back(text, span, context)
        return POOLED if OVER_89 in ages else text


@dataclass(frozen=True, slots=True)
class ShiftAge:
    """The age moved by its patient's few years, in digits (Vakili 2025); over 89 it is ``90+``.

    The tag where the age cannot be read, is a range, or is given in months or days: those tell
    nobody apart by a few years.

    Args:
        max_years: Largest step, either way, at least 1.
    """

    max_years: int = 3
    keyed: ClassVar[str] = "moved ages"

    def __call__(self, text: str, span: Span, context: Context) -> str:
        ages = ages_of(text, context.note.lang)
        if ages is not None and OVER_89 in ages:
            return POOLED
        age = (
            ages[0].first
            if ages is not None and len(ages) == 1 and ages[0].first == ages[0].last
            else None
        )
        moved = (
            None
            if age is None
            else _rewrite(text, age, self._move(age, context), context.note.lang)
        )
        return fall_back(text, span, context) if moved is None else moved

    def _move(self, age: int, context: Context) -> int:
        draw = Draw(context, f"age {self.max_years}")
        step = (1 + draw.below(self.max_years)) * (1 if draw.below(2) else -1)
        return age + step if 0 <= age + step <= _OLDEST else age - step


def _rewrite(text: str, age: int, moved: int, lang: str | None) -> str | None:
    """Return the text with another age in digits.

    ``None`` where it does not say the age once, in years.
    """
    digits = re.findall(r"[0-9]+", text)
    if digits:
        return text.replace(digits[0], str(moved)) if digits == [str(age)] else None
    value = _fold_letters(text)
    word = next((match for match in words_of(lang).spelled.finditer(value)), None)
    if word is None or len(value) != len(text) or words_of(lang).numbers.get(word["number"]) != age:
        return None
    start, end = word.span("number")
    return f"{text[:start]}{moved}{text[end:]}"


def ages_of(text: str, lang: str | None) -> tuple[Age, ...] | None:
    """Return the ages of a text in years, or ``None`` if there is a word in it that is not
    understood.

    Any sign of an age over 89 makes ``OVER_89`` of the whole. Words such as "infant" say no number.
    """
    value = _fold_letters(text)
    words = words_of(lang)
    found = [*_in_digits(value, words), *_in_words(value, words)]
    if OVER_89 in found or _OVER_89.search(value):
        return (OVER_89,)
    plain = words.spelled.sub(" 0 ", _YEARS_OLD.sub("yo", value).replace("-", " "))
    beside = set(_LETTERS.findall(plain))
    if (
        not (found or beside)
        or not beside <= words.understood
        or _STRANGE.search(value)
        or _SPACED.search(value)
    ):
        return None
    return tuple(found)


def _fold_letters(text: str) -> str:
    """Return the text folded, letter by letter; ``ø`` has no accent that could be taken off."""
    return fold(text).replace("ø", "o")


def whole_years(text: str) -> frozenset[int]:
    """Return the ages of a text in whole years, as any of the languages reads them.

    90 stands for every age over 89, and the first year for a decade. Of a text that is not
    understood there are none.
    """
    readings = (ages_of(text, lang) or () for lang in sorted(NUMBERS))
    return frozenset(age.first for ages in readings for age in ages)


def is_dictated(text: str, lang: str | None) -> bool:
    """Whether numbers follow each other with nothing but a blank between.

    "4 5" and "four five" may be 45.
    """
    words = words_of(lang)
    value = _fold_letters(text).replace("-", " ")
    return re.search(r"[0-9]\s+[0-9]", text) is not None or any(
        match["next"] in words.numbers for match in words.spelled.finditer(value)
    )


def _in_digits(value: str, words: AgeWords) -> Iterator[Age]:
    for match in _NUMBER.finditer(value):
        # Python refuses to read thousands of digits; a number of ten is no age.
        number, unit = int(match["number"].lstrip("0")[:10] or "0"), match["unit"]
        per_year = words.per_year.get(unit, 1)
        if per_year == 1 and number > _OLDEST:
            yield OVER_89
        elif unit in _DECADE_ENDINGS:
            yield Age(number, number + 9)
        else:
            yield Age(number // per_year, number // per_year)


def _in_words(value: str, words: AgeWords) -> Iterator[Age]:
    for match in words.spelled.finditer(value.replace("-", " ")):
        decade = words.decades.get(match["number"])
        number = words.numbers.get(match["number"], decade or 0)
        per_year = words.per_year.get(match["next"] or "", 1)
        if per_year == 1 and number > _OLDEST:
            yield OVER_89
        else:
            yield Age(number // per_year, number // per_year + (9 if decade else 0))


@lru_cache(maxsize=16)
def words_of(lang: str | None) -> AgeWords:
    """Return the words of a note's language; English where there are none of its own."""
    own = lang if lang in NUMBERS and lang is not None else "en"
    numbers = {word: number for number, word in enumerate(NUMBERS[own])} | dict(OTHER_NUMBERS[own])
    decades = {word: 20 + 10 * place for place, word in enumerate(DECADES[own])}
    phrases = "|".join(
        re.escape(phrase) for phrase in sorted((*numbers, *decades), key=len, reverse=True)
    )
    endings = frozenset(ENDINGS.get(own, ()))
    joined = f"(?:{'|'.join(sorted(endings, key=len, reverse=True))})" if endings else "(?!)"
    return AgeWords(
        understood=_UNDERSTOOD
        | frozenset(YEARS.get(own, ()))
        | frozenset(SMALL_UNITS.get(own, {}))
        | endings
        | _DECADE_ENDINGS,
        per_year=_PER_YEAR | dict(SMALL_UNITS.get(own, {})),
        numbers=numbers,
        decades=decades,
        endings=endings,
        spelled=re.compile(
            rf"(?<![a-z])(?P<number>{phrases})(?:\s?{joined})?(?![a-z])(?=(?:\s+(?P<next>[a-z]+))?)"
        ),
    )
