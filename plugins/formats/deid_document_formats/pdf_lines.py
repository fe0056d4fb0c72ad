"""Rows of a page as running text: what was broken only because a row was full is joined again.

A name cut in two at the end of a row is a name to no detector.
"""

from __future__ import annotations

import re

_LIGATURES = {
    0xFB00: "ff",
    0xFB01: "fi",
    0xFB02: "fl",
    0xFB03: "ffi",
    0xFB04: "ffl",
    0xFB05: "st",
    0xFB06: "st",
}
_CUT = re.compile(r"(?<=\w)[-\u2010]\Z")
_SHORTEST = 35
"""Width in small letters of a row from which its neighbours are running text; forms have less."""
_AROUND = 6
"""Rows before and after that tell how wide a column is."""
_FULL = 0.9
"""Share of the column from which a row counts as full, since widths are estimates."""
_NARROW = frozenset(" .,:;'!|()[]-/fijlrtI")
_WIDE = frozenset("mw@%")


def running(text: str) -> str:
    """Return a page's text with broken words and full rows joined, and ligatures as letters.

    A hyphen before a small letter is dropped with the break, and kept before a capital or a digit.
    """
    rows = [row.translate(_LIGATURES) for row in text.split("\n")]
    widths = [_width(row.rstrip()) for row in rows]
    out = rows[:1]
    for number in range(1, len(rows)):
        column = max(widths[max(number - _AROUND, 0) : number + _AROUND])
        out.append(_joint(rows[number - 1].rstrip(), rows[number].lstrip(), column))
        out.append(rows[number])
    return _join_rows(out)


def _joint(row: str, following: str, column: float) -> str:
    """Return what stands between two rows: a break, a blank, nothing, or ``-`` for a dropped
    hyphen.
    """
    if not row or not following or not following[0].isalnum():
        return "\n"
    if row.endswith("\xad"):
        return "-"
    if _CUT.search(row):
        return "-" if following[0].islower() and row[-2].isalpha() else ""
    with_next = f"{row} {following.split(maxsplit=1)[0]}"
    if column >= _SHORTEST and _width(with_next) > column * _FULL:
        return " "
    return "\n"


def _width(text: str) -> float:
    """Return about how wide a text is in letters of common fonts: that of ``n`` is 1."""
    return sum(
        0.5 if char in _NARROW else 1.35 if char.isupper() or char in _WIDE else 1.0
        for char in text
    )


def _join_rows(parts: list[str]) -> str:
    """Return rows and joints, which take turns, as one text without soft hyphens."""
    rows = parts[:1]
    for joint, row in zip(parts[1::2], parts[2::2], strict=True):
        if joint == "\n":
            rows += ["\n", row]
        else:
            # a row that is joined to is not blank, so that no blank before it goes
            before = rows[-1].rstrip()
            rows[-1] = before[:-1] if joint == "-" else before + joint
            rows.append(row.lstrip())
    return "".join(rows).replace("\xad", "")
