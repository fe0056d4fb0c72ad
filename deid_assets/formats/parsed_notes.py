"""Drafts as lines: what a reader gave of a source, kept so that it can be checked later and
elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from deid_assets.core.errors import InputError
from deid_assets.formats.annotated import Annotation, Fault, ParsedNote, Problem


def encode_parsed_note(entry: ParsedNote | Fault) -> bytes:
    """Return one line of JSON that ``read_parsed_notes`` turns back into the entry.

    Text is kept character by character.
    """
    kind = "fault" if isinstance(entry, Fault) else "draft"
    return json.dumps({kind: asdict(entry)}, separators=(",", ":")).encode("ascii") + b"\n"


def read_parsed_notes(paths: Iterable[Path]) -> Iterator[ParsedNote | Fault]:
    """Yield the entries of files of such lines, one at a time.

    Raises:
        InputError: A line was not written by ``encode_parsed_note``.
    """
    for path in paths:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield _entry(json.loads(line))
                except (ValueError, TypeError, KeyError):
                    # The cause may quote the line.
                    raise InputError(
                        f"{path.name}:{number}: was altered; withdraw the batch, drop it again"
                    ) from None


def _entry(value: Mapping[str, Any]) -> ParsedNote | Fault:
    if "fault" in value:
        return Fault(**value["fault"])
    fields = dict(value["draft"])
    if fields["annotations"] is not None:
        fields["annotations"] = tuple(_annotation(found) for found in fields["annotations"])
    fields["problems"] = tuple(Problem(**found) for found in fields["problems"])
    return ParsedNote(**fields)


def _annotation(fields: Mapping[str, Any]) -> Annotation:
    fragments = tuple((start, end) for start, end in fields["fragments"])
    return Annotation(**{**fields, "fragments": fragments})
