"""Rows of an evaluation's page that are not those of its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

STATIC_PER_KIND = 12
"""Errors of a kind and system on paper, and where no script runs."""
ENOUGH_SPANS = 20
"""Gold spans from which a label is named the worst, and its interval drawn whole.

Chance alone may move one of fewer.
"""
BAR_WIDTH = 110
"""Width of the bars, in CSS pixels."""
_COLUMNS = (
    "id",
    "system",
    "kind",
    "note",
    "label",
    "predicted",
    "start",
    "end",
    "pred_start",
    "pred_end",
    "left",
    "score",
    "sources",
    "shape",
    "length",
    "before",
    "text",
    "after",
    "causes",
    "whose",
)


@dataclass(frozen=True, slots=True)
class Bar:
    """A share drawn on a line.

    Bar up to ``at``, interval from ``low`` to ``high``, in CSS pixels.
    """

    at: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LeftCell:
    """Spans of a label that one system leaves."""

    gold: int
    left: int
    share: Mapping[str, float]
    bar: Bar


@dataclass(frozen=True, slots=True)
class LeftTable:
    """Spans left, by label, the worst of the first system first.

    Args:
        top: Where the axis of the bars ends; it starts at 0.
        rows: Label to a cell per system; ``None`` where a system has none.
    """

    top: float
    rows: Sequence[tuple[str, Sequence[LeftCell | None]]]


def tabulate_left(report: Mapping[str, Any]) -> LeftTable:
    """Return the table of what is left."""
    by_system = [
        {row["label"]: row for row in report["results"][name]["left_by_label"]}
        for name in report["systems"]
    ]
    bounds = [_bound(row) for rows in by_system for row in rows.values()]
    highest = max(bounds, default=1.0)
    top = next(step / 10 for step in range(1, 11) if step / 10 >= highest or step == 10)
    labels = list(dict.fromkeys(label for rows in by_system for label in rows))
    return LeftTable(
        top, [(label, [_cell(rows.get(label), top) for rows in by_system]) for label in labels]
    )


def _bound(row: Mapping[str, Any]) -> float:
    """Return the upper bound of the share left, or the share where spans are too few for one."""
    share = row["bootstrap"]
    return float(share["high"] if row["gold"] >= ENOUGH_SPANS else share["value"])


def _cell(row: Mapping[str, Any] | None, top: float) -> LeftCell | None:
    if row is None:
        return None
    share = row["bootstrap"]
    at, low, high = (
        round(BAR_WIDTH * min(1.0, share[name] / top), 1) for name in ("value", "low", "high")
    )
    return LeftCell(row["gold"], row["left"], share, Bar(at, low, high))


def worst_label(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the label with the greatest share left, of those with enough spans if any.

    ``None`` if nothing is left.
    """
    rows = [row for row in result["left_by_label"] if row["left"]]
    return next((row for row in rows if row["gold"] >= ENOUGH_SPANS), rows[0] if rows else None)


def static_rows(report: Mapping[str, Any]) -> Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]:
    """Return system and kind to the errors on paper."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for name in report["systems"]:
        for row in report["results"][name]["errors"]["rows"]:
            rows = found.setdefault((name, row["kind"]), [])
            if len(rows) < STATIC_PER_KIND:
                rows.append(row)
    return found


def browser_rows(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the errors for the script: names of the columns, and a list per error."""
    keys = report["group_keys"]
    rows: list[list[Any]] = []
    totals: dict[str, dict[str, int]] = {}
    for name in report["systems"]:
        errors = report["results"][name]["errors"]
        totals[name] = {kind: cell["errors"] for kind, cell in errors["kinds"].items()}
        for row in errors["rows"]:
            of_row = {**row, "system": name}
            groups = [row["groups"].get(key) for key in keys]
            rows.append([*(of_row.get(column) for column in _COLUMNS), *groups])
    return {"columns": [*_COLUMNS, *(f"by:{key}" for key in keys)], "rows": rows, "totals": totals}
