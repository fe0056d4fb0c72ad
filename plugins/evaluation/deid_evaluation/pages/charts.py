"""Line charts as coordinates, for a template to draw as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

WIDTH, HEIGHT = 340, 230
"""Size of a chart with its axes, in CSS pixels."""
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 40
"""Room for the axes, in CSS pixels."""
STYLES = 6
"""Ways to draw a line; further lines reuse them."""


@dataclass(frozen=True, slots=True)
class Series:
    """A line, or dots.

    Args:
        name: In the legend.
        points: x and y, in order.
        is_dots: Dots joined by a thin line in place of a line alone.
    """

    name: str
    points: Sequence[tuple[float, float]]
    is_dots: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis.

    Args:
        name: What it shows.
        low: Where it begins.
        high: Where it ends, above ``low``.
    """

    name: str
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, slots=True)
class Drawn:
    """A line as a template draws it; ``dots`` are centres in CSS pixels."""

    name: str
    style: int
    path: str
    dots: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart as a template draws it; ticks are a place in CSS pixels and its words."""

    title: str
    x_name: str
    y_name: str
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]
    lines: Sequence[Drawn]
    diagonal: str


def chart(
    title: str, series: Iterable[Series], *, x: Axis, y: Axis, has_diagonal: bool = False
) -> Chart:
    """Return a chart.

    Args:
        title: Heading, and what a screen reader says.
        series: What is drawn; points that are not finite are left out.
        x: Axis to the right.
        y: Axis upwards.
        has_diagonal: Draw the line of ``x = y``, which both axes must have in common.
    """

    def across(value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (value - x.low) / (x.high - x.low), 1)

    def upward(value: float) -> float:
        return round(
            HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - y.low) / (y.high - y.low), 1
        )

    lines = []
    for at, one in enumerate(series):
        places = [(across(a), upward(b)) for a, b in one.points if isfinite(a) and isfinite(b)]
        path = " ".join(f"{'L' if step else 'M'}{a} {b}" for step, (a, b) in enumerate(places))
        lines.append(Drawn(one.name, at % STYLES, path, places if one.is_dots else ()))
    diagonal = (
        f"M{across(x.low)} {upward(y.low)}L{across(x.high)} {upward(y.high)}"
        if has_diagonal
        else ""
    )
    return Chart(
        title,
        x.name,
        y.name,
        [(across(value), _show_value(value, x)) for value in _ticks(x)],
        [(upward(value), _show_value(value, y)) for value in _ticks(y)],
        lines,
        diagonal,
    )


def _ticks(axis: Axis) -> list[float]:
    return [axis.low + (axis.high - axis.low) * step / 5 for step in range(6)]


def _show_value(value: float, axis: Axis) -> str:
    step = (axis.high - axis.low) / 5
    if step >= 1:
        return f"{value:,.0f}"
    return f"{value:.1f}" if step >= 0.1 else f"{value:.3g}"


def axis_of(name: str, values: Iterable[float]) -> Axis:
    """Return an axis from 0 that holds all values, its ticks at round numbers."""
    top = max((value for value in values if isfinite(value)), default=1.0)
    return Axis(name, 0.0, 5 * next(step for step in _steps() if step * 5 >= top))


def _steps() -> Iterable[float]:
    size = 0.001
    while True:
        for factor in (1, 2, 5):
            yield size * factor
        size *= 10
