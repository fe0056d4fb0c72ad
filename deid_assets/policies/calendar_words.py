"""Month and weekday names, and how dates are written in the languages we read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deid_assets.policies.drawing import listed


@dataclass(frozen=True, slots=True)
class CalendarWords:
    """One language's names.

    Args:
        months: Twelve full names.
        short: Twelve abbreviations without a full stop.
        others: Other spellings, with their month from 1.
        weekdays: Full names and abbreviations.
        day_first: Whether 3/4 is the third of April.
    """

    months: tuple[str, ...]
    short: tuple[str, ...]
    others: Mapping[str, int]
    weekdays: tuple[str, ...]
    day_first: bool


WORDS: Mapping[str, CalendarWords] = {
    "en": CalendarWords(
        months=listed("January February March April May June July August September October November December"),
        short=listed("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"),
        others={"Sept": 9},
        weekdays=listed(
            "Monday Tuesday Wednesday Thursday Friday Saturday Sunday Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun"
        ),
        day_first=False,
    ),
    "es": CalendarWords(
        months=listed("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
        short=listed("ene feb mar abr may jun jul ago sep oct nov dic"),
        others={"setiembre": 9, "sept": 9, "set": 9},
        weekdays=listed("lunes martes miércoles miercoles jueves viernes sábado sabado domingo"),
        day_first=True,
    ),
    "de": CalendarWords(
        months=listed("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
        short=listed("Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez"),
        others={"Jänner": 1, "Maerz": 3, "Mrz": 3, "Sept": 9},
        weekdays=listed("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonnabend Sonntag Mo Di Mi Do Fr Sa So"),
        day_first=True,
    ),
    "fr": CalendarWords(
        months=listed("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
        short=listed("janv févr mars avr mai juin juil août sept oct nov déc"),
        others={"fevrier": 2, "aout": 8, "decembre": 12, "fev": 2, "fév": 2},
        weekdays=listed("lundi mardi mercredi jeudi vendredi samedi dimanche"),
        day_first=True,
    ),
}
"""Notes in other languages, or in none, are read with the English names; their numeric dates with the day first."""
