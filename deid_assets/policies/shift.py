"""The replacer that moves dates by one offset per patient."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache, partial
from typing import ClassVar

from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_assets.policies.calendar_words import WORDS
from deid_assets.policies.date_reading import Written
from deid_assets.policies.dates import each_date, moved, rewritten
from deid_assets.policies.drawing import Draw, cased_like, fold, listed, require_patient
from deid_assets.policies.tags import Tag

MAX_DAYS = 3650
_COMMON_YEAR = 2001
_YEAR_DAYS = 365
# How a weekday's name begins, from Monday; "Sonnabend" is the one name that these do not tell.
_WEEKDAYS = {
    "en": "mo tu we th fr sa su",
    "es": "lu ma mi ju vi sa do",
    "de": "mo di mi do fr sa so",
    "fr": "lu ma me je ve sa di",
}


@dataclass(frozen=True, slots=True)
class Shift:
    """The date moved by its patient's offset, in the same format; the tag where it cannot be read or moved.

    The offset follows from the key and the patient, or the note where its patient is not known, so the order of
    full dates and the days between them stay. A day and month without a year move within a year of 365 days, so
    29 February never appears without one. Times of day stay.

    Args:
        max_days: Largest offset, either way; 1 to 3650, or 7 to 3650 with whole weeks.
        min_days: Smallest offset, at least 1.
        whole_weeks: Move by whole weeks, so that weekdays stay; without it a weekday's name moves too.
        require_patient: Refuse a note without a patient id.
    """

    max_days: int
    min_days: int = 1
    whole_weeks: bool = True
    require_patient: bool = False
    keyed: ClassVar[str] = "shifted dates"

    def __call__(self, text: str, span: Span, context: Context) -> str:
        if self.require_patient:
            require_patient(context, "shift")
        days, lang = self._days(context), context.note.lang
        found = each_date(text, lang, partial(_moved, days=days))
        if found is not None and days % 7:
            found = _other_weekdays(found, lang, days)
        is_other = found is not None and found.casefold() != text.casefold()
        return found if found is not None and is_other else Tag()(text, span, context)

    def offsets(self) -> range:
        """The offsets in one direction that the settings allow, in days; empty where they allow none."""
        step = 7 if self.whole_weeks else 1
        return range(-(-self.min_days // step) * step, self.max_days + 1, step)

    def _days(self, context: Context) -> int:
        settings = f"shift {self.min_days} {self.max_days} {self.whole_weeks:d}"
        days = context.numbers.get(settings)
        if days is None:
            draw, offsets = Draw(context, settings), self.offsets()
            days = context.numbers[settings] = draw.pick(offsets) * (1 if draw.below(2) else -1)
        return days


def _moved(text: str, written: Written, *, days: int) -> str | None:
    if written.year is not None or written.month is None or written.day is None:
        return moved(text, written, timedelta(days=days))
    is_leap_day = (written.month, written.day) == (2, 29)
    before = date(_COMMON_YEAR, written.month, 28 if is_leap_day else written.day)
    place = (before - date(_COMMON_YEAR, 1, 1)).days + days
    return rewritten(text, written, date(_COMMON_YEAR, 1, 1) + timedelta(days=place % _YEAR_DAYS))


def _other_weekdays(text: str, lang: str | None, days: int) -> str:
    own = lang if lang is not None and lang in WORDS else "en"
    for words_lang in dict.fromkeys((own, "en")):
        pattern = _weekday_pattern(words_lang)
        if pattern.search(text):
            return pattern.sub(partial(_weekday, lang=words_lang, days=days), text)
    return text


def _weekday(match: re.Match[str], *, lang: str, days: int) -> str:
    old, numbers = match[0], _weekday_numbers(lang)
    own = numbers[old.casefold()]
    is_full = len(old) == max(len(name) for name, number in numbers.items() if number == own)
    names = [name for name in WORDS[lang].weekdays if numbers[name.casefold()] == (own + days) % 7]
    return cased_like(old, max(names, key=len) if is_full else min(names, key=len))


@lru_cache(maxsize=len(WORDS))
def _weekday_numbers(lang: str) -> dict[str, int]:
    starts = listed(_WEEKDAYS[lang])
    numbers = {name.casefold(): starts.index(fold(name)[:2]) for name in WORDS[lang].weekdays}
    return numbers | ({"sonnabend": 5} if lang == "de" else {})


@lru_cache(maxsize=len(WORDS))
def _weekday_pattern(lang: str) -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in sorted(WORDS[lang].weekdays, key=len, reverse=True))
    # A weekday's name stands before the day: "So 3. Mai", and "di" alone is no Tuesday.
    return re.compile(rf"\b(?:{names})\b(?=\.?,?\s)", re.IGNORECASE)
