"""The view of a tagger's vectors in three dimensions, as PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending.drawing import DPI, GRID, INK, MUTED, png

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OUTSIDE = "O"
OTHERS = "other labels"
_NO_LABEL = "no label (O)"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1c2733")
"""Colours distinguishable with any kind of colour vision (Okabe and Ito 2008).

Each has a marker of its own, too.
"""
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
OUTSIDE_COLOUR, OTHERS_COLOUR = "#c3cad1", "#7d8894"
AZIMUTH, ELEVATION = -0.9, 0.35
"""View angles of the box, in radians."""
MOST_LANGUAGES = 3
_PANEL_INCHES, _FRAME_INCHES = 3.6, 1.0
_CORNERS = np.array(
    [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64
)
_REACH = 0.99
"""Share of the points that the box holds; a few far ones would press all others into its middle."""

Points = NDArray[np.float64]


def map_labels(labels: Sequence[str]) -> dict[str, str]:
    """Return for each label the one it is drawn as.

    Itself for the most frequent, ``other labels`` for the rest.
    """
    counts = {label: labels.count(label) for label in set(labels) - {OUTSIDE}}
    ordered = sorted(counts, key=lambda label: (-counts[label], label))
    own = ordered if len(ordered) <= len(COLOURS) else ordered[: len(COLOURS)]
    return {label: label if label in own else OTHERS for label in ordered} | {OUTSIDE: OUTSIDE}


def group_languages(languages: Sequence[str]) -> list[list[str]]:
    """Return the languages of each row of the picture.

    One each where they are few, else all in one.
    """
    names = sorted(set(languages))
    return [[name] for name in names] if len(names) <= MOST_LANGUAGES else [names]


def scale_to_box(points: Sequence[Sequence[float]]) -> Points:
    """Return points scaled alike in all directions.

    Nearly all of them lie in the box from -1 to 1.
    """
    found = np.asarray(points, dtype=np.float64)
    reach = float(np.quantile(np.abs(found).max(axis=1), _REACH)) if len(found) else 1.0
    return found / (reach or 1.0)


def turn_points(
    points: Points, *, azimuth: float = AZIMUTH, elevation: float = ELEVATION
) -> Points:
    """Return (points, 3): to the right, upwards, and towards the viewer, without perspective."""
    x, y, z = points.T
    right = np.cos(azimuth) * x - np.sin(azimuth) * y
    back = np.sin(azimuth) * x + np.cos(azimuth) * y
    upward = np.cos(elevation) * z + np.sin(elevation) * back
    towards = np.sin(elevation) * z - np.cos(elevation) * back
    return np.stack([right, upward, towards], axis=1)


def space_png(vectors: Mapping[str, Any], *, title: str) -> bytes:
    """Return the layers side by side as a PNG.

    There is a row per language, and a colour and a marker per label.

    Args:
        vectors: Part ``vectors`` of an analysis that has any.
        title: Heading.
    """
    from matplotlib.backends.backend_agg import (  # noqa: PLC0415 - 0.5 s, only where a plot is drawn
        FigureCanvasAgg,
    )
    from matplotlib.figure import Figure  # noqa: PLC0415

    rows, columns = group_languages(vectors["languages"]), vectors["projections"]
    size = (_PANEL_INCHES * len(columns) + 1.6, _PANEL_INCHES * len(rows) + _FRAME_INCHES)
    figure = Figure(figsize=size, dpi=DPI, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    heading = figure.suptitle(title, x=0.01, ha="left", fontsize=10, color=INK, weight="bold")
    heading.set_parse_math(False)
    drawn_as = map_labels(vectors["labels"])
    panels: Any = figure.subplots(len(rows), len(columns), squeeze=False)
    for row, languages in enumerate(rows):
        for column, projection in enumerate(columns):
            here = [language in languages for language in vectors["languages"]]
            _draw(panels[row][column], projection, vectors["labels"], here, drawn_as)
            where = f", {languages[0]}" if len(rows) > 1 else ""
            panels[row][column].set_title(
                f"{projection['layer']}{where}: {sum(projection['explained']):.0%} of the variance",
                fontsize=8.5,
                color=INK,
                parse_math=False,
            )
    _legend(figure, panels[0][0])
    return png(figure)


def _draw(
    axes: Axes,
    projection: Mapping[str, Any],
    labels: Sequence[str],
    here: Sequence[bool],
    drawn_as: Mapping[str, str],
) -> None:
    frame = turn_points(_CORNERS)
    for one, corner in enumerate(_CORNERS):
        for other in range(one + 1, len(_CORNERS)):
            if np.abs(corner - _CORNERS[other]).sum() == 2:  # an edge
                axes.plot(*frame[[one, other], :2].T, color=GRID, linewidth=0.8, zorder=0)
    for axis, share in enumerate(projection["explained"]):
        _name_axis(axes, axis, share)
    places = turn_points(scale_to_box(projection["points"]))
    shown = np.array([drawn_as[label] for label in labels])
    names = [
        name
        for name in dict.fromkeys([OUTSIDE, OTHERS, *drawn_as.values()])
        if name in drawn_as.values()
    ]
    own = [name for name in names if name not in (OUTSIDE, OTHERS)]
    for name in names:
        chosen = places[(shown == name) & np.array(here)]
        chosen = chosen[np.argsort(chosen[:, 2])]
        colour, marker = _style(name, own)
        axes.scatter(
            chosen[:, 0],
            chosen[:, 1],
            s=9,
            color=colour,
            marker=marker,
            linewidths=0.6 if marker == "x" else 0,
            label=name if name != OUTSIDE else _NO_LABEL,
            zorder=1 if name == OUTSIDE else 2,
        )
    axes.set_aspect("equal")
    axes.set_xlim(-1.75, 1.75)
    axes.set_ylim(-1.5, 1.5)
    axes.set_axis_off()


def _style(name: str, own: Sequence[str]) -> tuple[str, str]:
    """Return the colour and the marker of a label; ``own`` are those with one of their own."""
    if name == OUTSIDE:
        return OUTSIDE_COLOUR, "."
    if name == OTHERS:
        return OTHERS_COLOUR, "x"
    number = own.index(name)
    return COLOURS[number], MARKERS[number]


def _name_axis(axes: Axes, axis: int, share: float) -> None:
    """Write a component's name and share at the middle of an edge of the box."""
    middle = np.array([[0.0, -1.0, -1.0], [1.0, 0.0, -1.0], [-1.0, -1.0, 0.0]])[[axis]] * 1.14
    right, upward, _ = turn_points(middle)[0]
    axes.text(
        right,
        upward,
        f"PC{axis + 1}\n{share:.0%}",
        fontsize=7,
        color=MUTED,
        ha="center",
        va="center",
    )


def _legend(figure: Figure, axes: Axes) -> None:
    handles, names = axes.get_legend_handles_labels()
    order = sorted(
        range(len(names)), key=lambda at: (names[at] == _NO_LABEL, names[at] == OTHERS, at)
    )
    handles, names = [handles[at] for at in order], [names[at] for at in order]
    legend = figure.legend(
        handles,
        names,
        loc="outside right upper",
        fontsize=7.5,
        frameon=False,
        markerscale=2.2,
        labelcolor=INK,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
