"""The hard cases a corpus must hold, each with its rate, and the distortions among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from deid_assets.extending import Phi
from deid_synthesis.text import Piece, Text

NUMBERS = frozenset({Phi.MRN, Phi.NATIONAL_ID, Phi.PHONE, Phi.ACCOUNT, Phi.HEALTH_PLAN, Phi.ID})
LOOKALIKES = {"l": "1", "o": "0", "i": "l", "e": "c", "a": "o", "n": "ri", "m": "rn"}
"""Letters that optical character recognition confuses."""


@dataclass(frozen=True, slots=True)
class HardCase:
    """Something detectors get wrong.

    Args:
        name: Listed in ``note.meta["cases"]`` of the notes that hold it; for a sentence, the rule
            ``case.<name>``.
        rate: Share of the notes with PHI for which it is planned; a note too short for it may go
            without.
        distort: Changes one piece of the finished text; ``None`` where the grammar writes a
            sentence.
    """

    name: str
    rate: float
    distort: Callable[[Text, Random], Text] | None = None


def _alter(
    text: Text, rng: Random, *, fits: Callable[[Piece], bool], rewrite: Callable[[str], str]
) -> Text:
    places = [index for index, piece in enumerate(text.pieces) if fits(piece)]
    if not places:
        return text
    place = rng.choice(places)
    old = text.pieces[place]
    new = Piece(rewrite(old.text), old.label, old.native_label)
    return Text((*text.pieces[:place], new, *text.pieces[place + 1 :]))


def _is_name(piece: Piece) -> bool:
    return piece.label is Phi.NAME and len(piece.text) > 4


def _lower_name(text: Text, rng: Random) -> Text:
    return _alter(text, rng, fits=_is_name, rewrite=str.lower)


def _upper_name(text: Text, rng: Random) -> Text:
    return _alter(
        text,
        rng,
        fits=lambda piece: _is_name(piece) and not piece.text.isupper(),
        rewrite=str.upper,
    )


def _misspelt_name(text: Text, rng: Random) -> Text:
    """Swap, drop, double or misread one inner letter of a name."""

    def misspell(name: str) -> str:
        inner = [
            i
            for i in range(1, len(name) - 2)
            if name[i : i + 2].isalpha() and name[i] != name[i + 1]
        ]
        if not inner:
            return name
        i = rng.choice(inner)
        read = LOOKALIKES.get(name[i], name[i] * 2)
        return name[:i] + rng.choice(
            (name[i + 1] + name[i] + name[i + 2 :], name[i + 1 :], read + name[i + 1 :])
        )

    return _alter(text, rng, fits=_is_name, rewrite=misspell)


def _digits(piece: Piece) -> int:
    return sum(character.isdigit() for character in piece.text)


def _space_digits(text: Text, rng: Random) -> Text:
    def fits(piece: Piece) -> bool:
        return (
            piece.label in NUMBERS and _digits(piece) >= 6 and piece.text.replace("-", "").isdigit()
        )

    return _alter(text, rng, fits=fits, rewrite=lambda number: " ".join(number.replace("-", "")))


def _wrap_number(text: Text, rng: Random) -> Text:
    """Break a number over two lines, after a separator where there is one."""

    def wrap(number: str) -> str:
        if " " in number:
            return number.replace(" ", "\n", 1)
        cut = number.find("-") + 1 or len(number) // 2
        return number[:cut] + "\n" + number[cut:]

    def fits(piece: Piece) -> bool:
        return piece.label in NUMBERS and _digits(piece) >= 6 and "\n" not in piece.text

    return _alter(text, rng, fits=fits, rewrite=wrap)


HARD_CASES = (
    HardCase("eponym", 0.30),
    HardCase("measurement", 0.30),
    HardCase("word_name", 0.15),
    HardCase("possessive", 0.20),
    HardCase("initials", 0.15),
    HardCase("bare_name", 0.20),
    HardCase("relative", 0.25),
    HardCase("yearless_date", 0.20),
    HardCase("date_range", 0.15),
    HardCase("date_in_words", 0.10),
    HardCase("iso_date", 0.10),
    HardCase("foreign_date_order", 0.08),
    HardCase("old_age", 0.80),
    HardCase("unlabelled_id", 0.10),
    HardCase("phone_extension", 0.10),
    HardCase("online_contact", 0.12),
    HardCase("device_or_vehicle", 0.12),
    HardCase("abroad", 0.08),
    HardCase("lower_name", 0.07, _lower_name),
    HardCase("upper_name", 0.07, _upper_name),
    HardCase("misspelt_name", 0.05, _misspelt_name),
    HardCase("spaced_digits", 0.08, _space_digits),
    HardCase("wrapped_number", 0.08, _wrap_number),
)
"""Planned per note. ``old_age`` applies to patients over 89 only.

Names with particles, hyphens or made of words are
drawn per person (``people.py``), notes without PHI per note (``corpus.MIXES``)."""
