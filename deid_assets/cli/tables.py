"""Tables and JSON on standard output."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.text import Text

PIPED_WIDTH = 160
"""Columns where there is no terminal to ask."""


def print_json(value: Any) -> None:
    """Print one JSON document."""
    typer.echo(json.dumps(value, indent=1))


def print_rows(rows: Sequence[Mapping[str, Any]], *, columns: Sequence[str], as_json: bool) -> int:
    """Print rows as a table of some columns, or whole as JSON; the exit code is 0."""
    if as_json:
        print_json(rows)
    else:
        print_table(columns, [[_cell(row[column]) for column in columns] for row in rows])
    return 0


def print_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    numbers_from: int | None = None,
) -> None:
    """Print a table whose columns from ``numbers_from`` on are aligned to the right."""
    from rich import box  # noqa: PLC0415 - most commands print no table
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for at, heading in enumerate(headings):
        is_number = numbers_from is not None and at >= numbers_from
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=at == 0)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    print_line(table)


def print_line(line: Any) -> None:
    """Print a line or table as it is."""
    from rich.console import Console  # noqa: PLC0415 - as above

    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPED_WIDTH)
    console.print(line, highlight=False, markup=False)


def _cell(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
