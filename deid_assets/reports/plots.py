"""Plots as PNG, for metadata and documents.

Matplotlib is loaded by the first plot, without its global state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from deid_assets.evaluation.numbers import (
    Estimate,
    amount,
    axis_floor,
    rank_detectors,
    recall_of,
    show_value,
)
from deid_assets.evaluation.score import Evaluation, Scheme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 120
COLOURS = 48
WIDTH_INCHES = 7.2
ROW_INCHES = 0.3
FRAME_INCHES = 1.1
INK, MUTED, GRID, FILL = "#1c2733", "#5b6875", "#dde3e8", "#2f6f9f"

MEASURES: Mapping[Scheme, str] = {
    Scheme.STRICT: "Recall, same boundaries and label",
    Scheme.RELAXED: "Recall, overlap and same label",
    Scheme.COVERED: "Share of annotated spans covered, any label",
    Scheme.CHARACTERS: "Share of annotated characters covered, any label",
    Scheme.LABELLED_CHARACTERS: "Share of annotated characters covered, same label",
}


def labels_png(counts: Mapping[str, int], *, title: str) -> bytes:
    """Return a bar per label, the most frequent first, as a PNG."""
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    figure, axes = _canvas([label for label, _ in ordered], title=title, measure="Spans")
    axes.barh(range(len(ordered)), [spans for _, spans in ordered], height=0.62, color=FILL)
    for row, (_, spans) in enumerate(ordered):
        axes.annotate(
            amount(spans),
            (spans, row),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=MUTED,
            fontsize=8,
        )
    axes.set_xlim(0, max((spans for _, spans in ordered), default=1) * 1.12 or 1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    return png(figure)


def recall_png(evaluation: Evaluation, *, title: str) -> bytes:
    """Return the recall of each label with gold as a bar with its 95 % Wilson interval, the lowest
    first, as a PNG.
    """
    found = [
        (label, recall_of(evaluation.counts(label, Scheme.COVERED))) for label in evaluation.labels
    ]
    rows = sorted(
        ((label, recall) for label, recall in found if recall),
        key=lambda row: (row[1].value, row[0]),
    )
    figure, axes = _canvas(
        [label for label, _ in rows], title=title, measure=MEASURES[Scheme.COVERED]
    )
    axes.barh(
        range(len(rows)), [recall.value for _, recall in rows], height=0.62, color=FILL, alpha=0.35
    )
    _draw_intervals(axes, [recall for _, recall in rows])
    axes.set_xlim(0, 1)
    return png(figure)


def leaderboard_png(evaluations: Mapping[str, Evaluation], *, title: str) -> bytes:
    """Return the micro recall of each detector as a dot with its 95 % Wilson interval, as a PNG.

    Detectors keep the order of ``leaderboard_md``. The axis starts below the lowest interval, not
    at 0.
    """
    found = [
        (name, recall_of(evaluation.micro(Scheme.COVERED)))
        for name, evaluation in rank_detectors(evaluations)
    ]
    rows = [(name, recall) for name, recall in found if recall]
    figure, axes = _canvas(
        [name for name, _ in rows], title=title, measure=MEASURES[Scheme.COVERED]
    )
    _draw_intervals(axes, [recall for _, recall in rows])
    floor = axis_floor(recall for _, recall in rows)
    axes.set_xlim(floor, 1 + (1 - floor) * 0.02)
    return png(figure)


def blank(height_inches: float, *, title: str) -> tuple[Figure, Axes]:
    """Return a figure with a heading and empty axes, in the size and colours of every plot."""
    from matplotlib.backends.backend_agg import (  # noqa: PLC0415 - 0.5 s, only where a plot is drawn
        FigureCanvasAgg,
    )
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(
        figsize=(WIDTH_INCHES, height_inches), dpi=DPI, layout="constrained", facecolor="white"
    )
    FigureCanvasAgg(figure)
    # The layout gives room to a long axes title by squeezing the axes to nothing; a figure title
    # takes height only.
    heading = figure.suptitle(
        _shorten(title, limit=75), x=0.01, ha="left", fontsize=10, color=INK, weight="bold"
    )
    heading.set_parse_math(False)
    return figure, figure.add_subplot()


def _canvas(names: Sequence[str], *, title: str, measure: str) -> tuple[Figure, Axes]:
    figure, axes = blank(FRAME_INCHES + ROW_INCHES * max(len(names), 1), title=title)
    axes.set_xlabel(measure, fontsize=8, color=MUTED)
    axes.set_yticks(
        range(len(names)),
        [_shorten(name) for name in names],
        fontsize=8,
        color=INK,
        parse_math=False,
    )
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8, labelcolor=MUTED, color=GRID)
    axes.set_ylim(len(names) - 0.4 if names else 0.6, -0.6)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(GRID)
    if not names:
        axes.text(
            0.5,
            0.5,
            "nothing to show",
            transform=axes.transAxes,
            ha="center",
            va="center",
            color=MUTED,
        )
    return figure, axes


def _shorten(name: str, *, limit: int = 40) -> str:
    return name if len(name) <= limit else name[: limit - 1] + "…"


def _draw_intervals(axes: Axes, estimates: Sequence[Estimate]) -> None:
    rows = range(len(estimates))
    axes.hlines(
        rows,
        [one.low for one in estimates],
        [one.high for one in estimates],
        color=INK,
        linewidth=1.6,
    )
    axes.plot([one.value for one in estimates], rows, "o", color=INK, markersize=4.5)
    beside: Any = axes.get_yaxis_transform()
    for row, one in enumerate(estimates):
        axes.text(
            1.02, row, show_value(one), transform=beside, va="center", color=MUTED, fontsize=8
        )


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG."""
    from PIL import Image  # noqa: PLC0415 - comes with matplotlib

    drawn, packed = BytesIO(), BytesIO()
    figure.savefig(drawn, format="png")
    # A palette makes the file about a third of the size, and is fine for flat colours and grey
    # text.
    Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
        packed, "png", optimize=True
    )
    return packed.getvalue()
