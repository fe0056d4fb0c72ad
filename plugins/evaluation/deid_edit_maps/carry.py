"""Carry annotations from the original text to the redacted one, and back.

The rule for a range that meets a replacement: a replacement is never cut in two. A range that
begins or ends inside one is widened to hold all of it; a range of which nothing is left, because it
lay in text that was taken out, is lost. Both are counted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import StrEnum

from deid_assets.extending import OffsetError
from deid_assets.extending.edits import EditMap

Stretch = tuple[int, int, int, int]
"""``[start, end)`` of the text that is left, and of the text that is gone to."""


class Meeting(StrEnum):
    """Relation of a range to the replacements."""

    CLEAR = "clear"
    """It meets none: its text is the same in both."""
    WHOLE = "whole"
    """It holds every replacement that it meets from end to end.

    The span of a name itself is such a range.
    """
    WIDENED = "widened"
    """It began or ended inside a replacement and now holds all of it."""
    LOST = "lost"
    """Nothing of it stands in the other text."""


def stretches(edits: EditMap, *, to_original: bool = False) -> list[Stretch]:
    """Return the replacements as ranges of both texts, in the direction to go."""
    if to_original:
        return [(edit.new_start, edit.new_end, edit.start, edit.end) for edit in edits.edits]
    return [(edit.start, edit.end, edit.new_start, edit.new_end) for edit in edits.edits]


def carry(
    start: int, end: int, ways: Sequence[Stretch], *, chars: int
) -> tuple[tuple[int, int] | None, Meeting]:
    """Return where a range stands in the other text, and how that came.

    It is ``None`` where nothing of the range stands there.

    Args:
        start: First code point.
        end: One past the last.
        ways: As ``stretches`` returns them.
        chars: Length of the text that the range is of.

    Raises:
        OffsetError: The range is empty, reversed or out of bounds.
    """
    if not 0 <= start < end <= chars:
        raise OffsetError(
            f"[{start}, {end}) is empty, reversed or outside the text of {chars} characters"
        )
    first = bisect_right(ways, start, key=lambda way: way[0]) - 1
    last = bisect_left(ways, end, key=lambda way: way[0]) - 1
    new_start, cut_start = _move_start(start, ways, first)
    new_end, cut_end = _move_end(end, ways, last)
    if new_end <= new_start:
        return None, Meeting.LOST
    if cut_start or cut_end:
        return (new_start, new_end), Meeting.WIDENED
    meets = last >= 0 and ways[last][1] > start
    return (new_start, new_end), Meeting.WHOLE if meets else Meeting.CLEAR


def _move_start(offset: int, ways: Sequence[Stretch], at: int) -> tuple[int, bool]:
    """Move a beginning; ``at`` is the last way that begins at or before it.

    What was taken out stays before it.
    """
    if at < 0:
        return offset, False
    start, end, new_start, new_end = ways[at]
    if offset < end:
        return new_start, offset > start
    return offset - end + new_end, False


def _move_end(offset: int, ways: Sequence[Stretch], at: int) -> tuple[int, bool]:
    """Move an end; ``at`` is the last way that begins before it.

    What was taken out stays after it.
    """
    if at < 0:
        return offset, False
    _, end, _, new_end = ways[at]
    return (new_end, offset < end) if offset <= end else (offset - end + new_end, False)
