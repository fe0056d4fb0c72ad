"""Cells of CSV that a spreadsheet would compute.

Escaped by an apostrophe, as OWASP advises, and unescaped.
"""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def escape_formula(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula.

    One that was escaped before gets one apostrophe more.
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unescape_formula(cell: str) -> str:
    """Return the cell that ``escape_formula`` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def move_spans(spans: object, by: int) -> object:
    """Return the records of spans in a text that became longer or shorter at its start.

    What is no span stays.
    """
    if not isinstance(spans, list):
        return spans
    return [_move_span(span, by) if isinstance(span, dict) else span for span in spans]


def _move_span(span: dict[str, object], by: int) -> dict[str, object]:
    record = dict(span)
    for name in ("start", "end"):
        offset = record.get(name)
        if type(offset) is int:
            record[name] = offset + by
    return record
