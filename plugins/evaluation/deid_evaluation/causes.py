"""Causes of errors, as a reviewer tags them."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from deid_assets.extending import InputError

SCHEMA, VERSION = "deid-assets/error-causes", 1
COLUMNS = ("id", "system", "kind", "note", "start", "end", "label", "causes")
"""Columns of the CSV; several causes of one error are parted by semicolons."""


class ErrorCause(StrEnum):
    """Cause of an error (Catelli 2021, tables 4.9 and 4.20); an error may have several."""

    ABBREVIATION = "AB"
    AMBIGUITY = "AM"
    DEBATABLE = "D"
    """The annotation may be argued with."""
    SCARCITY = "S"
    """Too few examples of the kind to learn from."""


CAUSE_NAMES: Mapping[ErrorCause, str] = {
    ErrorCause.ABBREVIATION: "abbreviation",
    ErrorCause.AMBIGUITY: "ambiguity",
    ErrorCause.DEBATABLE: "debatable annotation",
    ErrorCause.SCARCITY: "scarcity",
}

Causes = Mapping[str, frozenset[ErrorCause]]
"""Identity of an error (``SpanError.identity``) to the cause that a reviewer gave."""


def parse_causes(text: str, *, name: str) -> Causes:
    """Return what the page exported, JSON or CSV.

    Args:
        text: Content of the file.
        name: Of the file, for messages.

    Raises:
        InputError: It is neither, an error comes twice, or a cause is unknown.
    """
    rows = _of_json(text, name) if text.lstrip().startswith(("{", "[")) else _of_csv(text, name)
    causes: dict[str, frozenset[ErrorCause]] = {}
    for line, (identity, given) in enumerate(rows, start=1):
        if identity in causes:
            raise InputError(
                f"{name}: entry {line} is on an error that an earlier one is on; keep one of"
                " the two"
            )
        known = {cause.value for cause in ErrorCause}
        if unknown := sorted(set(given) - known):
            raise InputError(
                f"{name}: entry {line} has cause {unknown[0][:20]!r}; choose of"
                f" {', '.join(sorted(known))}"
            )
        causes[identity] = frozenset(map(ErrorCause, given))
    return causes


def _of_json(text: str, name: str) -> list[tuple[str, list[str]]]:
    try:
        stored: Any = json.loads(text)
        if stored["schema"] != SCHEMA or stored["version"] != VERSION:
            raise InputError(
                f"{name}: not causes of version {VERSION}; export them from the report"
            )
        return [
            (_identity(entry["id"]), [str(cause) for cause in entry["causes"]])
            for entry in stored["causes"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{name}: not a file of causes ({type(error).__name__}); export it from the report"
        ) from None


def _of_csv(text: str, name: str) -> list[tuple[str, list[str]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    if not {"id", "causes"} <= set(reader.fieldnames or ()):
        raise InputError(f"{name}: not a file of causes; it needs the columns {', '.join(COLUMNS)}")
    return [
        (_identity(row["id"]), [cause for cause in (row["causes"] or "").split(";") if cause])
        for row in reader
    ]


def _identity(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value


def cause_totals(
    tagged: Iterable[tuple[str, str, str]], causes: Causes
) -> dict[str, dict[str, dict[str, int]]]:
    """Return how many errors have each cause, by kind and by label, as ``json.dumps`` takes it.

    Args:
        tagged: Identity, kind and label of every error that ``causes`` knows.
        causes: Cause of each error.
    """
    by_kind: dict[str, Counter[str]] = {}
    by_label: dict[str, Counter[str]] = {}
    for identity, kind, label in tagged:
        for cause in causes[identity]:
            by_kind.setdefault(kind, Counter())[cause.value] += 1
            by_label.setdefault(label, Counter())[cause.value] += 1
    return {
        "by_kind": {kind: dict(sorted(counts.items())) for kind, counts in sorted(by_kind.items())},
        "by_label": {
            label: dict(sorted(counts.items())) for label, counts in sorted(by_label.items())
        },
    }
