"""What reading gives.

Notes with their spans, faults, and the parsed note between the file and either of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from deid_assets.core.errors import InputError
from deid_assets.core.note import MAX_ID_CHARS, Note
from deid_assets.core.span import SpanSet


@dataclass(frozen=True, slots=True)
class Annotated:
    """One note as read.

    Args:
        note: The note.
        spans: Its spans; ``None`` where the source carries no annotation for this note, which is
            not the same as an annotation that found nothing.
        body_chars: Characters at the beginning of the text that a document shows, where it hides
            more; see ``body``.
    """

    note: Note
    spans: SpanSet | None = None
    body_chars: int | None = field(default=None, compare=False)

    @property
    def body(self) -> str:
        """The text that tells the language.

        Without what a document hides, such as field codes and properties.
        """
        return self.note.text[: self.body_chars]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with the input.

    The note it belongs to is withheld; the rest of the input is read.

    Args:
        file: File name relative to the root that was read.
        line: Line or row, from 1; ``None`` where the fault has no line.
        note_id: The note, where its id was readable.
        kind: ``undecodable``, ``malformed``, ``missing-field``, ``duplicate-id``, ``too-large``,
            ``empty-file``, ``unreadable``, ``unsafe-path``, ``unsafe-xml``, ``unknown-label``,
            ``offset``, ``text-mismatch``, ``discontinuous``, ``encrypted``, ``no-text-layer``,
            ``attachment``, ``timed-out`` or ``other-format``.
        message: ``<file>:<line>: <fault>; <remedy>``, one line, without note text.
    """

    file: str
    line: int | None
    note_id: str | None
    kind: str
    message: str

    @classmethod
    def at(
        cls,
        file: str,
        kind: str,
        reason: str,
        *,
        line: int | None = None,
        note_id: str | None = None,
    ) -> Self:
        """Return a fault whose message begins with its place.

        ``reason`` is ``<fault>; <remedy>``.
        """
        place = file if line is None else f"{file}:{line}"
        return cls(file, line, note_id if is_note_id(note_id) else None, kind, f"{place}: {reason}")


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault of one annotation, before the note and the file are known."""

    kind: str
    reason: str
    line: int | None = None


class RecordError(InputError):
    """A record that cannot be read; ``kind`` is that of the ``Fault`` it becomes.

    Never leaves this package.
    """

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation as the source has it.

    Args:
        fragments: Start and end pairs in the unit of the source, unchecked; more than one when
            discontinuous.
        label: Native label.
        covered: The text the source says it covers.
        score: Confidence in [0, 1].
        source: Detector or annotation layer.
        native_label: Where the source tells it apart from ``label``.
        line: Where the annotation stands.
    """

    fragments: tuple[tuple[int, int], ...]
    label: str
    covered: str | None = field(default=None, repr=False)
    score: float = 1.0
    source: str = "gold"
    native_label: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class ParsedNote:
    """One note as the source has it: parsed, but neither label, offset nor text checked.

    Args:
        file: Relative name of the file with the text.
        note_id: Unchecked.
        text: The note.
        annotations: ``None`` where the source carries no annotation.
        problems: Annotations that could not be parsed.
        line: Line or row of the note.
        patient_id: As in ``Note``.
        lang: As in ``Note``.
        meta: As in ``Note``.
        annotation_file: Relative name of the file with the annotations, where it is another.
        fold_blanks: The source replaces line breaks and tabs by spaces in covered text.
        in_code_points: The reader converted the fragments to code points.
        body_chars: Characters at the beginning of the text that are shown, where a document hides
            more.
    """

    file: str
    note_id: str
    text: str = field(repr=False)
    annotations: tuple[Annotation, ...] | None = None
    problems: tuple[Problem, ...] = ()
    line: int | None = None
    patient_id: str | None = field(default=None, repr=False)
    lang: str | None = None
    meta: Mapping[str, str] = field(default_factory=dict, repr=False)
    annotation_file: str = ""
    fold_blanks: bool = False
    in_code_points: bool = False
    body_chars: int | None = None


def is_note_id(note_id: str | None) -> bool:
    """Whether ``Note`` takes the id, so that a message may show it."""
    return note_id is not None and 0 < len(note_id) <= MAX_ID_CHARS and note_id.isprintable()
