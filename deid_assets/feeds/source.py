"""What a kind of feed gives: units, and what each holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from deid_assets.formats.annotated import Fault, ParsedNote


@dataclass(frozen=True, slots=True)
class Unit:
    """What is read in one go: a file, or a query.

    Args:
        name: The same at every run; may name a patient.
        version: Another with every change of the unit; empty where it cannot be known without
            reading.
    """

    name: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class Gone:
    """A note that is marked as deleted."""

    note_id: str


@dataclass(frozen=True, slots=True)
class Watermark:
    """How far a unit is read, given to the next reading of it; at most 60 characters."""

    value: str


Found = ParsedNote | Fault | Gone | Watermark
"""What reading a unit gives."""


@runtime_checkable
class NoteFeed(Protocol):
    """A source of notes that is asked again and again. It is read, never written to.

    Attributes:
        is_whole: Whether reading a unit gives all of its notes, and not only those that changed
            since a mark.
    """

    @property
    def is_whole(self) -> bool:
        """Whether reading a unit gives all of its notes."""
        ...

    def units(self) -> Iterable[Unit]:
        """Return all units that are there, each once.

        Raises:
            InputError: The source cannot be reached; the message holds no password and no text.
        """
        ...

    def read(self, unit: Unit, since: str) -> Iterator[Found]:
        """Yield what a unit holds, or what changed in it since the mark ``since``, if that is not
        empty.

        Raises:
            InputError: As for ``units``.
        """
        ...

    def ids(self, unit: Unit) -> Iterator[str]:
        """Yield the ids of all notes of a unit. Asked only where ``is_whole`` is false.

        Raises:
            InputError: As for ``units``.
        """
        ...

    def described(self) -> Mapping[str, str]:
        """Return what ``deid feed show`` says of it, without secrets."""
        ...
