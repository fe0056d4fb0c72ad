"""Accuracy, F1, precision and recall over all thresholds, as PNG and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

from deid_assets.extending.drawing import FILL, GRID, INK, MUTED, blank, png
from deid_zero_shot.calibration import Threshold

COLUMNS = ("log10_threshold", "accuracy", "f1", "precision", "recall")
_STYLES = ((MUTED, ":"), (INK, "-"), (FILL, "--"), (FILL, "-"))
HEIGHT_INCHES = 3.4


def curve_rows(threshold: Threshold) -> list[list[float]]:
    """Return a row per point: the logarithm to base 10 of the threshold, and the four scores."""
    return [[row[0] / math.log(10), *row[1:]] for row in threshold.curve]


def curve_csv(threshold: Threshold) -> str:
    """Return the curve as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([[f"{value:.6f}" for value in row] for row in curve_rows(threshold)])
    return out.getvalue()


def curve_png(threshold: Threshold, *, title: str) -> bytes:
    """Return the curve over all sub-tokens with the chosen threshold marked, as a PNG."""
    figure, axes = blank(HEIGHT_INCHES, title=title)
    rows = [row for row in curve_rows(threshold) if math.isfinite(row[0])]
    columns: Sequence[Sequence[float]] = list(zip(*rows, strict=True))
    for name, values, (colour, style) in zip(COLUMNS[1:], columns[1:], _STYLES, strict=True):
        axes.plot(columns[0], values, color=colour, linestyle=style, linewidth=1.2, label=name)
    chosen = threshold.log_threshold / math.log(10)
    axes.axvline(chosen, color=MUTED, linewidth=0.8, label="chosen")
    axes.set_xlim(max(min(columns[0]), -60), max(columns[0]))
    axes.set_ylim(0, 1.02)
    axes.set_xlabel(
        "Threshold, logarithm to base 10: what scores lower is redacted", fontsize=8, color=MUTED
    )
    axes.set_ylabel("Score over sub-tokens", fontsize=8, color=MUTED)
    axes.tick_params(labelsize=8, labelcolor=MUTED, color=GRID)
    axes.grid(color=GRID, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, facecolor="white", edgecolor="none")
    return png(figure)
