"""Chooses among overlapping candidates of this detector.

What the winner does not cover stays marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deid_assets.extending import SEVERITY
from deid_rules.candidate import START, Candidate

MIN_REMAINDER = 2


def arbitrate(candidates: Iterable[Candidate], text: str) -> list[Candidate]:
    """Return candidates of which no two overlap, sorted.

    The higher score wins, then the longer, the earlier, the severer category. A loser that sticks
    out keeps the words that stick out, if there is a capital or a digit among them.
    """
    chosen: list[Candidate] = []
    group: list[Candidate] = []
    end = 0
    for candidate in sorted(candidates, key=START):
        if candidate.start >= end:
            chosen += _settle(group, end, text)
            group, end = [candidate], candidate.end
        else:
            group.append(candidate)
            end = max(end, candidate.end)
    return chosen + _settle(group, end, text)


def _settle(group: list[Candidate], stop: int, text: str) -> list[Candidate]:
    """What stands of a run of candidates.

    They hang together by overlaps and reach up to ``stop``.
    """
    if len(group) <= 1:
        return group
    origin = group[0].start
    best = group[0]
    for other in group[1:]:
        if other.score >= best.score and _rank(other) < _rank(best):
            best = other
    if best.start == origin and best.end == stop:
        return [best]  # as mostly: nothing sticks out
    ranked = sorted(group, key=_rank)
    taken = bytearray(stop - origin)
    kept: list[Candidate] = []
    for candidate in ranked:
        for start, end in _list_free(candidate.start - origin, candidate.end - origin, taken):
            whole = end - start == candidate.end - candidate.start
            first, last = (
                (start + origin, end + origin)
                if whole
                else _trim(text, start + origin, end + origin)
            )
            if first < last:
                kept.append(candidate._replace(start=first, end=last))
                taken[first - origin : last - origin] = b"\1" * (last - first)
    return sorted(kept)


def _rank(candidate: Candidate) -> tuple[float, int, int, int, str, str]:
    """Place among overlapping candidates; the first wins."""
    start, end, label, score, rule, native = candidate
    return -score, start - end, start, SEVERITY[label], rule, native


def _list_free(start: int, end: int, taken: bytearray) -> Iterator[tuple[int, int]]:
    """The parts of [start, end) that are not taken."""
    while start < end and (first := taken.find(0, start, end)) >= 0:
        last = taken.find(1, first, end)
        start = end if last < 0 else last
        yield first, start


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without marks and blanks at its ends; empty where nothing in it could identify."""
    while start < end and not text[start].isalnum():
        start += 1
    while start < end and not text[end - 1].isalnum():
        end -= 1
    if end - start < MIN_REMAINDER or not any(
        letter.isupper() or letter.isdigit() for letter in text[start:end]
    ):
        return start, start
    return start, end
