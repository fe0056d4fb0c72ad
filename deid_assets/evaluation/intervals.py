"""Arithmetic on half-open ranges of code points, and the interval of a proportion."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import sqrt
from sys import maxsize

from deid_assets.core.errors import InputError

Range = tuple[int, int]
"""Start and end, end exclusive, ``start < end``."""


def union(ranges: Iterable[Range]) -> list[Range]:
    """Return the same code points as sorted ranges that neither overlap nor touch."""
    merged: list[Range] = []
    last_end = -1
    for start, end in sorted(ranges):
        if start > last_end:
            merged.append((start, end))
            last_end = end
        elif end > last_end:
            merged[-1] = (merged[-1][0], end)
            last_end = end
    return merged


def size(disjoint: Iterable[Range]) -> int:
    """Return the number of code points in ranges that do not overlap."""
    return sum(end - start for start, end in disjoint)


def size_of_common(left: Sequence[Range], right: Sequence[Range]) -> int:
    """Return the number of code points that two unions share; both as ``union`` returns them."""
    few, many = sorted((left, right), key=len)
    total = 0
    for start, end in few:
        at = max(0, bisect_right(many, (start, maxsize)) - 1)
        while at < len(many) and many[at][0] < end:
            total += max(0, min(end, many[at][1]) - max(start, many[at][0]))
            at += 1
    return total


def is_inside(inner: Range, cover: Sequence[Range]) -> bool:
    """Whether a union, as ``union`` returns it, holds every code point of ``inner``."""
    after = bisect_right(cover, (inner[0], maxsize))
    return after > 0 and inner[1] <= cover[after - 1][1]


def is_touched(inner: Range, cover: Sequence[Range]) -> bool:
    """Whether a union, as ``union`` returns it, holds at least one code point of ``inner``."""
    start, end = inner
    after = bisect_right(cover, (start, maxsize))
    return (after > 0 and start < cover[after - 1][1]) or (
        after < len(cover) and cover[after][0] < end
    )


def count_matches(left: Iterable[Range], right: Iterable[Range]) -> int:
    """Return how many pairs of overlapping ranges can be made, each range used at most once.

    The size of a maximum matching is a property of the two sets, so the order of the input never
    matters.
    """
    lefts, rights = sorted(left), sorted(right)
    if _is_disjoint(lefts) and _is_disjoint(rights):
        return _count_matches_of_disjoint(lefts, rights)
    return _count_matches_by_augmenting(lefts, rights)


def _is_disjoint(ranges: Sequence[Range]) -> bool:
    return all(before[1] <= after[0] for before, after in pairwise(ranges))


def _count_matches_of_disjoint(lefts: Sequence[Range], rights: Sequence[Range]) -> int:
    # Of the first two ranges that overlap, the one that ends first has no other partner left, so
    # pairing is optimal.
    matches = i = j = 0
    while i < len(lefts) and j < len(rights):
        if lefts[i][1] <= rights[j][0]:
            i += 1
        elif rights[j][1] <= lefts[i][0]:
            j += 1
        else:
            matches, i, j = matches + 1, i + 1, j + 1
    return matches


def _count_matches_by_augmenting(lefts: Sequence[Range], rights: Sequence[Range]) -> int:
    """Berge (1957): a matching is maximum when no augmenting path is left."""
    partners = _partners(lefts, rights)
    right_of: dict[int, int] = {}
    left_of: dict[int, int] = {}
    # a search that failed never succeeds later, so what it saw is not searched again
    dead: set[int] = set()
    for root in range(len(lefts)):
        came_from: dict[int, int] = {}
        queue = deque([root])
        while queue:
            at = queue.popleft()
            fresh = [
                right for right in partners[at] if right not in came_from and right not in dead
            ]
            came_from.update(dict.fromkeys(fresh, at))
            free = next((right for right in fresh if right not in left_of), None)
            if free is not None:
                _flip_path(free, came_from, right_of, left_of)
                break
            queue.extend(left_of[right] for right in fresh)
        else:
            dead.update(came_from)
    return len(left_of)


def _flip_path(
    free: int, came_from: dict[int, int], right_of: dict[int, int], left_of: dict[int, int]
) -> None:
    right: int | None = free
    while right is not None:
        left = came_from[right]
        before = right_of.get(left)
        right_of[left], left_of[right] = right, left
        right = before


def _partners(lefts: Sequence[Range], rights: Sequence[Range]) -> list[list[int]]:
    """Return, for each range of ``lefts``, the indices in ``rights`` that it overlaps.

    Both sorted.
    """
    partners: list[list[int]] = []
    alive: list[int] = []
    opened = 0
    for start, end in lefts:
        alive = [j for j in alive if rights[j][1] > start]
        while opened < len(rights) and rights[opened][0] < end:
            if rights[opened][1] > start:
                alive.append(opened)
            opened += 1
        partners.append([j for j in alive if rights[j][0] < end])
    return partners


def wilson(hits: int, trials: int, *, z: float = 1.96) -> tuple[float, float]:
    """Return the Wilson score interval of a proportion.

    Args:
        hits: Successes, ``0 <= hits <= trials``.
        trials: Attempts, at least 1.
        z: Normal quantile; 1.96 covers 95 %.

    Returns:
        Lower and upper bound, each in [0, 1].

    Raises:
        InputError: ``trials`` is 0, or ``hits`` lies outside the range above.

    Source:
        Wilson (1927), JASA 22(158), 209-212.
    """
    if trials < 1 or not 0 <= hits <= trials:
        raise InputError(
            f"an interval needs 0 <= hits <= trials and trials >= 1, got {hits} of {trials}"
        )
    share = hits / trials
    shrink = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / shrink
    margin = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / shrink
    low = 0.0 if hits == 0 else max(0.0, centre - margin)
    high = 1.0 if hits == trials else min(1.0, centre + margin)
    return low, high
