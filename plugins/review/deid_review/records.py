"""What the file of a review holds: notes and suggestions of the queue, and decisions."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass, field
from typing import Any

from deid_review.states import Event, ReviewAction
from deid_review.suggestions import Kind, Said


@dataclass(frozen=True, slots=True)
class QueuedNote:
    """A note of the queue.

    Args:
        note_id: Its id.
        digest: Of its text when the queue was made.
        place: In the queue, from 1.
        is_sampled: Whether it was drawn at random by the key.
        is_blind: Whether it is shown without suggestions.
        is_double: Whether two reviewers annotate it.
        characters: Of its text.
    """

    note_id: str
    digest: str
    place: int
    is_sampled: bool
    is_blind: bool
    is_double: bool
    characters: int


@dataclass(frozen=True, slots=True)
class QueuedMark:
    """A suggestion of the queue.

    Args:
        note_id: Whose.
        mark: Number in the note, from 1.
        start: First code point.
        end: One past the last.
        label: Category.
        score: Highest confidence.
        kinds: Reasons why it is looked at.
        said: What each detector said.
        is_merged: Whether the ensemble marks it.
        priority: How early it is looked at.
        value: Keyed digest of the value, alike in spelling but for case and blanks.
    """

    note_id: str
    mark: int
    start: int
    end: int
    label: str
    score: float
    kinds: tuple[Kind, ...]
    said: tuple[Said, ...]
    is_merged: bool
    priority: float
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DecisionEntry:
    """An event to be recorded.

    Args:
        note_id: On which note.
        action: What.
        mark: On which mark; 0 where on the note.
        start: First code point, where it says a place.
        end: One past the last.
        label: Category, where it says one.
    """

    note_id: str
    action: ReviewAction
    mark: int = 0
    start: int = 0
    end: int = 0
    label: str = ""


def note_of(row: sqlite3.Row) -> QueuedNote:
    """Return the note of a row of the table ``notes``."""
    return QueuedNote(
        row["note_id"],
        row["digest"],
        row["place"],
        bool(row["is_sampled"]),
        bool(row["is_blind"]),
        bool(row["is_double"]),
        row["characters"],
    )


def row_of_mark(mark: QueuedMark) -> tuple[Any, ...]:
    """Return a suggestion as the table ``marks`` has it."""
    return (
        mark.note_id,
        mark.mark,
        mark.start,
        mark.end,
        mark.label,
        mark.score,
        json.dumps(mark.kinds),
        json.dumps([asdict(one) for one in mark.said]),
        mark.is_merged,
        mark.priority,
        mark.value,
    )


def mark_of(row: sqlite3.Row) -> QueuedMark:
    """Return the suggestion of a row of the table ``marks``."""
    return QueuedMark(
        row["note_id"],
        row["mark"],
        row["start"],
        row["end"],
        row["label"],
        row["score"],
        tuple(map(Kind, json.loads(row["kinds"]))),
        tuple(Said(**one) for one in json.loads(row["said"])),
        bool(row["is_merged"]),
        row["priority"],
        row["value"],
    )


def event_of(row: sqlite3.Row) -> Event:
    """Return the event of a row of the table ``events``."""
    return Event(
        row["number"],
        row["stream"],
        row["reviewer"],
        row["at"],
        ReviewAction(row["action"]),
        row["mark"],
        row["start"],
        row["end"],
        row["label"],
        row["group"],
    )
