"""The replacer that moves dates by one offset per patient."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_assets.policies.date_reading import reading
from deid_assets.policies.dates import move_dates
from deid_assets.policies.drawing import Draw, require_patient
from deid_assets.policies.fallbacks import fall_back

MAX_DAYS = 3650
_YEAR_DAYS = 365.25
_NEAR_DAYS = 3.5


@dataclass(frozen=True, slots=True)
class Shift:
    """The date moved by its patient's offset, in the same format.

    The tag where it cannot be read or moved.

    The offset follows from the key and the patient, or the note where its patient is not known, so
    the order of full dates and the days between them stay. A day and month without a year move
    within a year of 365 days, so 29 February never appears without one. Times of day stay.

    Args:
        max_days: Largest offset, either way; 1 to 3650, or 7 to 3650 with whole weeks.
        min_days: Smallest offset, at least 1.
        whole_weeks: Move by whole weeks, so that weekdays stay; without it a weekday's name moves
            too.
        require_patient: Refuse a note without a patient id.
        keep_season: Move by whole years to within 3.5 days, so that the season stays; a holiday
            becomes its season.
        oldest_year: Years before it get the tag: of someone over 89, a moved birth date tells the
            age.
    """

    max_days: int
    min_days: int = 1
    whole_weeks: bool = True
    require_patient: bool = False
    keep_season: bool = False
    oldest_year: int | None = None
    keyed: ClassVar[str] = "shifted dates"

    def __call__(self, text: str, span: Span, context: Context) -> str:
        if self.require_patient:
            require_patient(context, "shift")
        lang = context.note.lang
        if self.oldest_year is not None and self._is_too_old(text, lang):
            return fall_back(text, span, context)
        days = context.numbers.get(id(self)) or self.offset_days(context)
        found = move_dates(text, lang, days=days, keep_season=self.keep_season)
        if found is None or found == text:
            return fall_back(text, span, context)
        return found

    def offsets(self) -> tuple[int, ...]:
        """The offsets in one direction that the settings allow, in days.

        Empty where they allow none.
        """
        return _offsets(
            self.min_days, self.max_days, 7 if self.whole_weeks else 1, self.keep_season
        )

    def offset_days(self, context: Context) -> int:
        """Return the offset of the note's patient, in days."""
        days = context.numbers.get(id(self))
        if days is None:
            settings = (
                f"shift {self.min_days} {self.max_days} {self.whole_weeks:d}"
                + " seasons" * self.keep_season
            )
            draw, offsets = Draw(context, settings), self.offsets()
            days = context.numbers[id(self)] = draw.pick(offsets) * (1 if draw.below(2) else -1)
        return days

    def _is_too_old(self, text: str, lang: str | None) -> bool:
        found = reading(text, lang)
        dates = () if found is None else (found.first, found.second)
        oldest = self.oldest_year or 0
        return any(one is not None and one.year is not None and one.year < oldest for one in dates)


@lru_cache(maxsize=64)
def _offsets(least: int, most: int, step: int, near_years: bool) -> tuple[int, ...]:
    allowed = range(-(-least // step) * step, most + 1, step)
    return tuple(days for days in allowed if not near_years or _is_near_years(days))


def _is_near_years(days: int) -> bool:
    rest = days % _YEAR_DAYS
    return days > _NEAR_DAYS and min(rest, _YEAR_DAYS - rest) <= _NEAR_DAYS
