"""The age rule of Safe Harbor: every age over 89 becomes one category."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_assets.policies.drawing import fold, listed
from deid_assets.policies.tags import Tag

POOLED = "90+"
_NUMBER = re.compile(r"([0-9]+)(?:[.,][0-9]+)?[\s-]*([a-z]*)")
_STRANGE = re.compile(r"[^\W0-9a-z_]")  # letters and digits that folding does not turn into ASCII
_LETTERS = re.compile(r"[a-z]+")
_YEARS_OLD = re.compile(r"(?<![a-z])y\W?o(?![a-z])")  # an "o" elsewhere may be a misread zero
# Spelled in full, or any sign of one: "90s", "ninety-two", "nonagenarian", "noventa y uno", "neunzig".
_OVER_89 = re.compile(
    r"ninet(?!een)|nonagen|centen|hundred|noventa|noventon|\bcien|neunzig|hundert"
    r"|quatre-?\s?vingt-?\s?(?:dix|onze|douze|treize|quatorze|quinze|seize)|\bcent\b|negentig|honderd|novant|\bcento|devades|nittio|hundra|yhdeksankymm|\bsata"
)
_DIGIT = r"(?:[0-9]|zero|oh|one|two|three|four|five|six|seven|eight|nine|cero|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve)"
# Digits one by one, as dictated or scanned: "9 2", "nine two", "1 0 2". Not "9 1/2".
_SPACED = re.compile(rf"(?<![0-9a-z])(?:9|nine|nueve|(?:1|one|uno)[\s-]+{_DIGIT})[\s-]+{_DIGIT}(?![0-9a-z/])")
_SMALL_UNITS = frozenset(
    listed(
        "d day days dia dias w wk wks week weeks semana semanas mo mos mth mths month months mes meses tag "
        "tage tagen woche wochen monat monate monaten jour jours semaine semaines mois h hour hours hora "
        "horas"
    )
)
# Every word that may stand beside an age under 90, folded; another word means the text was not understood.
_UNDERSTOOD = _SMALL_UNITS | frozenset(
    listed(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty twenties thirties "
        "forties fifties sixties seventies eighties teens teenager infant newborn neonate toddler "
        "adolescent early mid late year years yr yrs yo y s old aged age in his her their the a an of "
        "and half un una uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce "
        "quince dieciseis diecisiete dieciocho diecinueve veinte veintiun veintiuno veintiuna veintidos "
        "veintitres veinticuatro veinticinco veintiseis veintisiete veintiocho veintinueve treinta "
        "cuarenta cincuenta sesenta setenta ochenta ano anos edad medio media con recien nacido nacida "
        "adolescente lactante neonato de los las el la jahre jahren jahr jahrig jahrige jahriger jahriges alt "
        "ans an"
    )
)


@dataclass(frozen=True, slots=True)
class Age90:
    """Keeps an age up to 89, writes ``90+`` for a higher one, and tags what it cannot read.

    Numbers with a unit shorter than a year are ages of infants and stay. 45 CFR 164.514(b)(2)(i)(C).
    """

    may_keep: ClassVar[bool] = True

    def __call__(self, text: str, span: Span, context: Context) -> str:
        value = fold(text)
        found = _NUMBER.findall(value)
        is_high = any(len(number) > 3 or int(number) >= 90 for number, unit in found if unit not in _SMALL_UNITS)
        if is_high or _OVER_89.search(value):
            return POOLED
        words = set(_LETTERS.findall(_YEARS_OLD.sub("yo", value)))
        is_strange = _STRANGE.search(value) or _SPACED.search(value)
        is_understood = (found or words) and words <= _UNDERSTOOD and not is_strange
        return text if is_understood else Tag()(text, span, context)
