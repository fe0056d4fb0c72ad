"""Windows over a long note, and the one in which each word is scored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deid_assets.extending import ConfigError

LONGEST = 64
"""Sub-tokens of a word that are scored; those after them could only lower the product."""


def windows(length: int, *, window: int) -> list[range]:
    """Return windows over the sub-tokens of a note.

    Neighbours share ``window // 2 - 1`` sub-tokens (Myntti 2025, section 1.3); two places of each
    are kept for the sub-tokens around a sequence. The last window is drawn back to the end, so that
    it is as long as the others.

    Args:
        length: Sub-tokens in the note; may be 0.
        window: Most in a sequence, with those around it.

    Raises:
        ConfigError: The window is too short.
    """
    room, shared = window - 2, overlap(window)
    if shared < 1:
        raise ConfigError(f"window {window} is too short; give 6 sub-tokens or more")
    found = [range(min(room, length))]
    while found[-1].stop < length:
        start = min(found[-1].stop - shared, length - room)
        found.append(range(start, start + room))
    return found


def overlap(window: int) -> int:
    """Return how many sub-tokens neighbouring windows share at least."""
    return window // 2 - 1


def longest_word(window: int) -> int:
    """Return how many sub-tokens of a word are scored, so that some window holds them all."""
    return min(LONGEST, overlap(window))


def assign(words: Sequence[range], parts: Sequence[range], *, length: int) -> list[int]:
    """Return the number of the window in which each word is scored.

    Where the nearest cut is farthest away.

    The beginning and the end of the note are no cuts.

    Args:
        words: Sub-tokens of each, not more than ``longest_word``.
        parts: Windows of the note.
        length: Sub-tokens in the note.
    """
    starts = np.array([part.start or -length for part in parts])
    stops = np.array([part.stop if part.stop < length else 2 * length for part in parts])
    return [int(np.argmax(np.minimum(word.start - starts, stops - word.stop))) for word in words]
