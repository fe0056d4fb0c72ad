"""Overlapping windows over long notes. Nothing is truncated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """A range ``[start, end)`` of a note, and the part ``[own_start, own_end)`` that this window
    decides on.
    """

    start: int
    end: int
    own_start: int
    own_end: int


def windows(length: int, *, size: int, overlap: int) -> list[Window]:
    """Return windows that cover ``[0, length)``; the parts they own tile it without gap or overlap.

    Args:
        length: Units in the note: characters or tokens, as the caller likes. May be 0.
        size: Units in a window, greater than ``overlap``.
        overlap: Units shared by neighbours; at least the longest span plus the context a detector
            reads.

    Raises:
        ValueError: ``size`` or ``overlap`` is out of range.
    """
    if not 0 <= overlap < size:
        raise ValueError(f"overlap {overlap} must be at least 0 and less than size {size}")
    starts = [0]
    while starts[-1] + size < length:
        starts.append(starts[-1] + size - overlap)
    half = overlap // 2
    return [
        Window(
            start,
            min(start + size, length),
            0 if start == 0 else start + half,
            length if start == starts[-1] else start + size - overlap + half,
        )
        for start in starts
    ]
