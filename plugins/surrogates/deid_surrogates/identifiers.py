"""Identifiers with check characters or dates in them.

Another of the same kind, valid where the original was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from deid_assets.extending import Phi, languages
from deid_assets.extending.numbers import check_digits as check
from deid_assets.extending.replacing import Draw
from deid_surrogates import birth_numbers

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PEOPLE = frozenset((Phi.NATIONAL_ID, Phi.HEALTH_PLAN, Phi.MRN, Phi.ID))
_STAFF = frozenset((Phi.LICENSE, Phi.ID))
_MONEY = frozenset((Phi.ACCOUNT, Phi.HEALTH_PLAN, Phi.ID))

Redraw = Callable[[str, Draw, int], str | None]
"""Function of an identifier, a row of choices and the patient's offset in days.

``None`` asks for the next draw.
"""


@dataclass(frozen=True, slots=True)
class IdentifierScheme:
    """One kind of identifier.

    Args:
        name: One of our own words; part of the draw.
        pattern: Which values can be of it: capital letters and digits, no separators.
        labels: Categories it is looked for under.
        is_valid: Whether the check characters are right.
        redraw: Gives another.
        core: How many of the last characters say who it is: a personal number has its century or
            not.
        declared: Whether it is looked for only in notes of languages that declare it.
    """

    name: str
    pattern: re.Pattern[str]
    labels: frozenset[Phi]
    is_valid: Callable[[str], bool]
    redraw: Redraw
    core: int | None = None
    declared: bool = False

    def value_of(self, value: str) -> str:
        """Return what the draw follows from."""
        return value if self.core is None else value[-self.core :]


@lru_cache(maxsize=256)
def schemes_for(label: Phi, lang: str | None) -> tuple[IdentifierScheme, ...]:
    """Return the kinds a category may hold, those that the note's language declares first."""
    known = languages.find(lang)
    own = known.identifiers if known else ()
    fitting = [
        scheme
        for scheme in SCHEMES
        if label in scheme.labels and (scheme.name in own or not scheme.declared)
    ]
    return tuple(sorted(fitting, key=lambda scheme: scheme.name.replace(" ", "_") not in own))


def scheme_of(value: str, label: Phi, lang: str | None) -> IdentifierScheme | None:
    """Return the kind a value is of, its check characters right, or ``None``."""
    if not _any_of(label, lang).fullmatch(value):
        return None
    for scheme in schemes_for(label, lang):
        if scheme.pattern.fullmatch(value) and scheme.is_valid(value):
            return scheme
    return None


@lru_cache(maxsize=256)
def _any_of(label: Phi, lang: str | None) -> re.Pattern[str]:
    """Return what matches every value that may be of one of the kinds of a category: few are."""
    return re.compile(
        "|".join(f"(?:{scheme.pattern.pattern})" for scheme in schemes_for(label, lang))
    )


def redraw_value(value: str, draw: Draw, *, may_begin_with_0: bool = False) -> str:
    """Return digits for digits and letters for letters.

    A first digit that is not 0 stays so unless it may be.
    """
    drawn: list[str] = []
    for place, character in enumerate(value):
        if character.isdigit():
            low = 1 if place == 0 and character != "0" and not may_begin_with_0 else 0
            drawn.append(str(low + draw.below(10 - low)))
        else:
            drawn.append(draw.pick(_LETTERS))
    return "".join(drawn)


def _plain(value: str, draw: Draw, days: int) -> str:
    del days
    return redraw_value(value, draw)


def _keeping(count: int) -> Redraw:
    """Return a redraw that leaves the first characters as they are."""

    def redraw(value: str, draw: Draw, days: int) -> str:
        del days
        return value[:count] + redraw_value(value[count:], draw, may_begin_with_0=True)

    return redraw


def _dni(value: str, draw: Draw, days: int) -> str:
    return _keeping(1)(value, draw, days) or "" if value[0] in "XYZ" else redraw_value(value, draw)


def _nass(value: str, draw: Draw, days: int) -> str:
    del value, days
    return f"{1 + draw.below(52):02}{draw.below(10**8):08}"


def _scheme(
    name: str,
    pattern: str,
    check_of: Callable[[str], str | None],
    body: Redraw = _plain,
    *,
    labels: Iterable[Phi] = _PEOPLE,
    tail: int = 1,
    core: int | None = None,
    declared: bool = False,
) -> IdentifierScheme:
    """Return a scheme whose check characters stand at the end."""

    def is_valid(value: str) -> bool:
        return check_of(value[:-tail]) == value[-tail:]

    def redraw(value: str, draw: Draw, days: int) -> str | None:
        drawn = body(value[:-tail], draw, days)
        end = None if drawn is None else check_of(drawn)
        return None if end is None else f"{drawn}{end}"

    return IdentifierScheme(
        name,
        re.compile(pattern),
        frozenset(labels),
        is_valid,
        redraw,
        core,
        declared,
    )


def _idnr(value: str, draw: Draw, days: int) -> str:
    """Germany: nine different digits and one that stands twice, the first not 0."""
    del value, days
    left = list("0123456789")
    first = left.pop(1 + draw.below(9))
    characters = [first, *(left.pop(draw.below(len(left))) for _ in range(8))]
    characters.insert(1 + draw.below(8), draw.pick(characters))
    body = "".join(characters)
    return body + check.idnr(body)


def _is_idnr(value: str) -> bool:
    return len(set(value[:10])) in (8, 9) and check.idnr(value[:10]) == value[10]


def _pwz(value: str, draw: Draw, days: int) -> str | None:
    """Return another number of a Polish physician, its digit in front; 0 is never issued."""
    del days
    body = redraw_value(value[1:], draw, may_begin_with_0=True)
    return None if check.pwz(body) in ("0", "10") else check.pwz(body) + body


