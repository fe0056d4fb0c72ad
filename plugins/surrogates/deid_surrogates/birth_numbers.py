"""Identifiers that hold a birthday: the day moves by the patient's offset, the serial is redrawn.

Each function takes an identifier without its separators, a row of choices and the offset in days.
Those whose check characters stand at the end take and return it without them. ``None`` asks for the
next draw.
"""

from __future__ import annotations

from datetime import date

from deid_assets.extending.numbers import check_digits as check
from deid_assets.extending.replacing import Draw, move_day, split_words

_CONSONANTS = "BCDFGLMNPRSTVZ"
_FISCAL_MONTHS = "ABCDEHLMPRST"
_TOWNS = split_words(
    "A271 A662 A944 C351 D612 D969 F205 F839 G273 H501 L219 L378 L424 L483 L736 L781"
)
_YOUNGEST = 30  # two digits above it are a year of the last century


def _year(two_digits: str) -> int:
    return int(two_digits) + (1900 if int(two_digits) > _YOUNGEST else 2000)


def _move_birthday(year: int, month: int, day: int, days: int) -> date | None:
    """Return a birthday moved by the patient's offset; ``None`` where there is no such day."""
    try:
        return move_day(date(year, month, day), days)
    except ValueError:
        return None


def personnummer(value: str, draw: Draw, days: int) -> str | None:
    century, short = value[:-9], value[-9:]
    extra = 60 if int(short[4:6]) > 60 else 0
    year = int(century + short[:2]) if century else _year(short[:2])
    born = _move_birthday(year, int(short[2:4]), int(short[4:6]) - extra, days)
    if born is None:
        return None
    # The third digit of the serial is odd for men.
    serial = f"{draw.below(98):02}{int(short[8]) % 2 + 2 * draw.below(5)}"
    written = f"{born:%Y%m}{born.day + extra:02}{serial}"
    return written if century else written[2:]


def hetu(value: str, draw: Draw, days: int) -> str | None:
    sign = value[6]
    century = 1900
    if sign == "+":
        century = 1800
    elif sign in "ABCDEF":
        century = 2000
    born = _move_birthday(century + int(value[4:6]), int(value[2:4]), int(value[:2]), days)
    if born is None or born.year < 1800:
        return None
    signs = {18: "+", 19: "-", 20: "A"}
    kept = sign if born.year // 100 * 100 == century else signs[born.year // 100]
    # Serials from 002; even for women.
    serial = 2 + 2 * draw.below(449) + int(value[9]) % 2
    return f"{born:%d%m}{born.year % 100:02}{kept}{serial:03}"


def fiscale(value: str, draw: Draw, days: int) -> str | None:
    day = int(value[9:11])
    extra = 40 if day > 40 else 0
    month = _FISCAL_MONTHS.find(value[8]) + 1
    born = _move_birthday(_year(value[6:8]), month, day - extra, days) if month else None
    if born is None:
        return None
    name = "".join(draw.pick(_CONSONANTS) for _ in range(6))
    written = f"{born.year % 100:02}{_FISCAL_MONTHS[born.month - 1]}{born.day + extra:02}"
    return name + written + draw.pick([town for town in _TOWNS if town != value[11:15]])


def nir(value: str, draw: Draw, days: int) -> str | None:
    year, month = _year(value[1:3]), int(value[3:5])
    written = value[1:5]  # months above 12 say that the birthday is not known
    if 1 <= month <= 12:
        born = _move_birthday(year, month, 15, days)
        if born is None:
            return None
        written = f"{born.year % 100:02}{born:%m}"
    department = 1 + draw.below(95)
    department += department == 20  # Corsica is 2A and 2B
    return f"{value[0]}{written}{department:02}{1 + draw.below(699):03}{1 + draw.below(499):03}"


