"""Tasks in files, and answers in the same form.

A JSON object per line, with ``spans``, ``labels`` or a ``label`` beside the text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from pathlib import Path
from typing import Any

from deid_assets.extending import InputError
from deid_assets.extending.files import atomic_file
from deid_privacy.utility.examples import Kind, Marked, TaskData, TaskDocument

KEYS: Mapping[Kind, str] = {"tokens": "spans", "multilabel": "labels", "classes": "label"}
"""Where an object says what is to be predicted."""
FAULTS = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading a wrong object raises."""


def read_task(path: Path) -> TaskData:
    """Return the task of a file, named as the file is.

    Which key its objects have says what is predicted.

    Raises:
        InputError: The file cannot be read, holds no label, or has a line that is no such object,
            by its number.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(
            f"{path.name}: no file of UTF-8; name a task that deid privacy tasks wrote"
        ) from None
    found: dict[str, TaskDocument] = {}
    kinds: set[Kind] = set()
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            kind = next(one for one, key in KEYS.items() if key in row)
            one = example_of(row, kind)
        except (*FAULTS, StopIteration):
            raise InputError(
                f"{path.name}, line {number}: no object of id, text, and spans, labels or a label;"
                " correct it"
            ) from None
        kinds.add(kind)
        if len(kinds) > 1 or one.note_id in found:
            raise InputError(
                f"{path.name}, line {number}: another kind of label, or an id that was there;"
                " correct it"
            )
        found[one.note_id] = one
    labels = sorted(
        {
            label
            for one in found.values()
            for label in (*one.labels, *(mark[2] for mark in one.marks))
        }
    )
    if not labels:
        raise InputError(
            f"{path.name}: no document has a label; name a task that deid privacy tasks wrote"
        )
    return TaskData(path.stem, kinds.pop(), tuple(labels), tuple(found.values()))


def write_task(data: TaskData, path: Path) -> None:
    """Write a task as ``read_task`` reads it."""
    with atomic_file(path) as file:
        for one in data.examples:
            known = {"identifiers": _spans(one.identifiers)} if one.identifiers else {}
            row = make_question(one.note_id, one) | answer(one, data.kind) | known
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def example_of(row: Mapping[str, Any], kind: Kind) -> TaskDocument:
    """Return the document of an object that says what is to be predicted.

    Raises:
        ValueError: It is no such object; others of ``FAULTS`` likewise.
    """
    name, text = row["id"], row["text"]
    if type(name) is not str or type(text) is not str or not text.strip():
        raise ValueError
    given = read_answer(row, kind, len(text))
    identifiers = _marks(row.get("identifiers", []), len(text))
    if isinstance(given, AbstractSet):
        return TaskDocument(name, text, identifiers, (), frozenset(given))
    if any(second[0] < first[1] for first, second in pairwise(given)):
        raise ValueError
    return TaskDocument(name, text, identifiers, given)


def make_question(name: str, one: TaskDocument) -> dict[str, Any]:
    """Return a document without what is to be predicted."""
    return {"id": name, "text": one.text}


def answer(one: TaskDocument, kind: Kind) -> dict[str, Any]:
    """Return what is to be predicted of a document."""
    if kind == "tokens":
        return {"spans": _spans(one.marks)}
    return (
        {"labels": sorted(one.labels)}
        if kind == "multilabel"
        else {"label": next(iter(one.labels))}
    )


def read_answer(
    row: Mapping[str, Any], kind: Kind, length: int
) -> tuple[Marked, ...] | frozenset[str]:
    """Return the spans or labels of an object.

    Args:
        row: Of a file, or a submission's answer.
        kind: What is predicted.
        length: Characters of the document.

    Raises:
        ValueError: A span is outside the document, or a label is no word; others of ``FAULTS``
            likewise.
    """
    value = row[KEYS[kind]]
    if kind == "tokens":
        return _marks(value, length)
    labels = value if kind == "multilabel" else [value]
    if type(labels) is not list or any(type(one) is not str or not one for one in labels):
        raise ValueError
    return frozenset(labels)


def _marks(value: Any, length: int) -> tuple[Marked, ...]:
    found = {(one["start"], one["end"], one["label"]) for one in value}
    for start, end, label in found:
        whole = type(start) is int and type(end) is int and type(label) is str and label
        if not whole or not 0 <= start < end <= length:
            raise ValueError
    return tuple(sorted(found))


def _spans(marks: Sequence[Marked]) -> list[dict[str, Any]]:
    return [{"start": start, "end": end, "label": label} for start, end, label in marks]
