"""What a file holds of notes, looked up by note id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar


class _OfNote(Protocol):
    @property
    def note_id(self) -> str: ...


T = TypeVar("T", bound=_OfNote)


class ByNote(Generic[T]):
    """Values looked up by note id, read no further than needed.

    Those that are passed over wait in memory.

    Args:
        found: At most one value of each note.
    """

    def __init__(self, found: Iterator[T]) -> None:
        self._rest = found
        self._passed: dict[str, T] = {}

    def take(self, note_id: str) -> T | None:
        """Return the value of a note, once; ``None`` where there is none."""
        if note_id in self._passed:
            return self._passed.pop(note_id)
        for one in self._rest:
            if one.note_id == note_id:
                return one
            self._passed[one.note_id] = one
        return None

    def rest(self) -> dict[str, T]:
        """Return what was not taken, by note id."""
        self._passed.update((one.note_id, one) for one in self._rest)
        return self._passed
