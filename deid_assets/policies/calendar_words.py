"""The words that dates are written with in the languages we read, and how their numbers stand.

Names of months and weekdays are those of CLDR, as Babel brings it; endings and other spellings are those of clinical
notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from babel import Locale

from deid_assets.policies.drawing import listed


@dataclass(frozen=True, slots=True)
class CalendarWords:
    """One language's words.

    Args:
        months: Twelve full names.
        short: Twelve abbreviations without a full stop.
        weekdays: Seven full names, from Monday.
        short_weekdays: Seven abbreviations without a full stop.
        seasons: Winter, spring, summer, autumn.
        fillers: Words that stand before or between the parts of a date and say no time of their own.
        until: Words between the two ends of a range, or before the second.
        ordinals: Ending of the day from 1 to 31, or one ending for all; empty where none is written.
        other_endings: Endings that are read as well.
        quarter: Words for a quarter of a year; the first letter of the short form stands before the number: Q1.
        month_endings: Endings of inflected full names of months, appended.
        weekday_endings: The same for weekdays.
        month_forms: Further rows of twelve names, each row in one form.
        weekday_forms: Further rows of seven names.
        season_forms: Further rows of four names.
        other_months: Other spellings, with their month from 1; they come back as abbreviations.
        other_weekdays: Other spellings, with their weekday from 0; they come back as full names.
        holidays: Names of holidays, with the season they stand for: 0 winter, 1 spring, 2 summer, 3 autumn.
        day_first: Whether 3/4 is the third of April.
        pads: Whether 12.10.2021 becomes 03.05.2021 rather than 3.5.2021.
        first_day: How the first day of a month is written before its name, where that is not 1.
        elided: Articles with what they become before the days that begin with a vowel, 8 and 11.
        six_digits: Order of six digits in a row: "ymd", "dmy", or empty where they are not read.
    """

    months: tuple[str, ...]
    short: tuple[str, ...]
    weekdays: tuple[str, ...]
    short_weekdays: tuple[str, ...]
    seasons: tuple[str, ...]
    fillers: tuple[str, ...]
    until: tuple[str, ...]
    quarter: tuple[str, ...]
    ordinals: tuple[str, ...] = ()
    other_endings: tuple[str, ...] = ()
    month_endings: tuple[str, ...] = ()
    weekday_endings: tuple[str, ...] = ()
    month_forms: tuple[tuple[str, ...], ...] = ()
    weekday_forms: tuple[tuple[str, ...], ...] = ()
    season_forms: tuple[tuple[str, ...], ...] = ()
    other_months: Mapping[str, int] = field(default_factory=dict)
    other_weekdays: Mapping[str, int] = field(default_factory=dict)
    holidays: Mapping[str, int] = field(default_factory=dict)
    day_first: bool = True
    pads: bool = True
    first_day: str = "1"
    elided: Mapping[str, str] = field(default_factory=dict)
    six_digits: str = ""


def _by_season(**names: str) -> dict[str, int]:
    order = ("winter", "spring", "summer", "autumn")
    return {name: order.index(season) for season, row in names.items() for name in listed(row, ",")}


def _with_first(first: str, rest: str) -> tuple[str, ...]:
    return (first, *(rest,) * 30)


_ENGLISH_ORDINALS = tuple(
    "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th") for day in range(1, 32)
)
_SWEDISH_ORDINALS = tuple("a" if day % 10 in (1, 2) and day not in (11, 12) else "e" for day in range(1, 32))


def _words(lang: str, **own: Any) -> CalendarWords:
    """Return a language's words: names of months and weekdays as CLDR has them, standing alone, and its own."""
    names = Locale(lang)
    months, days = names.months["stand-alone"], names.days["stand-alone"]
    known = {
        "months": tuple(months["wide"][month] for month in range(1, 13)),
        "short": tuple(months["abbreviated"][month].rstrip(".") for month in range(1, 13)),
        "weekdays": tuple(days["wide"][day] for day in range(7)),
        "short_weekdays": tuple(days["abbreviated"][day].rstrip(".") for day in range(7)),
    }
    return CalendarWords(**{**known, **own})


