"""The figures of hiding in plain sight: a Markdown table and a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

UNDEFINED = "n/a"
COLOURS = ("#2f6f9f", "#c2571a", "#3c7d3c", "#8a3ffc", "#a3325f", "#5b6875", "#b58900", "#1c2733")
HEADER = (
    "Policy",
    "Recall",
    "Leftovers",
    "Of candidates",
    "At random",
    "Precision = recall at as many",
    "Area",
    "In first 50",
)


def hips_rows(findings: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the cells of a table, a row per policy and recall, under ``HEADER``."""
    return [
        [
            str(row["policy"]),
            str(row["recall"]) if isinstance(row["recall"], str) else f"{row['recall']:.2f}",
            f"{row['leftovers']:,}",
            f"{row['candidates']:,}",
            UNDEFINED if row["base_rate"] is None else f"{row['base_rate']:.3f}",
            _interval(row["precision"]),
            _interval(row["auc"]),
            str(row["found_at"].get("50", UNDEFINED)),
        ]
        for row in findings
    ]


def hips_md(findings: Sequence[Mapping[str, Any]]) -> str:
    """Return the table in Markdown."""
    rule = [":--", ":--", *["--:"] * (len(HEADER) - 2)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (HEADER, rule, *hips_rows(findings)))


def hips_png(findings: Sequence[Mapping[str, Any]], *, title: str) -> bytes:
    """Return what is left, and what of it an attacker finds, against recall, a colour per policy,
    as a PNG.
    """
    from matplotlib.backends.backend_agg import (  # noqa: PLC0415 - 0.5 s, only where a plot is drawn
        FigureCanvasAgg,
    )
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(8.4, 3.6), dpi=120, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    found, share = figure.subplots(1, 2)
    policies = list(dict.fromkeys(str(row["policy"]) for row in findings))
    for place, policy in enumerate(policies):
        rows = [
            row
            for row in findings
            if row["policy"] == policy and not isinstance(row["recall"], str)
        ]
        rows = sorted((row for row in rows if row["precision"]), key=lambda row: row["recall"])
        recalls = [row["recall"] for row in rows]
        leaks = [row["precision"][0] * row["leftovers"] for row in rows]
        colour = COLOURS[place % len(COLOURS)]
        # Policies that do equally badly lie on each other: each line is thinner than the one below
        # it.
        style = {
            "color": colour,
            "marker": "o",
            "markersize": 3,
            "linewidth": max(1.0, 5.5 - place),
        }
        found.plot(recalls, leaks, label=policy, **style)
        share.plot(recalls, [row["precision"][0] for row in rows], **style)
        low, high = ([row["precision"][at] for row in rows] for at in (1, 2))
        share.fill_between(recalls, low, high, color=colour, alpha=0.12, linewidth=0)
    _finish(figure, found, share, findings, title)
    content = BytesIO()
    figure.savefig(content, format="png")
    return content.getvalue()


def _finish(
    figure: Any, found: Any, share: Any, findings: Sequence[Mapping[str, Any]], title: str
) -> None:
    at_random = {
        row["recall"]: row["base_rate"] for row in findings if not isinstance(row["recall"], str)
    }
    share.plot(
        sorted(at_random),
        [at_random[recall] for recall in sorted(at_random)],
        color="#5b6875",
        linestyle=":",
        label="at random",
    )
    share.legend(fontsize=7, frameon=False)
    found.set_ylabel("Missed identifiers that the attacker picks")
    share.set_ylabel("Share of the picked that is real")
    share.set_ylim(0, 1.03)
    found.set_ylim(bottom=0)
    for axes in (found, share):
        axes.set_xlabel("Recall of the redaction")
        axes.grid(color="#dde3e8", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    found.legend(fontsize=7, frameon=False)
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, weight="bold").set_parse_math(False)


def _interval(interval: Sequence[float] | None) -> str:
    return (
        UNDEFINED
        if interval is None
        else f"{interval[0]:.3f} [{interval[1]:.3f}, {interval[2]:.3f}]"
    )
