"""Layout of a note.

Headings, header blocks, bullets, line wraps, newlines, capitals and accents.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from random import Random

from deid_assets.extending import Phi
from deid_synthesis.text import Piece, Text

CAPITALS_RATE = 0.04
PLAIN_LETTERS_RATE = 0.04
CRLF_RATE = 0.08
WRAP_RATE = 0.30
CASE_SENSITIVE = frozenset({Phi.EMAIL, Phi.URL, Phi.USERNAME})


@dataclass(frozen=True, slots=True)
class Style:
    """The typographic habits of one note.

    Args:
        heading: Format of a section heading, with ``{}`` for its words.
        heading_capitals: Whether headings are in capitals.
        field_mark: Between the name and value of a header field.
        field_gap: Between two header fields: a newline, or a separator on one line.
        field_capitals: Whether field names are in capitals.
        bullet: Format of a list mark, with ``{}`` for the line's number.
        wrap: Longest line in characters, or 0 for no wrapping.
        crlf: Whether lines end in CRLF.
        capitals: Whether the whole note is in capitals.
        plain_letters: Whether accents were left out.
    """

    heading: str
    heading_capitals: bool
    field_mark: str
    field_gap: str
    field_capitals: bool
    bullet: str
    wrap: int
    crlf: bool
    capitals: bool
    plain_letters: bool


def draw_style(rng: Random) -> Style:
    """Return the habits of one note."""
    return Style(
        heading=rng.choice(
            ("{}:\n", "{}: ", "{}\n", "{}:\n", "{}: ", "## {}\n", "** {} **\n", "[{}]\n", "{} -- ")
        ),
        heading_capitals=rng.random() < 0.5,
        field_mark=rng.choice((": ", ": ", ": ", ":  ", ":\t", ":", " : ", ".....: ", " - ")),
        field_gap=rng.choice(("\n", "\n", "\n", "\n", "    ", " | ", "\n\n", "; ")),
        field_capitals=rng.random() < 0.25,
        bullet=rng.choice(("- ", "- ", "* ", "{}. ", "{}) ", "", "\u2022 ", "  - ", "#{} ")),
        wrap=rng.choice((60, 66, 72, 76, 80, 80, 90)) if rng.random() < WRAP_RATE else 0,
        crlf=rng.random() < CRLF_RATE,
        capitals=rng.random() < CAPITALS_RATE,
        plain_letters=rng.random() < PLAIN_LETTERS_RATE,
    )


def lay_out(text: Text, style: Style) -> Text:
    """Return the text in the style's letters, wraps and newlines."""
    if style.plain_letters:
        text = text.map(lambda piece: _strip_accents(piece.text))
    if style.capitals:
        text = text.map(_capitals)
    if style.wrap:
        text = text.overwrite(_wrap(str(text), style.wrap))
    if style.crlf:
        text = text.map(lambda piece: piece.text.replace("\n", "\r\n"))
    return text


def _capitals(piece: Piece) -> str:
    return piece.text if piece.label in CASE_SENSITIVE else piece.text.upper()


def _strip_accents(text: str) -> str:
    """Strip acute accents and diaereses over vowels.

    The tilde of ñ is kept, as Spanish typists keep it.
    """
    marks = {"\u0301", "\u0308", "\u0300"}
    stripped = "".join(
        character for character in unicodedata.normalize("NFD", text) if character not in marks
    )
    return unicodedata.normalize("NFC", stripped)


def _wrap(characters: str, width: int) -> str:
    """Turn spaces into newlines so that lines keep within ``width``; the length does not change."""
    lines = []
    for line in characters.split("\n"):
        rest = line
        while len(rest) > width:
            cut = rest.rfind(" ", 1, width + 1)
            if cut < width // 2:
                break
            lines.append(rest[:cut])
            rest = rest[cut + 1 :]
        lines.append(rest)
    return "\n".join(lines)
