"""The page that shows two releases side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deid_assets.reports.page import render

MAX_NOTES, MAX_DIFFERENCES = 100, 300
"""Rows of the longest tables; the page says how many more there are."""
MEANINGS: Mapping[str, str] = {
    "gained": "replaced now, and not before",
    "lost": "not replaced any more",
    "relabelled": "same place, another category",
    "moved": "another range that overlaps",
    "rewritten": "same place and category, another replacement",
}


FIRST = "First release of the batch: there is none before it to compare it with."


@dataclass(frozen=True, slots=True)
class First:
    """Figures of a first release, which has no other to be compared with."""

    notes: int
    replacements: int


def release_diff_html(
    document: Mapping[str, Any], *, title: str, old: str, new: str, first: First | None = None
) -> str:
    """Return one self-contained HTML page.

    Args:
        document: What ``ReleaseDiff.to_json`` gives.
        title: What was compared, such as the name of a batch.
        old: Name of the first.
        new: Name of the second.
        first: Where there is only the second.
    """
    return render(
        "release_diff.html.j2",
        document=document,
        title=title,
        old=old,
        new=new,
        first=first,
        kinds=MEANINGS,
        most=max((row[kind] for row in document["by_category"] for kind in MEANINGS), default=0),
        max_notes=MAX_NOTES,
        max_differences=MAX_DIFFERENCES,
    )


def release_diff_md(document: Mapping[str, Any]) -> str:
    """Return the changes per category as a Markdown table, for the metadata of
    a materialization.
    """
    header = ["Category", "unchanged", *MEANINGS]
    rows = [
        [str(row["category"]), *(f"{row[name]:,}" for name in header[1:])]
        for row in document["by_category"]
    ]
    rule = [":--", *["--:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))