WORDS: Mapping[str, CalendarWords] = {
    "en": _words(
        "en",
        other_months={"Sept": 9, "Febr": 2},
        weekday_endings=("s",),
        weekday_forms=(listed("Mon Tues Wed Thurs Fri Sat Sun"), listed("Mo Tu We Th Fr Sa Su")),
        other_weekdays={"thur": 3, "weds": 2},
        seasons=listed("winter spring summer autumn"),
        season_forms=(listed("winter spring summer fall"), listed("wintertime springtime summertime autumntime")),
        fillers=listed("last next this past previous of the in on at from since during by between around about early mid late year month as dated"),
        until=listed("to until till through thru and"),
        ordinals=_ENGLISH_ORDINALS,
        quarter=listed("q quarter qtr"),
        holidays=_by_season(
            winter="Christmas,Christmas Eve,Christmas Day,Xmas,Boxing Day,New Year,New Year's,New Year's Eve,"
            "New Year's Day,Hanukkah,Valentine's Day,Presidents' Day",
            spring="Easter,Easter Sunday,Good Friday,Passover,Memorial Day,Mother's Day,Pentecost",
            summer="Independence Day,the Fourth of July,Fourth of July,Labor Day,Father's Day,Juneteenth",
            autumn="Thanksgiving,Thanksgiving Day,Halloween,Columbus Day,Veterans Day,Yom Kippur",
        ),
        day_first=False,
    ),
    "es": _words(
        "es",
        short=listed("ene feb mar abr may jun jul ago sep oct nov dic"),
        other_months={"setiembre": 9, "sept": 9, "set": 9, "agto": 8},
        other_weekdays={"miercoles": 2, "sabado": 5, "mie": 2, "sab": 5, "sábados": 5, "domingos": 6},
        seasons=listed("invierno primavera verano otoño"),
        fillers=listed(
            "pasado próximo este último de del el la en día dia desde entre año mes los fecha principios finales mediados hacia sobre"
        ),
        until=listed("a al y hasta"),
        ordinals=_with_first("º", ""),
        other_endings=listed("º ° o ro er"),
        quarter=listed("t trimestre"),
        holidays=_by_season(
            winter="Navidad,Nochebuena,Nochevieja,Año Nuevo,Reyes,día de Reyes,Navidades",
            spring="Semana Santa,Pascua,Viernes Santo,Domingo de Ramos,San José",
            summer="San Juan,la Asunción",
            autumn="el Pilar,día del Pilar,Todos los Santos,la Inmaculada",
        ),
    ),
    "it": _words(
        "it",
        other_months={"genn": 1, "febb": 2, "sett": 9, "magg": 5},
        weekday_forms=(listed("lunedi martedi mercoledi giovedi venerdi sabato domenica"),),
        seasons=listed("inverno primavera estate autunno"),
        fillers=listed("scorso prossimo questo ultimo di del dell dal dall il l lo in nel nell da tra anno mese lì giorno metà inizio fine primi d"),
        until=listed("a al all e fino ed"),
        ordinals=_with_first("º", ""),
        elided={"il": "l'", "dal": "dall'", "al": "all'", "del": "dell'", "nel": "nell'"},
        other_endings=listed("º ° o"),
        quarter=listed("t trimestre"),
        holidays=_by_season(
            winter="Natale,Vigilia di Natale,Capodanno,Epifania,Befana,Santo Stefano,San Silvestro",
            spring="Pasqua,Pasquetta,Venerdì Santo,Pentecoste",
            summer="Ferragosto",
            autumn="Ognissanti,Immacolata",
        ),
    ),
    "fr": _words(
        "fr",
        other_months={"fevrier": 2, "aout": 8, "decembre": 12, "fev": 2, "fév": 2, "fevr": 2, "jan": 1, "sep": 9,
                      "dec": 12, "juill": 7, "jui": 6, "jul": 7},
        weekday_endings=("s",),
        seasons=listed("hiver printemps été automne"),
        fillers=listed("dernier dernière prochain prochaine passé ce cet le la l du de d en dès depuis entre mois an année début fin mi courant vers dans les jour"),
        until=listed("au à et jusqu jusque"),
        ordinals=_with_first("er", ""),
        first_day="1er",
        other_endings=listed("er e ème eme"),
        quarter=listed("t trimestre"),
        holidays=_by_season(
            winter="Noël,Noel,réveillon,Saint-Sylvestre,jour de l'An,Nouvel An,Épiphanie",
            spring="Pâques,Paques,Pentecôte,Ascension,fête du Travail",
            summer="Assomption,fête nationale",
            autumn="Toussaint,Armistice",
        ),
    ),
    "de": _words(
        "de",
        other_months={"Maerz": 3, "Mrz": 3, "Sept": 9, "Marz": 3, "Juno": 6, "Julei": 7},
        month_forms=(
            listed("Jänner Feber März April Mai Juni Juli August September Oktober November Dezember"),
        ),
        weekday_endings=("s", "en"),
        other_weekdays={"Sonnabend": 5},
        seasons=listed("Winter Frühjahr Sommer Herbst"),
        season_forms=(listed("Winter Frühling Sommer Herbst"),),
        fillers=listed(
            "letzten letzter letzte letztes vergangenen nächsten nächster dieses diesen am im in den der dem des vom von seit ab zum zwischen Anfang Mitte Ende Jahr Jahres Jahre Monat d Tag"
        ),
        until=listed("bis und auf"),
        ordinals=("ten",),
        other_endings=listed("te ter"),
        quarter=listed("q quartal quartals"),
        holidays=_by_season(
            winter="Weihnachten,Heiligabend,Silvester,Neujahr,Heilige Drei Könige,Fasching,Nikolaus",
            spring="Ostern,Karfreitag,Ostermontag,Ostersonntag,Pfingsten,Christi Himmelfahrt,Tag der Arbeit",
            summer="Mariä Himmelfahrt,Fronleichnam",
            autumn="Allerheiligen,Reformationstag,Tag der Deutschen Einheit,Buß- und Bettag",
        ),
    ),
    "nl": _words(
        "nl",
        other_months={"mar": 3, "sept": 9, "febr": 2, "mrt": 3},
        weekday_endings=("s",),
        weekday_forms=(listed("maa din woe don vrij zat zon"),),
        seasons=listed("winter lente zomer herfst"),
        season_forms=(listed("winter voorjaar zomer najaar"),),
        fillers=listed("vorige afgelopen komende volgende deze dit de op van in het vanaf sinds tussen begin eind medio half jaar maand den d dd per rond"),
        until=("tot", "en", "t/m", "tot en met", "tot aan"),
        ordinals=("e",),
        other_endings=listed("ste de"),
        quarter=listed("q kwartaal"),
        holidays=_by_season(
            winter="Kerst,Kerstmis,Oud en Nieuw,Nieuwjaar,oudjaar,Sinterklaas,carnaval",
            spring="Pasen,Goede Vrijdag,Koningsdag,Bevrijdingsdag,Hemelvaart,Pinksteren",
            summer="Nationale feestdag",
            autumn="Allerheiligen,Sint-Maarten",
        ),
    ),
    "sv": _words(
        "sv",
        other_months={"mar": 3, "jun": 6, "jul": 7, "sept": 9, "febr": 2},
        weekday_endings=("en", "s", "ens", "ar", "arna"),
        weekday_forms=(listed("må ti on to fr lö sö"),),
        other_weekdays={"tor": 3},
        seasons=listed("vinter vår sommar höst"),
        season_forms=(listed("vintern våren sommaren hösten"), listed("vintras våras somras höstas")),
        fillers=listed("förra nästa senaste i den de i på från sedan under mellan år månad månaden början slutet mitten av fr o m omkring ca"),
        until=("till", "och", "tom", "t o m", "t.o.m.", "t.o.m", "fram till"),
        ordinals=_SWEDISH_ORDINALS,
        quarter=listed("q kvartal kvartalet kv"),
        holidays=_by_season(
            winter="jul,julen,julafton,juldagen,nyår,nyårsafton,nyårsdagen,trettondagen,lucia",
            spring="påsk,påsken,långfredagen,påskafton,Valborg,pingst,Kristi himmelsfärdsdag",
            summer="midsommar,midsommarafton,midsommardagen",
            autumn="alla helgons dag,allhelgona",
        ),
        six_digits="ymd",
    ),
    "fi": _words(
        "fi",
        month_endings=listed("ta ssa n sta hun lle lta lla na ksi"),
        weekday_endings=listed("na n sta ksi"),
        weekday_forms=(
            listed("maanantaihin tiistaihin keskiviikkoon torstaihin perjantaihin lauantaihin sunnuntaihin"),
            listed("maanantaisin tiistaisin keskiviikkoisin torstaisin perjantaisin lauantaisin sunnuntaisin"),
        ),
        seasons=listed("talvi kevät kesä syksy"),
        season_forms=(
            listed("talvella keväällä kesällä syksyllä"),
            listed("talven kevään kesän syksyn"),
            listed("talvesta keväästä kesästä syksystä"),
        ),
        fillers=listed("viime ensi tämän vuonna vuoden vuodesta vuodelta vuoteen vuosi vuosina vuosien päivä päivänä päivää alkaen kuun alussa lopussa puolivälissä alku loppu noin pvm"),
        until=listed("ja asti saakka sekä"),
        ordinals=(),
        quarter=("q", "neljännes", "vuosineljännes", "kvartaali"),
        holidays=_by_season(
            winter="joulu,jouluna,jouluaatto,jouluaattona,uusivuosi,uutenavuotena,loppiainen,loppiaisena",
            spring="pääsiäinen,pääsiäisenä,pitkäperjantai,vappu,vappuna,helatorstai,helluntai",
            summer="juhannus,juhannuksena,juhannusaatto,juhannusaattona",
            autumn="pyhäinpäivä,pyhäinpäivänä",
        ),
        pads=False,
    ),
}  # fmt: skip
"""Notes in other languages, or in none, are read with the English words; their numeric dates with the day first."""
