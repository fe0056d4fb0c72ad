"""What stands in an output for what was removed, and the words of texts that hold such
placeholders.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from deid_assets import Phi

PLACEHOLDER = "[XXXXX]"
"""Stands for anything removed (Dorémus et al. 2025)."""
ANONYMOUS = "ANONYMOUS"
"""The whole output for a note from which nothing is removed."""

_TAGS = sorted(
    {
        *Phi,
        "NOM",
        "PRENOM",
        "PRÉNOM",
        "LOC",
        "LIEU",
        "VILLE",
        "ADRESSE",
        "ADDRESS",
        "TEL",
        "TÉLÉPHONE",
        "MAIL",
        "PII",
    }
    | {
        "PHI",
        "REDACTED",
        "REMOVED",
        "ANONYMIZED",
        "ANONYMISÉ",
        "PATIENT",
        "DOCTOR",
        "STAFF",
        "IDENTIFIER",
        "COVERED",
    },
    key=lambda name: (-len(name), name),
)
_SHAPE = re.compile(
    r"\[{1,2}\s*[Xx]{3,12}\s*\]{0,2}|<\s*[Xx]{3,12}\s*>|\b[Xx]{3,12}\](?!\w)|\bX{4,12}\b"
    rf"|[\[<{{]\s*(?:{'|'.join(map(re.escape, _TAGS))})(?:["
    r" _-]?\d{1,3})?\s*[\]>}]|█{2,}|\*{3,}",
)
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class TextUnit:
    """A word, another visible character, or a placeholder.

    Args:
        start: First code point.
        end: One past the last.
        text: What stands there.
        is_hole: Whether it has the shape of a placeholder.
    """

    start: int
    end: int
    text: str
    is_hole: bool = False


def words(text: str) -> list[TextUnit]:
    """Return the words of a text in order; blanks are between them.

    Placeholders with blanks alone between them are one: nobody can tell which of them stands for
    what.
    """
    found: list[TextUnit] = []
    cursor = 0
    for hole in _SHAPE.finditer(text):
        if found and found[-1].is_hole and not text[cursor : hole.start()].strip():
            found[-1] = TextUnit(found[-1].start, hole.end(), found[-1].text, is_hole=True)
        else:
            found += (
                TextUnit(*match.span(), match[0])
                for match in _WORD.finditer(text, cursor, hole.start())
            )
            found.append(TextUnit(*hole.span(), hole[0], is_hole=True))
        cursor = hole.end()
    found += (TextUnit(*match.span(), match[0]) for match in _WORD.finditer(text, cursor))
    return found


def make_placeholder(label: str) -> str:
    """Return the placeholder that names a label."""
    return f"[{label}]"
