"""Lists as their owners keep them: text, CSV or JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_assets.extending import InputError
from deid_assets.extending.lists import Entry

TABLES = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (".txt", ".lst", *TABLES, ".json", ".jsonl")


def read_entries(
    path: Path,
    *,
    column: str | None = None,
    weight: str | None = None,
    where: Mapping[str, str] | None = None,
) -> Iterator[Entry]:
    """Yield the entries of a list.

    Text has one entry per line (``#`` begins a comment). CSV and TSV have a header, or none where
    ``column`` is a number counted from 1. JSON is an array of strings or objects, or an object from
    entry to weight; JSON Lines one object a line.

    Args:
        path: The list, UTF-8.
        column: Column or key of the entries; may be left out where there is only one.
        weight: Column or key of the weights.
        where: Rows to take: column or key, and the value it must have.

    Raises:
        InputError: The file is missing, not UTF-8, of another kind, or a row does not fit; with
            file and line.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: a list is one of {', '.join(SUFFIXES)}; rename or convert it")
    try:
        if suffix in TABLES:
            yield from _choose(
                _table(path, TABLES[suffix], column), path, column, weight, where or {}
            )
        elif suffix in (".json", ".jsonl"):
            yield from _from_json(path, column, weight, where or {})
        else:
            lines = enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1)
            yield from (
                Entry(line.strip())
                for _, line in lines
                if line.strip() and not line.startswith("#")
            )
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; name a list") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; convert the file") from None


Row = tuple[int, Mapping[str, Any]]


def _table(path: Path, delimiter: str, column: str | None) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        if column is not None and column.isdecimal():
            rows = (
                row
                for row in csv.reader(file, delimiter=delimiter)
                if row and not row[0].startswith("#")
            )
            for number, row in enumerate(rows, start=1):
                yield number, {str(at): cell for at, cell in enumerate(row, start=1)}
            return
        reader = csv.DictReader(file, delimiter=delimiter)
        for record in reader:
            yield reader.line_num, record


def _from_json(
    path: Path, column: str | None, weight: str | None, where: Mapping[str, str]
) -> Iterator[Entry]:
    text = path.read_text(encoding="utf-8-sig")
    try:
        if path.suffix.lower() == ".jsonl":
            loaded: Any = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            loaded = json.loads(text)
    except ValueError as error:
        raise InputError(
            f"{path}: not valid JSON ({type(error).__name__}); fix or export it again"
        ) from None
    if isinstance(loaded, dict):
        yield from (
            Entry(text, _number(value, path, line))
            for line, (text, value) in enumerate(loaded.items(), 1)
        )
    elif isinstance(loaded, list) and all(isinstance(item, str) for item in loaded):
        yield from map(Entry, loaded)
    elif isinstance(loaded, list) and all(isinstance(item, dict) for item in loaded):
        yield from _choose(enumerate(loaded, start=1), path, column, weight, where)
    else:
        raise InputError(
            f"{path}: neither an array of strings or of objects nor an object from entry to weight"
        )


def _choose(
    rows: Iterable[Row],
    path: Path,
    column: str | None,
    weight: str | None,
    where: Mapping[str, str],
) -> Iterator[Entry]:
    for line, row in rows:
        names = [name for name in row if name is not None]
        if column is None:
            if len(names) != 1:
                raise InputError(
                    f"{path}: several columns ({_list_names(names)}); name the one with the entries"
                )
            column = names[0]
        for name in (column, *([weight] if weight else []), *where):
            if name not in row:
                raise InputError(
                    f"{path}, row {line}: no column {name!r}; there are {_list_names(names)}"
                )
        text = row[column]
        if (
            isinstance(text, str)
            and text.strip()
            and all(row[name] == value for name, value in where.items())
        ):
            yield Entry(text.strip(), _number(row[weight], path, line) if weight else 1.0)


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:20])


def _number(value: object, path: Path, line: int) -> float:
    try:
        return float(str(value).replace(",", "") or 0)
    except ValueError:
        raise InputError(
            f"{path}, row {line}: the weight is no number; name another column"
        ) from None
