"""Recall by minutes of work as a curve with its band, in the units of the picture on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from deid_review.measures import Measured

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 56, 624, 14, 212
_STEPS = (1, 2, 2.5, 5, 10)
_MOST_TICKS = 6


@dataclass(frozen=True, slots=True)
class Tick:
    """A number on an axis.

    Args:
        at: Where it stands.
        text: The number.
    """

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class RecallCurve:
    """What the page draws.

    Args:
        line: Points of recall, as a polyline has them.
        band: Points of its interval, as a polygon has them.
        points: Place of each note that was settled.
        shares: Ticks of the axis of recall; it begins below the lowest interval, not at 0.
        minutes: Ticks of the axis of minutes.
        told: The last of it, in words.
        worked: Minutes of work.
        notes: Notes of the random sample that were settled.
    """

    line: str
    band: str
    points: Sequence[tuple[float, float]]
    shares: Sequence[Tick]
    minutes: Sequence[Tick]
    told: str
    worked: str
    notes: int


def curve_of(found: Sequence[Measured]) -> RecallCurve | None:
    """Return the curve of recall, or ``None`` where nothing was measured."""
    if not found:
        return None
    longest = max(found[-1].minutes, 1e-9)
    lowest = floor(10 * min(one.low for one in found)) / 10

    def across(minutes: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * minutes / longest, 1)

    def down(share: float) -> float:
        return round(TOP + (BOTTOM - TOP) * (1 - share) / (1 - lowest), 1)

    places = [(across(one.minutes), down(one.value)) for one in found]
    upper = [(across(one.minutes), down(one.high)) for one in found]
    lower = [(across(one.minutes), down(one.low)) for one in reversed(found)]
    last = found[-1]
    return RecallCurve(
        _write_points(places),
        _write_points([*upper, *lower]),
        places,
        [Tick(down(one), f"{one:.2f}") for one in _ticks(lowest, 1.0)],
        [Tick(across(one), f"{one:g}") for one in _ticks(0.0, longest)],
        f"{last.value:.3f} [{last.low:.3f}, {last.high:.3f}]",
        f"{last.minutes:.1f}",
        len(found),
    )


def _write_points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def _ticks(first: float, last: float) -> list[float]:
    """Return round numbers from the first on, at most ``_MOST_TICKS``."""
    rough = (last - first) / (_MOST_TICKS - 1)
    power = 10 ** floor(log10(rough))
    step = next(power * one for one in _STEPS if power * one >= rough)
    count = floor((last - first) / step + 1e-9)
    return [round(first + at * step, 10) for at in range(count + 1)]