def _is_pwz(value: str) -> bool:
    return check.pwz(value[1:]) == value[0]


def _iban(value: str, draw: Draw, days: int) -> str:
    del days
    country, account = (
        value[:2],
        check.own_account(value[:2], redraw_value(value[4:], draw, may_begin_with_0=True)),
    )
    return country + check.iban(country, account) + account


def _is_iban(value: str) -> bool:
    return check.iban(value[:2], value[4:]) == value[2:4]


def _vin(value: str, draw: Draw, days: int) -> str:
    """Return another number of the same maker, its first three characters."""
    del days
    drawn = redraw_value(value[3:], draw, may_begin_with_0=True).translate(
        str.maketrans("IOQ", "JPR")
    )
    whole = value[:3] + drawn
    return whole[:8] + check.vin(whole) + whole[9:]


def _is_vin(value: str) -> bool:
    return check.vin(value) == value[8]


def _make_scheme(
    name: str,
    pattern: str,
    is_valid: Callable[[str], bool],
    redraw: Redraw,
    *,
    labels: frozenset[Phi] = _PEOPLE,
    declared: bool = False,
) -> IdentifierScheme:
    """Return a scheme whose check characters stand elsewhere, or that has none."""
    return IdentifierScheme(name, re.compile(pattern), labels, is_valid, redraw, declared=declared)


_DAY = r"(?:0[1-9]|[12]\d|3[01])"
_MONTH = r"(?:0[1-9]|1[0-2])"
SCHEMES: tuple[IdentifierScheme, ...] = (
    _scheme(
        "codice fiscale",
        rf"[A-Z]{{6}}\d\d[A-EHLMPR-T](?:{_DAY}|[4-7]\d)[A-Z]\d{{3}}[A-Z]",
        check.codice_fiscale,
        birth_numbers.fiscale,
    ),
    _scheme("nir", r"[12378]\d{4}(?:\d\d|2[AB])\d{8}", check.nir, birth_numbers.nir, tail=2),
    _scheme("dni", r"(?:\d{8}|[XYZ]\d{7})[A-Z]", check.dni, _dni),
    _scheme("kvnr", r"[A-Z]\d{9}", check.kvnr),
    _scheme(
        "personnummer",
        rf"(?:19|20)?\d\d{_MONTH}(?:{_DAY}|6[1-9]|[78]\d|9[01])\d{{4}}",
        lambda body: check.luhn(body[-9:]) if len(body) in (9, 11) else None,
        birth_numbers.personnummer,
        core=10,
    ),
    _make_scheme(
        "niss",
        rf"\d\d{_MONTH}{_DAY}\d{{5}}",
        birth_numbers.is_niss,
        birth_numbers.niss,
    ),
    _scheme("ahv", r"756\d{10}", check.ean, _keeping(3)),
    _make_scheme("svnr", rf"[1-9]\d{{3}}{_DAY}\d{{4}}", birth_numbers.is_svnr, birth_numbers.svnr),
    _make_scheme("idnr", r"[1-9]\d{10}", _is_idnr, _idnr),
    _scheme("nass", r"(?:0[1-9]|[1-4]\d|5[0-3])\d{10}", check.nass, _nass, tail=2),
    _scheme("nhs", r"\d{10}", check.nhs),
    _scheme("bsn", r"\d{9}", check.bsn),
    _scheme("npi", r"[12]\d{9}", check.npi, _keeping(1), labels=_STAFF),
    _scheme("dea", r"[A-Z][A-Z9]\d{7}", check.dea, _keeping(1), labels=_STAFF),
    _scheme("rpps", r"10\d{9}", check.luhn, _keeping(2), labels=_STAFF),
    _make_scheme("iban", r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", _is_iban, _iban, labels=_MONEY),
    _scheme("card", r"\d{13,19}", check.luhn, _keeping(1), labels=_MONEY),
    _make_scheme(
        "cpr", rf"{_DAY}{_MONTH}\d{{6}}", birth_numbers.is_cpr, birth_numbers.cpr, declared=True
    ),
    _scheme(
        "fodselsnummer",
        rf"(?:{_DAY}|4[1-9]|[56]\d|7[01]){_MONTH}\d{{7}}",
        check.fodselsnummer,
        birth_numbers.fodselsnummer,
        tail=2,
        declared=True,
    ),
    _scheme(
        "pesel",
        rf"\d\d(?:[02468][1-9]|[13579][0-2]){_DAY}\d{{5}}",
        check.pesel,
        birth_numbers.pesel,
        declared=True,
    ),
    _scheme("nif", r"[1-9]\d{8}", check.nif, _keeping(1), declared=True),
    _scheme("cpf", r"\d{11}", check.cpf, tail=2, declared=True),
    _make_scheme("pwz", r"[1-9]\d{6}", _is_pwz, _pwz, labels=_STAFF, declared=True),
    _make_scheme(
        "vin", r"[A-HJ-NPR-Z0-9]{17}", _is_vin, _vin, labels=frozenset((Phi.VEHICLE, Phi.ID))
    ),
)
"""Every kind that is known; the first that fits is taken.

A Finnish HETU has a century sign between its digits: see ``HETU``.
"""

HETU = _scheme(
    "hetu",
    rf"{_DAY}{_MONTH}\d\d[-+A-FU-Y]\d{{3}}[0-9A-Y]",
    lambda body: check.hetu(body[:6] + body[7:]),
    birth_numbers.hetu,
)
"""Looked for in the text without blanks; the century sign says the century."""
