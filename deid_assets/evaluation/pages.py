"""What a page on detectors is made of, and what a plugin makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deid_assets.core.detector import Failed
from deid_assets.core.note import Note
from deid_assets.core.phi import Profile
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.counts import Evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedNotes:
    """Notes with what there is to find in them.

    Args:
        notes: Note id to note, of all that are annotated.
        gold: Note id to what there is to find, of the same notes.
    """

    notes: Mapping[str, Note] = field(repr=False)
    gold: Mapping[str, SpanSet]

    @property
    def lengths(self) -> dict[str, int]:
        """Code points of every note."""
        return {note_id: len(note.text) for note_id, note in self.notes.items()}

    @property
    def patients(self) -> dict[str, str]:
        """Patient of every note of which one is known."""
        return {
            note_id: note.patient_id
            for note_id, note in self.notes.items()
            if note.patient_id is not None
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PageInput:
    """Annotated notes of an installation, and what detectors found in them.

    Args:
        profile: Labels to count under.
        annotated: The notes.
        outcomes: Detector to note id to its answer; the first is the one that others are compared
            with.
        detectors: Detector to its plugin and options, to be run by.
        inputs: ``name``, ``role`` and ``sha256`` of each file that was read.
        command: That makes the page again.
    """

    profile: Profile
    annotated: AnnotatedNotes
    outcomes: Mapping[str, Mapping[str, SpanSet | Failed]]
    detectors: Mapping[str, tuple[str, Mapping[str, Any]]]
    inputs: Sequence[Mapping[str, str]]
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MadePage:
    """A page, and what Dagster shows of it; none of it holds text of notes.

    Args:
        html: The page, whole.
        document: The same as JSON.
        evaluations: Detector to its counts.
        shown: Name to a table in Markdown.
        counts: Name to number.
        faults: Detectors that gave no result.
    """

    html: str
    document: Mapping[str, object]
    evaluations: Mapping[str, Evaluation] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    faults: int = 0
