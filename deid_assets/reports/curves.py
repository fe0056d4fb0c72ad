"""Learning curves of trained taggers, as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO

from deid_assets.reports.plots import COLOURS, DPI, FILL, GRID, INK, MUTED, WIDTH_INCHES

HEIGHT_INCHES = 3.0


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One epoch: training loss, and strict F1 on the development notes where it was measured."""

    loss: float
    dev_f1: float | None = None


def curve_png(points: Sequence[CurvePoint], *, title: str) -> bytes:
    """Return loss and development F1 over the epochs, phases one after the other, as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - 0.5 s, only where a plot is drawn
    from matplotlib.figure import Figure  # noqa: PLC0415
    from PIL import Image  # noqa: PLC0415

    figure = Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), dpi=DPI, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    heading = figure.suptitle(title, x=0.01, ha="left", fontsize=10, color=INK, weight="bold")
    heading.set_parse_math(False)
    axes = figure.add_subplot()
    epochs = range(1, len(points) + 1)
    axes.plot(epochs, [point.loss for point in points], color=MUTED, linewidth=1.2)
    axes.set_xlabel("Epoch", fontsize=8, color=MUTED)
    axes.set_ylabel("Training loss", fontsize=8, color=MUTED)
    axes.set_ylim(bottom=0)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    if measured := [
        (epoch, point.dev_f1) for epoch, point in zip(epochs, points, strict=True) if point.dev_f1 is not None
    ]:
        beside = axes.twinx()
        beside.plot([epoch for epoch, _ in measured], [f1 for _, f1 in measured], color=FILL, marker="o", markersize=3)
        beside.set_ylabel("F1 on development notes", fontsize=8, color=FILL)
        beside.set_ylim(0, 1.02)
        beside.tick_params(labelsize=8, labelcolor=FILL, color=GRID)
        beside.spines[["top", "left"]].set_visible(False)
    axes.tick_params(labelsize=8, labelcolor=MUTED, color=GRID)
    axes.spines[["top", "right"]].set_visible(False)
    drawn, packed = BytesIO(), BytesIO()
    figure.savefig(drawn, format="png")
    Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(packed, "png", optimize=True)
    return packed.getvalue()
