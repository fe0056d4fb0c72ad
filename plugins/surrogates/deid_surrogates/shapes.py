"""Numbers and identifiers.

The same shape, other characters, and right check digits where they were right.
"""

from __future__ import annotations

import re

from deid_assets.extending import Phi
from deid_assets.extending.replacing import Context, Draw, characters_of, digits_of, patient_days
from deid_surrogates.collisions import first_free
from deid_surrogates.identifiers import HETU, scheme_of
from deid_surrogates.phones import phone

__all__ = ["identifier", "phone", "reshape"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS, _HEX = "0123456789", "0123456789ABCDEF"
_MAC_CHARS = 17
_MAC = re.compile(r"[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}")
# Words that name the number are not part of it: "patient ID: 123".
_LABEL_WORDS = re.compile(
    r"(?:\b(?:patient|account|acct|medical|record|policy|member|licen[cs]e|number|numero|n\u00famero|nummer|numéro|nr"
    r"|num|mrn|ssn|npi|dea|nhs|nhc|dni|nie|nif|nass|nir|ipp|cf|codice|fiscale|bsn|kvnr|hetu|pnr|personnummer|iban"
    r"|henkil\u00f6tunnus|steuer-id|rpps|vin|id|no|cpr|pesel|cpf|pwz|f\u00f8dselsnummer|fnr)\b[\s:#.\u00ba]*)+(?=\S*[0-9])",
    re.IGNORECASE,
)
_DIGIT = re.compile("[0-9]")
_CHARACTER, _NO_BLANK = re.compile(r"[^\W_]"), re.compile(r"\S")
_SSN = re.compile(r"[0-9]{3}([- ]?)[0-9]{2}\1[0-9]{4}")


def reshape(text: str, context: Context, kind: str, attempt: int = 0) -> str:
    """Return the text with each digit and letter redrawn.

    Separators, case and a non-zero first digit stay.

    Separators and case do not matter for the draw: ``123-45`` and ``12345`` become the same digits.
    """
    draw = Draw(context, kind, characters_of(text.upper()), attempt=attempt)
    stream = iter(draw.stream(len(text)))
    is_mac = len(text) == _MAC_CHARS and _MAC.fullmatch(text) is not None
    drawn: list[str] = []
    is_first_digit = True
    for char in text:
        if is_mac and char.isalnum():
            drawn.append(_like(text, _HEX[next(stream) % 16]))
        elif char.isdigit():
            low = 1 if is_first_digit and char != "0" else 0
            is_first_digit = False
            drawn.append(_DIGITS[low + next(stream) % (10 - low)])
        elif char.isalpha():
            drawn.append(_like(char, _LETTERS[next(stream) % 26]))
        else:
            drawn.append(char)
    return "".join(drawn)


def identifier(label: Phi, text: str, context: Context, attempt: int = 0) -> str | None:
    """Return another identifier of the same shape, valid where the original was, and nobody's of
    note and batch.

    ``None`` if it has no digit, or if every draw is somebody's. A date inside it moves by the
    patient's offset.
    """
    if _DIGIT.search(text) is None and not any(map(str.isdigit, text)):
        return None
    words = _LABEL_WORDS.match(text) if text[0].isalpha() else None
    start = words.end() if words else 0
    value = text[start:]
    drawn = first_free(
        lambda number: _identifier(label, value, context, number), value, context, attempt
    )
    return None if drawn is None else text[:start] + drawn


def _identifier(label: Phi, text: str, context: Context, attempt: int) -> str | None:
    value = characters_of(text).upper()
    if not value.isascii():
        return reshape(text, context, label, attempt)
    lang = context.note.lang
    is_ssn = label is Phi.NATIONAL_ID and _SSN.fullmatch(text)
    if is_ssn and (lang in (None, "en") or not text.isdigit()):
        return _ssn(text, context, attempt)
    if label in HETU.labels:
        characters = "".join(text.split()).upper()
        if HETU.pattern.fullmatch(characters) and HETU.is_valid(characters):
            drawn = HETU.redraw(
                characters,
                Draw(context, "id hetu", characters, attempt=attempt),
                patient_days(context),
            )
            return None if drawn is None else _fill(text, drawn, character=_NO_BLANK)
    scheme = scheme_of(value, label, lang)
    if scheme is None:
        return reshape(text, context, label, attempt)
    drawn = scheme.redraw(
        value,
        Draw(context, f"id {scheme.name}", scheme.value_of(value), attempt=attempt),
        patient_days(context),
    )
    return None if drawn is None else _fill(text, drawn)


def _like(model: str, char: str) -> str:
    return char.lower() if model.islower() else char


def _fill(text: str, characters: str, *, character: re.Pattern[str] = _CHARACTER) -> str:
    """Return the text with its letters and digits replaced one by one, in the case they had."""
    row = iter(characters)
    drawn = character.sub(lambda _: next(row), text)
    if text.isupper() or not any(map(str.islower, text)):
        return drawn
    return "".join(_like(old, new) for old, new in zip(text, drawn, strict=True))


def _ssn(text: str, context: Context, attempt: int) -> str:
    """Return a number in the issued ranges.

    No area 000, 666 or 900 to 999, no group 00, no serial 0000 (SSA 2011).
    """
    draw = Draw(context, "ssn", digits_of(text), attempt=attempt)
    area = 1 + draw.below(898)
    area += area >= 666
    return _fill(text, f"{area:03}{1 + draw.below(99):02}{1 + draw.below(9999):04}")
