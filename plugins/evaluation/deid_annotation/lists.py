"""Lists of places written to a file: JSON Lines or CSV by suffix."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_assets.extending import InputError
from deid_assets.extending.commands import write_options
from deid_assets.extending.files import atomic_file, escape_formula


def check_list(out: Path | None) -> None:
    """Refuse a suffix that says no format.

    Raises:
        InputError: It is none of these.
    """
    if out is not None and out.suffix.lower() not in (".jsonl", ".csv"):
        raise InputError(f"{out}: a list ends in .jsonl or .csv")


def write_list(out: Path, rows: Sequence[Mapping[str, Any]], *, columns: Sequence[str]) -> None:
    """Write rows.

    In CSV a list is joined by semicolons, and what a spreadsheet would compute is escaped.
    """
    if out.suffix.lower() == ".csv":
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(columns)
        finished = escape_formula if write_options().formulas == "escaped" else str
        writer.writerows([finished(_cell(row.get(name))) for name in columns] for row in rows)
        text = buffer.getvalue()
    else:
        text = "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)
    with atomic_file(out) as file:
        file.write(text.encode())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return ";".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
