"""The page of an experiment.

Sections of text, tables and pictures, as a command outside the graph makes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deid_assets.core.errors import InputError
from deid_assets.reports.page import picture, render

VERDICTS = {"pass": "passed", "fail": "failed", "undecided": "warned"}
"""Cells that are shown in the colour of a verdict."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section.

    Args:
        heading: Of it.
        text: What it shows, a sentence or two.
        columns: Of its table; none where there is no table.
        rows: Cells, as they are to be printed; ``pass``, ``fail`` and ``undecided`` are coloured.
        left: Columns from the left that hold words and are aligned so.
        caption: Of the table.
        pictures: Description to PNG.
        points: A list below.
    """

    heading: str
    text: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    left: int = 1
    caption: str = ""
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    points: Sequence[str] = ()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise InputError(
                f"section {self.heading!r} has rows of another length than its {len(self.columns)}"
                " columns"
            )


def study_html(
    *,
    kind: str,
    title: str,
    about: str,
    tiles: Mapping[str, tuple[str, str]],
    sections: Sequence[Section],
    provenance: Mapping[str, str],
) -> str:
    """Return one self-contained HTML page.

    Args:
        kind: Of page, above the title.
        title: Heading.
        about: A line below it.
        tiles: Name to figure and to what it is of.
        sections: In order.
        provenance: Name to value of what identifies the run.

    Raises:
        InputError: A row is longer or shorter than its table.
    """
    return render(
        "study.html.j2",
        kind=kind,
        title=title,
        about=about,
        tiles=tiles,
        sections=sections,
        provenance=provenance,
        picture=picture,
        verdicts=VERDICTS,
    )
