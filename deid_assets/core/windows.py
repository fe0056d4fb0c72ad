"""Overlapping windows over long notes, and spans stitched back from them. Nothing is truncated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deid_assets.core.span import Span


@dataclass(frozen=True, slots=True)
class Window:
    """A range ``[start, end)`` of a note, and the part ``[own_start, own_end)`` that this window decides on."""

    start: int
    end: int
    own_start: int
    own_end: int


def windows(length: int, *, size: int, overlap: int) -> list[Window]:
    """Return windows that cover ``[0, length)``; the parts they own tile it without gap or overlap.

    Args:
        length: Units in the note: characters or tokens, as the caller likes. May be 0.
        size: Units in a window, greater than ``overlap``.
        overlap: Units shared by neighbours; at least the longest span plus the context a detector reads.

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


def stitch(per_window: Sequence[tuple[Window, Sequence[Span]]]) -> list[Span]:
    """Return one sorted list of spans in the note's offsets.

    A window has its say where it owns a character; a span that two windows see is one span, and where they
    disagree on its borders the union is kept, so that no character that an owner marked is lost.

    Args:
        per_window: Each window with its spans, in offsets relative to the window's start.
    """
    owned = sorted(
        shifted
        for window, spans in per_window
        for span in spans
        for shifted in [replace(span, start=span.start + window.start, end=span.end + window.start)]
        if shifted.start < window.own_end and shifted.end > window.own_start
    )
    borders = sorted(window.own_start for window, _ in per_window)[1:]
    stitched: list[Span] = []
    active: list[Span] = []  # what can still overlap the next span
    for span in owned:
        stitched += (kept for kept in active if kept.end <= span.start)
        active = [kept for kept in active if kept.end > span.start]
        twin = next((n for n, kept in enumerate(active) if _same(kept, span, borders)), None)
        if twin is None:
            active.append(span)
        else:
            kept = active[twin]
            active[twin] = replace(kept, end=max(kept.end, span.end), score=max(kept.score, span.score))
    return sorted([*stitched, *active])


def _same(left: Span, right: Span, borders: Sequence[int]) -> bool:
    """Whether two overlapping spans of one kind are two windows' view of one thing across a border."""
    alike = (left.label, left.source, left.native_label) == (right.label, right.source, right.native_label)
    if not alike or not left.overlaps(right):
        return False
    start, end = min(left.start, right.start), max(left.end, right.end)
    return left == right or any(start < border < end for border in borders)
