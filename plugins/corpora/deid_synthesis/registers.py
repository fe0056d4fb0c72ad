"""Texts as other keyboards and scanners leave them; labels stay with their pieces."""

from __future__ import annotations

from random import Random

from deid_synthesis.hard_cases import LOOKALIKES
from deid_synthesis.layout import CASE_SENSITIVE
from deid_synthesis.text import Piece, Text

DAMAGE_RATE = 0.02
"""Characters that a poor scan damages, of all."""
_DIGITS = {"0": "O", "1": "l", "5": "S", "8": "B", "O": "0", "S": "5", "B": "8", "I": "1"}
_TAKEN_FOR = {**LOOKALIKES, **_DIGITS}


def lower_text(text: Text) -> Text:
    """Return a text in lower case, but for logins and addresses of the net."""
    return text.map(_lower)


def _lower(piece: Piece) -> str:
    letters = piece.text.lower()
    is_kept = piece.label in CASE_SENSITIVE or len(letters) != len(piece.text)
    return piece.text if is_kept else letters


def scan_poorly(text: Text, rng: Random) -> Text:
    """Return a text as a poor scan leaves it: letters misread, blanks lost or doubled."""
    return text.map(lambda piece: _scan(piece.text, rng))


def _scan(text: str, rng: Random) -> str:
    return "".join(
        _damage(letter, rng) if rng.random() < DAMAGE_RATE else letter for letter in text
    )


def _damage(letter: str, rng: Random) -> str:
    if letter == " ":
        return rng.choice(("", "  "))
    return _TAKEN_FOR.get(letter, letter)
