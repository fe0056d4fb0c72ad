"""Chooses among overlapping candidates of this detector; what the winner does not cover stays marked."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from deid_rules.candidate import Candidate

MIN_REMAINDER = 2


def arbitrate(candidates: Iterable[Candidate], text: str) -> list[Candidate]:
    """Return candidates of which no two overlap, sorted.

    The higher score wins, then the longer, then the earlier. A loser that sticks out keeps the words that
    stick out, if there is a capital or a digit among them.
    """
    ordered = sorted(candidates, key=lambda c: (-c.score, c.start - c.end, c.start, c.label, c.rule))
    kept: list[tuple[int, int, Candidate]] = []
    for candidate in ordered:
        for start, end in _free(candidate.start, candidate.end, kept):
            if start > candidate.start or end < candidate.end:
                start, end = _trimmed(text, start, end)  # noqa: PLW2901 - the remainder of the same range
            if start < end:
                insort(kept, (start, end, candidate._replace(start=start, end=end)), key=lambda entry: entry[0])
    return [candidate for _, _, candidate in kept]


def _free(start: int, end: int, kept: list[tuple[int, int, Candidate]]) -> list[tuple[int, int]]:
    """The parts of [start, end) that no kept candidate covers."""
    at = bisect_left(kept, start, key=lambda entry: entry[1])
    pieces, cursor = [], start
    while at < len(kept) and kept[at][0] < end:
        if kept[at][0] > cursor:
            pieces.append((cursor, kept[at][0]))
        cursor = max(cursor, kept[at][1])
        at += 1
    if cursor < end:
        pieces.append((cursor, end))
    return pieces


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without marks and blanks at its ends; empty where nothing in it could identify."""
    while start < end and not text[start].isalnum():
        start += 1
    while start < end and not text[end - 1].isalnum():
        end -= 1
    if end - start < MIN_REMAINDER or not any(letter.isupper() or letter.isdigit() for letter in text[start:end]):
        return start, start
    return start, end
