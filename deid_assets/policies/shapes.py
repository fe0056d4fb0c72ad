"""Numbers and identifiers: the same shape, other characters, and right check digits where they were right."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context
from deid_assets.policies.drawing import Draw, fold, listed

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HEX = "0123456789ABCDEF"
_MAC = re.compile(r"[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}")
_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"  # Real Decreto 1553/2005 (ES): the number modulo 23
_SPANISH_ID = re.compile(r"([XYZxyz]?)[-. ]?((?:\d[. ]?){7,8})[-. ]?([A-Za-z])")
# Words that name the number are not part of it: "patient ID: 123".
_LABEL_WORDS = re.compile(
    r"(?:\b(?:patient|account|acct|medical|record|policy|member|licen[cs]e|number|num|mrn|ssn|npi|nhc|dni|nie|nif|id|no)"
    r"\b[\s:#.]*)+(?=\S*[0-9])",
    re.IGNORECASE,
)
# What may stand beside a telephone number; any other word may be a name, or spell the number: 1-800-FLOWERS.
_PHONE_WORDS = frozenset(
    listed(
        "tel tele telf tfno tlf telefono telefon telephone phone ph fax mobile movil mob mobil cell handy pager beeper "
        "ext extn exten extension interno int x number num no nr n office home work p t f m h w c o"
    )
)
_SSN = re.compile(r"\d{3}([- ]?)\d{2}\1\d{4}")


def reshape(text: str, context: Context, kind: str, attempt: int = 0) -> str:
    """Return the text with each digit and letter drawn anew; separators, case and a non-zero first digit stay.

    Separators and case do not matter for the draw: ``123-45`` and ``12345`` become the same digits.
    """
    value = "".join(char for char in text.upper() if char.isalnum())
    stream = iter(Draw(context, kind, value, attempt=attempt).stream(len(text)))
    is_mac = _MAC.fullmatch(text) is not None
    drawn: list[str] = []
    is_first_digit = True
    for char in text:
        if is_mac and char.isalnum():
            drawn.append(_like(text, _HEX[next(stream) % 16]))
        elif char.isdigit():
            low = 1 if is_first_digit and char != "0" else 0
            is_first_digit = False
            drawn.append(str(low + next(stream) % (10 - low)))
        elif char.isalpha():
            drawn.append(_like(char, _LETTERS[next(stream) % 26]))
        else:
            drawn.append(char)
    return "".join(drawn)


def identifier(label: Phi, text: str, context: Context, attempt: int = 0) -> str | None:
    """Return another identifier of the same shape, valid where the original was, or ``None`` if it has no digit."""
    if not any(char.isdigit() for char in text):
        return None
    words = _LABEL_WORDS.match(text)
    if words is not None:
        rest = identifier(label, text[words.end() :], context, attempt)
        return None if rest is None else words[0] + rest
    if label is Phi.NATIONAL_ID and _SSN.fullmatch(text):
        return _ssn(text, context, attempt)
    drawn = reshape(text, context, label, attempt)
    if label is Phi.NATIONAL_ID and _is_spanish_id(text):
        return _spanish_id(drawn, text)
    digits = _digits(text)
    for is_valid, check in _CHECKS.get(label, ()):
        if digits.isascii() and is_valid(digits):
            digit = check(_digits(drawn)[:-1])
            # The NHS leaves out numbers without a check digit; the unchanged text makes the caller draw again.
            return text if digit is None else _with_last_digit(drawn, digit)
    return drawn


def phone(text: str, context: Context, attempt: int = 0) -> str | None:
    """Return a number with the same separators; for North America one of the fictional 555-01xx lines.

    ``None`` where there is no number, or a word that does not only say what the number is.
    """
    digits = _digits(text)
    if len(digits) < 3 or not _PHONE_WORDS.issuperset(re.findall(r"[^\W\d_]+", fold(text))):
        return None
    # Country and exit codes say nothing about a person and keep the number plausible.
    prefix = next((code for code in ("+1", "+34", "0034") if text.lstrip("( ").startswith(code)), "")
    fixed = len(prefix.lstrip("+"))
    drawn = _digits(reshape(digits[fixed:], context, Phi.PHONE, attempt))
    if len(drawn) == 10 and prefix in ("", "+1") and context.note.lang in (None, "en"):
        # 555-0100 to 555-0199 are set aside for fiction (ATIS-0300115).
        drawn = f"{2 + int(drawn[0]) % 8}{drawn[1:3]}55501{drawn[8:]}"
    elif context.note.lang == "es" and len(drawn) == 9:
        drawn = digits[fixed] + drawn[1:]  # 6 and 7 are mobile, 8 and 9 fixed lines
    return _fill(text, digits[:fixed] + drawn)


def _like(model: str, char: str) -> str:
    return char.lower() if model.islower() else char


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdigit())


def _fill(text: str, digits: str) -> str:
    row = iter(digits)
    return "".join(next(row) if char.isdigit() else char for char in text)


def _with_last_digit(text: str, digit: int) -> str:
    place = max(index for index, char in enumerate(text) if char.isdigit())
    return f"{text[:place]}{digit}{text[place + 1 :]}"


def _spanish_letter(first: str, digits: str) -> str:
    return _DNI_LETTERS[int(str("XYZ".find(first.upper()) if first else "") + digits) % 23]


def _is_spanish_id(text: str) -> bool:
    match = _SPANISH_ID.fullmatch(text)
    if match is None:
        return False
    first, digits, letter = match[1], _digits(match[2]), match[3].upper()
    return len(digits) == (7 if first else 8) and _spanish_letter(first, digits) == letter


def _spanish_id(drawn: str, text: str) -> str:
    first = text[0] if text[0].isalpha() else ""
    body = first + drawn[len(first) : -1]
    return body + _like(text[-1], _spanish_letter(first, _digits(body)))


def _ssn(text: str, context: Context, attempt: int) -> str:
    """Return a number in the issued ranges: no area 000, 666 or 900 to 999, no group 00, no serial 0000 (SSA 2011)."""
    draw = Draw(context, "ssn", _digits(text), attempt=attempt)
    area = 1 + draw.below(898)
    area += area >= 666
    return _fill(text, f"{area:03}{1 + draw.below(99):02}{1 + draw.below(9999):04}")


def _luhn(body: str) -> int:
    """Return the check digit after ``body`` (ISO/IEC 7812-1, annex B)."""
    doubled = (int(digit) * (2 - place % 2) for place, digit in enumerate(reversed(body)))
    return -sum(value // 10 + value % 10 for value in doubled) % 10


def _npi(body: str) -> int:
    return _luhn("80840" + body)  # CMS (2004): the issuer prefix takes part in the sum


def _nhs(body: str) -> int | None:
    remainder = 11 - sum(int(digit) * (10 - place) for place, digit in enumerate(body)) % 11
    return {10: None, 11: 0}.get(remainder, remainder)  # NHS Data Dictionary: 10 is never issued


def _checked(
    length: range, check: Callable[[str], int | None]
) -> tuple[Callable[[str], bool], Callable[[str], int | None]]:
    return (lambda digits: len(digits) in length and check(digits[:-1]) == int(digits[-1])), check


_CARD = _checked(range(13, 20), _luhn)
_NPI = _checked(range(10, 11), _npi)
_NHS = _checked(range(10, 11), _nhs)
_CHECKS: Mapping[Phi, tuple[tuple[Callable[[str], bool], Callable[[str], int | None]], ...]] = {
    Phi.ACCOUNT: (_CARD,),
    Phi.LICENSE: (_NPI,),
    Phi.ID: (_NPI,),
    Phi.NATIONAL_ID: (_NHS,),
    Phi.MRN: (_NHS,),
}
