"""Figures of audits as a table."""

from __future__ import annotations

from collections.abc import Sequence

from deid_assets.privacy.measurement import Measurement
from deid_assets.reports.page import chance, number
from deid_assets.reports.tables import escape_name, table_md


def figures_md(figures: Sequence[Measurement]) -> str:
    """Return a row per measurement, in Markdown."""
    rows = [
        [
            escape_name(each.name),
            escape_name(each.group),
            number(each),
            chance(each),
            f"{each.units:,} {each.unit}",
        ]
        for each in figures
    ]
    return table_md(["What", "Of", "Value [95 % interval]", "Chance", "Measured on"], rows, left=2)
