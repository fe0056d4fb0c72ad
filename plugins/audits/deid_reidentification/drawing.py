"""The curve: persons linked to their record against how much is known of them, a line
per policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deid_assets.extending.audits import Measurement
from deid_assets.extending.drawing import GRID, MUTED, blank, png

COLOURS = ("#1c2733", "#2f6f9f", "#c2571a", "#3c7d3c", "#8a3ffc", "#a3325f", "#5b6875", "#b58900")
HEIGHT_INCHES = 3.6


def curves_png(curves: Mapping[str, Sequence[Measurement]], *, chance: float, title: str) -> bytes:
    """Return the curve of each policy with its 95 % interval as a PNG."""
    figure, axes = blank(HEIGHT_INCHES, title=title)
    for place, (policy, curve) in enumerate(curves.items()):
        known = range(1, len(curve) + 1)
        colour = COLOURS[place % len(COLOURS)]
        axes.plot(
            known,
            [point.value for point in curve],
            color=colour,
            marker="o",
            markersize=3,
            linewidth=max(1.0, 4.5 - 0.6 * place),
            label=policy.replace("_", " "),
        )
        axes.fill_between(
            known,
            [point.low for point in curve],
            [point.high for point in curve],
            color=colour,
            alpha=0.1,
            linewidth=0,
        )
    axes.axhline(chance, color=MUTED, linestyle=":", linewidth=1, label="a guess")
    axes.set_xlabel("Values known of a person, each of another kind", fontsize=8, color=MUTED)
    axes.set_ylabel("Share of persons", fontsize=8, color=MUTED)
    axes.set_ylim(0, 1.03)
    axes.grid(color=GRID, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8, labelcolor=MUTED, color=GRID)
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return png(figure)