def niss(value: str, draw: Draw, days: int) -> str | None:
    """Belgium: YYMMDD, a serial that is odd for men, and the rest, which tells the century."""
    century = 1900 if check.niss(value[:9]) == value[9:] else 2000
    born = _move_birthday(century + int(value[:2]), int(value[2:4]), int(value[4:6]), days)
    if born is None:
        return None
    body = f"{born.year % 100:02}{born:%m%d}{1 + 2 * draw.below(498) + (int(value[8]) % 2 == 0):03}"
    return body + (check.niss(body) if born.year < 2000 else check.niss_2000(body))


def is_niss(value: str) -> bool:
    return value[9:] in (check.niss(value[:9]), check.niss_2000(value[:9]))


def svnr(value: str, draw: Draw, days: int) -> str | None:
    """Austria: serial, check digit, DDMMYY; months above 12 say that the birthday is not known."""
    month = int(value[6:8])
    written = value[4:]
    if 1 <= month <= 12:
        born = _move_birthday(_year(value[8:]), month, int(value[4:6]), days)
        if born is None:
            return None
        written = f"{born:%d%m}{born.year % 100:02}"
    serial = f"{100 + draw.below(900)}"
    digit = check.svnr(serial + written)
    return None if digit is None else serial + digit + written


def is_svnr(value: str) -> bool:
    return check.svnr(value[:3] + value[4:]) == value[3]


def cpr(value: str, draw: Draw, days: int) -> str | None:
    """Denmark: DDMMYY, a digit that tells the century, and a serial that is odd for men.

    Its modulus 11 is not kept: since 2007 numbers are issued without it.
    """
    century = _cpr_century(int(value[6]), int(value[4:6]))
    born = _move_birthday(century + int(value[4:6]), int(value[2:4]), int(value[:2]), days)
    if born is None:
        return None
    short = born.year % 100
    signs = [sign for sign in range(10) if _cpr_century(sign, short) + short == born.year]
    if not signs:
        return None
    kept = int(value[6]) if int(value[6]) in signs else draw.pick(signs)
    serial = 10 * draw.below(100) + 2 * draw.below(5) + int(value[9]) % 2
    return f"{born:%d%m}{short:02}{kept}{serial:03}"


def is_cpr(value: str) -> bool:
    """Whether ten digits begin with a birthday."""
    century = _cpr_century(int(value[6]), int(value[4:6]))
    return _move_birthday(century + int(value[4:6]), int(value[2:4]), int(value[:2]), 0) is not None


def _cpr_century(sign: int, year: int) -> int:
    """CPR-kontoret (2008): the seventh digit with the year tells the century."""
    if sign in range(5, 9):
        return 1800 if year > 57 else 2000
    return 2000 if sign in (4, 9) and year < 37 else 1900


def fodselsnummer(value: str, draw: Draw, days: int) -> str | None:
    """Norway: DDMMYY, 40 more days for a D number, a serial that is odd for men."""
    serial, short = int(value[6:9]), int(value[4:6])
    extra = 40 if int(value[:2]) > 40 else 0
    century = 2000 if serial >= 500 and short < 40 else 1900
    born = _move_birthday(century + short, int(value[2:4]), int(value[:2]) - extra, days)
    if born is None:
        return None
    low = 250 if born.year >= 2000 else 0
    written = 2 * (low + draw.below(250)) + serial % 2
    return f"{born.day + extra:02}{born:%m}{born.year % 100:02}{written:03}"


_PESEL_CENTURIES = (1900, 2000, 2100, 2200, 1800)


def pesel(value: str, draw: Draw, days: int) -> str | None:
    """Poland: YYMMDD, the month higher by 20 a century, and a serial that is odd for men."""
    century, month = _PESEL_CENTURIES[int(value[2]) // 2], int(value[2:4]) % 20
    born = _move_birthday(century + int(value[:2]), month, int(value[4:6]), days)
    if born is None or born.year < 1800:
        return None
    written = born.month + 20 * _PESEL_CENTURIES.index(born.year // 100 * 100)
    serial = 10 * draw.below(1000) + 2 * draw.below(5) + int(value[9]) % 2
    return f"{born.year % 100:02}{written:02}{born:%d}{serial:04}"
