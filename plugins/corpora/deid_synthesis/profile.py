"""The look of a site's notes as shares, without any of its words: what a privacy officer reads.

Every key is of a closed list that this package holds: forms of headings, kinds of sections,
categories. What fewer than ``LEAST`` patients show is not in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from deid_assets.extending import InputError, Phi
from deid_synthesis.sections import section_bank

LEAST = 10
"""Patients who must show something, or notes where patients are not told."""
FORMAT = 1
START = "start"
END = "end"
OTHER = "other"
"""A heading of no known kind; its words are not kept."""
HEADINGS = ("{}:\n", "{}: ", "{}\n", "## {}\n", "** {} **\n", "[{}]\n", "{} -- ")
FIELD_MARKS = (": ", ":  ", ":\t", ":", " : ", ".....: ", " - ")
FIELD_GAPS = ("\n", "\n\n", "    ", " | ", "; ")
BULLETS = ("- ", "* ", "{}. ", "{}) ", "\u2022 ", "  - ", "#{} ", "")
WIDTHS = ("0", "60", "70", "80", "90", "100")
"""Longest lines in characters where lines are wrapped; 0 where they are not."""
LETTERS = ("mixed", "lower", "capitals")

Shares = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteProfile:
    """The look of the notes of a site, in one language.

    Args:
        lang: ISO 639-1.
        notes: How many were read, rounded down to ten.
        least: Patients who show each thing that is in it, at least.
        words: Words of notes at equal steps of their number, from short to long.
        identifiers: Mean number by category in a note that has any.
        without_identifiers: Share of the notes without any.
        first: Shares of the kinds of the first section; ``end`` where a note has none.
        following: By kind of a section, shares of the kinds that follow it.
        blank_lines: Shares of the number of blank lines before a heading.
        headings: Shares of their forms.
        heading_capitals: Share of headings in capitals.
        fields: Mean number of header fields by category, in a note.
        field_marks: Shares of what stands between the name of a field and its value.
        field_gaps: Shares of what stands between two fields.
        field_capitals: Share of names of fields in capitals.
        bullets: Shares of marks of list items.
        widths: Shares of the longest line of notes.
        letters: Shares of notes in lower case, in capitals, or in neither.
        plain_letters: Share of notes without accents.
        crlf: Share of notes whose lines end in CRLF.
    """

    lang: str
    notes: int
    least: int
    words: Sequence[int]
    identifiers: Shares
    without_identifiers: float
    first: Shares
    following: Mapping[str, Shares]
    blank_lines: Shares
    headings: Shares
    heading_capitals: float
    fields: Shares
    field_marks: Shares
    field_gaps: Shares
    field_capitals: float
    bullets: Shares
    widths: Shares
    letters: Shares
    plain_letters: float
    crlf: float
    format: int = field(default=FORMAT)

    def to_json(self) -> dict[str, Any]:
        """Return it as a document."""
        return asdict(self)

    def as_text(self) -> str:
        """Return it as a file holds it."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n"


_CLOSED: Mapping[str, Sequence[str]] = {
    "headings": HEADINGS,
    "field_marks": FIELD_MARKS,
    "field_gaps": FIELD_GAPS,
    "bullets": BULLETS,
    "widths": WIDTHS,
    "letters": LETTERS,
    "blank_lines": ("0", "1", "2"),
    "identifiers": tuple(Phi),
    "fields": tuple(Phi),
}


def read_profile(path: Path) -> SiteProfile:
    """Return the profile of a file.

    Raises:
        InputError: It is none, or holds a key or a value that no profile has, which could be a word
            of a note.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        profile = SiteProfile(**found)
        _check(profile)
    except (ValueError, TypeError, AttributeError):
        raise InputError(
            f"{path} is no profile of notes; write one with deid corpus synthesize --profile"
        ) from None
    return profile


def _check(profile: SiteProfile) -> None:
    counts = [profile.notes, profile.least, *profile.words]
    if profile.format != FORMAT or not profile.words or not all(map(_is_count, counts)):
        raise ValueError("another format")
    for name, known in _CLOSED.items():
        _check_shares(getattr(profile, name), known)
    for name in ("heading_capitals", "field_capitals", "plain_letters", "crlf"):
        _check_shares({name: getattr(profile, name)}, (name,))
    _check_shares({"without": profile.without_identifiers}, ("without",))
    kinds = {*section_bank(profile.lang).titles.values(), OTHER, END}
    _check_shares(dict.fromkeys(profile.following, 0.0), tuple(kinds))
    for shares in (profile.first, *profile.following.values()):
        _check_shares(shares, tuple(kinds))


def _check_shares(shares: Shares, known: Sequence[str]) -> None:
    for key, share in shares.items():
        is_number = isinstance(share, int | float) and not isinstance(share, bool)
        if key not in known or not is_number or not 0 <= share < 1_000:
            raise ValueError("a key or a value that no profile has")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_profile(path: Path) -> bool:
    """Whether a file is a profile and no notes."""
    if path.suffix != ".json" or not path.is_file():
        return False
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return isinstance(found, dict) and {one.name for one in fields(SiteProfile)} == set(found)
