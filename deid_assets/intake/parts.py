"""Batches that are parts of a larger arrival: how they are named, and what their folder holds."""

from __future__ import annotations

import re
from pathlib import Path

PART_FILE = "notes.drafts"
_PART = re.compile(r"(b-[0-9a-f]{16})-[0-9]{4,}")


def is_part(batch: str) -> bool:
    """Whether the batch is a part of a larger arrival."""
    return _PART.fullmatch(batch) is not None


def whole_of(batch: str) -> str:
    """Return the id of the arrival that a part was cut from; of any other batch its own."""
    found = _PART.fullmatch(batch)
    return found[1] if found else batch


def waiting(landing: Path) -> list[str]:
    """Return the ids of the arrivals that wait to be split, sorted.

    ``landing`` is the restricted folder of arrivals.
    """
    return sorted({path.name.partition(".")[0] for path in (landing / ".large").glob("b-*")})


def part_files(folder: Path) -> list[Path]:
    """Return the files of a part, which ``read_parsed_notes`` reads."""
    return [folder / PART_FILE]
