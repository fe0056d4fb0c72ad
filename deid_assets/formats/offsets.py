"""Offsets of sources that count UTF-8 bytes or UTF-16 units, converted to code points."""

from __future__ import annotations

from collections.abc import Iterable

from deid_assets.formats.options import OffsetUnit

_ENCODINGS = {"utf8": ("utf-8", 1), "utf16": ("utf-16-le", 2)}


def to_code_points(text: str, offsets: Iterable[int], unit: OffsetUnit) -> dict[int, int | None]:
    """Return each offset with its code point, or with ``None`` where it is out of bounds or inside
    a code point.

    Args:
        text: The note, without lone surrogates.
        offsets: Boundaries in ``unit``, from 0.
        unit: What the source counts.
    """
    wanted = sorted(set(offsets))
    if unit == "codepoint" or text.isascii():
        return {offset: offset if 0 <= offset <= len(text) else None for offset in wanted}
    encoding, width = _ENCODINGS[unit]
    encoded = text.encode(encoding)
    points: dict[int, int | None] = {}
    done, counted = 0, 0  # bytes behind the last good boundary, and code points before it
    for offset in wanted:
        if not 0 <= offset * width <= len(encoded):
            points[offset] = None
            continue
        try:
            counted += len(encoded[done : offset * width].decode(encoding))
        except UnicodeDecodeError:
            points[offset] = None
            continue
        done, points[offset] = offset * width, counted
    return points


def width(text: str, unit: OffsetUnit) -> int:
    """Return the length of a text in ``unit``.

    A lone surrogate counts as what would stand for it.
    """
    if unit == "codepoint":
        return len(text)
    encoding, bytes_per_unit = _ENCODINGS[unit]
    return len(text.encode(encoding, "surrogatepass")) // bytes_per_unit
