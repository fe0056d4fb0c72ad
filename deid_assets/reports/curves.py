"""Learning curves of trained taggers, as PNG."""

from __future__ import annotations

from collections.abc import Sequence

from deid_assets.core.trainer import Epoch
from deid_assets.reports.plots import FILL, GRID, MUTED, blank, png

HEIGHT_INCHES = 3.0


def curve_png(points: Sequence[Epoch], *, title: str) -> bytes:
    """Return loss and development F1 over the epochs, phases one after the other, as a PNG."""
    figure, axes = blank(HEIGHT_INCHES, title=title)
    epochs = range(1, len(points) + 1)
    axes.plot(epochs, [point.loss for point in points], color=MUTED, linewidth=1.2)
    axes.set_xlabel("Epoch", fontsize=8, color=MUTED)
    axes.set_ylabel("Training loss", fontsize=8, color=MUTED)
    axes.set_ylim(bottom=0)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    measured = [
        (epoch, point.dev_f1)
        for epoch, point in zip(epochs, points, strict=True)
        if point.dev_f1 is not None
    ]
    if measured:
        beside = axes.twinx()
        beside.plot(
            [epoch for epoch, _ in measured],
            [f1 for _, f1 in measured],
            color=FILL,
            marker="o",
            markersize=3,
        )
        beside.set_ylabel("F1 on development notes", fontsize=8, color=FILL)
        beside.set_ylim(0, 1.02)
        beside.tick_params(labelsize=8, labelcolor=FILL, color=GRID)
        beside.spines[["top", "left"]].set_visible(False)
    axes.tick_params(labelsize=8, labelcolor=MUTED, color=GRID)
    axes.spines[["top", "right"]].set_visible(False)
    return png(figure)
