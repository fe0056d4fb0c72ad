"""The page on canary patients: recall over the batches, per language and category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deid_assets.evaluation.intervals import wilson
from deid_assets.reports.page import picture, render
from deid_assets.reports.plots import FILL, GRID, INK, MUTED, blank, png

_EVERY = "ALL"
_HEIGHT_INCHES = 3.2
_COLOURS = (FILL, "#b5562b", "#3d7f4f", "#7a4f9e", "#8a6d1b", MUTED)

Row = Mapping[str, Any]


def canaries_page(rows: Sequence[Row]) -> str:
    """Return the page.

    Args:
        rows: ``batch``, ``lang``, ``label``, ``spans`` and ``covered``, the earliest batch first.
    """
    by_lang = _series([row for row in rows if row["label"] == _EVERY], "lang")
    by_label = _series([row for row in rows if row["lang"] == _EVERY], "label")
    plots = [
        ("By language", picture(_png(rows, by_lang, title="Share of spans covered, by language"))),
        ("By category", picture(_png(rows, by_label, title="Share of spans covered, by category"))),
    ]
    table = [{**row, "interval": wilson(row["covered"], row["spans"])} for row in rows]
    batches = len({row["batch"] for row in rows})
    return render("canaries.html.j2", batches=batches, plots=plots, rows=table)


def _series(rows: Sequence[Row], name: str) -> dict[str, dict[str, float]]:
    """Return recall by batch, by language or label."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        found.setdefault(row[name], {})[row["batch"]] = row["covered"] / row["spans"]
    return dict(sorted(found.items()))


def _png(rows: Sequence[Row], series: Mapping[str, Mapping[str, float]], *, title: str) -> bytes:
    batches = list(dict.fromkeys(row["batch"] for row in rows))
    figure, axes = blank(_HEIGHT_INCHES, title=title)
    for at, (name, recalls) in enumerate(series.items()):
        points = [(place, recalls[one]) for place, one in enumerate(batches) if one in recalls]
        axes.plot(
            [place for place, _ in points],
            [recall for _, recall in points],
            color=INK if name == _EVERY else _COLOURS[at % len(_COLOURS)],
            linewidth=2 if name == _EVERY else 1,
            marker="o",
            markersize=3,
            label=name,
        )
    axes.set_ylim(0, 1.02)
    axes.set_xticks(range(len(batches)))
    axes.set_xticklabels(batches if len(batches) <= 5 else [""] * len(batches), fontsize=6)
    axes.tick_params(labelsize=7, labelcolor=MUTED, color=GRID)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=6, frameon=False, ncols=4, loc="lower left")
    return png(figure)
