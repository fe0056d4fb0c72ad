"""A figure of each batch over the batches, as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deid_assets.reports.plots import FILL, GRID, MUTED, blank, png

HEIGHT_INCHES = 2.6
OFF = "#b3261e"
_NAMED = 12
"""Batches whose names stand below the axis; of more, only some."""


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """A figure of one batch.

    Args:
        batch: Its id.
        value: The figure.
        low: Lower end of what is usual; ``None`` where that is not known.
        high: Upper end, likewise.
        is_off: Whether it lies outside.
    """

    batch: str
    value: float
    low: float | None = None
    high: float | None = None
    is_off: bool = False


def series_png(points: Sequence[SeriesPoint], *, title: str, measure: str) -> bytes:
    """Return the figures in the order of arrival, what is usual as a band, what is off in red.

    Args:
        points: One for each batch.
        title: Of the plot.
        measure: What the figures are, with their unit.
    """
    figure, axes = blank(HEIGHT_INCHES, title=title)
    places = list(range(len(points)))
    banded = [at for at in places if points[at].low is not None]
    if banded:
        axes.fill_between(
            banded,
            [points[at].low or 0.0 for at in banded],
            [points[at].high or 0.0 for at in banded],
            color=GRID,
            linewidth=0,
            step="mid",
            label="usual",
        )
    axes.plot(places, [one.value for one in points], color=FILL, linewidth=1.2, zorder=2)
    for is_off, colour, marker in ((False, FILL, "o"), (True, OFF, "D")):
        chosen = [at for at in places if points[at].is_off is is_off]
        axes.scatter(
            chosen, [points[at].value for at in chosen], c=colour, marker=marker, s=18, zorder=3
        )
    step = max(1, -(-len(points) // _NAMED))
    shown = places[::step]
    axes.set_xticks(shown, [points[at].batch[-8:] for at in shown], fontsize=7, rotation=30)
    axes.set_ylabel(measure, fontsize=8, color=MUTED)
    axes.set_xlabel("Batch, in the order of arrival", fontsize=8, color=MUTED)
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=8, labelcolor=MUTED, color=GRID)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return png(figure)
