"""Choices that follow from the key, the patient and the value alone, so that no map is stored."""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_letters, digits
from typing import Self, TypeVar

from deid_assets.core.errors import PolicyError
from deid_assets.core.keys import Key
from deid_assets.core.redact import Context

_TWO_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"})
_NO_DIGITS = bytes(byte for byte in range(256) if chr(byte) not in digits)
_NO_CHARACTERS = bytes(byte for byte in range(256) if chr(byte) not in ascii_letters + digits)
T = TypeVar("T")
ATTEMPTS = 8
"""Draws of a surrogate equal to its original before the tag is used."""


class Draw:
    """A row of choices; the same key, patient, kind and value give the same row.

    Args:
        context: Its key and the patient of its note, or the note itself where the patient is not
            known.
        kind: What is drawn, one of our own words.
        value: The normalised original.
        attempt: Another number gives another row.
    """

    __slots__ = ("_left", "_seed")

    def __init__(self, context: Context, kind: str, value: str = "", *, attempt: int = 0) -> None:
        self._start(context.key, owner_of(context), f"{kind}/{attempt}\0{value}")

    @classmethod
    def of(cls, key: Key, owner: str, kind: str, value: str, *, attempt: int = 0) -> Self:
        """Return the row of an owner, as ``owner_of`` names it, for callers that keep what they
        draw.
        """
        draw = cls.__new__(cls)
        draw._start(key, owner, f"{kind}/{attempt}\0{value}")  # noqa: SLF001 - our own
        return draw

    def _start(self, key: Key, owner: str, message: str) -> None:
        # No kind, one of our own words, holds a NUL.
        mac = _mac_of(key, owner).copy()
        mac.update(message.encode())
        self._seed = mac.digest()
        self._left = int.from_bytes(self._seed)

    def below(self, limit: int) -> int:
        """Return a number in [0, ``limit``); good for about thirty choices below a thousand."""
        self._left, choice = divmod(self._left, limit)
        return choice

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[self.below(len(options))]

    def stream(self, size: int) -> bytes:
        """Return ``size`` bytes; SHAKE-256 of the seed."""
        return hashlib.shake_256(self._seed).digest(size)


@lru_cache(maxsize=4096)
def _mac_of(key: Key, owner: str) -> hmac.HMAC:
    """Return HMAC-SHA256 under the secret that all draws of one patient share.

    A copy of it costs less than a new one.
    """
    return hmac.new(key.derive("surrogate", owner), digestmod="sha256")


def owner_of(context: Context) -> str:
    """Return whose values the note holds.

    Its patient, or the note itself where the patient is not known.
    """
    note = context.note
    return f"patient:{note.patient_id}" if note.patient_id is not None else f"note:{note.note_id}"


def require_patient(context: Context, action: str) -> None:
    """Refuse a note without a patient.

    Raises:
        PolicyError: The note has no patient id.
    """
    if context.note.patient_id is None:
        raise PolicyError(
            f"note {context.note.note_id!r}: action {action} requires a patient id; "
            "give the note one, or take require_patient out of the policy"
        )


def fold(text: str) -> str:
    """Return the text for comparison: lower case, no accents, single spaces."""
    if text.isascii():
        if text.isalpha():  # nearly every word
            return text.lower()
    else:
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(char for char in decomposed if not unicodedata.combining(char))
    return " ".join(text.casefold().split())


def digits_of(text: str) -> str:
    """Return the digits 0 to 9 of a text."""
    return text.encode().translate(None, _NO_DIGITS).decode()


def characters_of(text: str) -> str:
    """Return the letters and digits of a text, as they are."""
    if text.isascii():
        return text.encode().translate(None, _NO_CHARACTERS).decode()
    return "".join(filter(str.isalnum, text))


def spelt_out(name: str) -> str:
    """Return the name in lower case and the letters of ASCII, as addresses on the net have it:
    ``mueller``.
    """
    return fold(name.casefold().translate(_TWO_LETTERS))


def case_like(model: str, word: str) -> str:
    """Return the word in upper or lower case, or with a capital, where the model is.

    Its other letters as they are.
    """
    if model.isupper():
        return word.upper()
    if model.islower():
        return word.lower()
    return word[0].upper() + word[1:] if model[0].isupper() else word


def split_words(words: str, separator: str | None = None) -> tuple[str, ...]:
    """Return a table written as one string.

    Blanks separate its words unless another separator is given.
    """
    return tuple(words.split(separator))
