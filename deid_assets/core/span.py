"""Spans: where something was found, what it is and who says so. Never the text itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Self

from deid_assets.core.errors import DigestError, OffsetError, OverlapError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi

MAX_SPANS = 200_000
"""Most spans of one note, as annotated or as a detector gives it.

No note has as many, and a million take 650 MB.
"""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of code points with a category.

    Args:
        start: First code point, from 0.
        end: One past the last code point; greater than ``start``.
        label: PHI category.
        score: Confidence in [0, 1]; 1 for human annotation.
        source: Name of the detector or annotation layer.
        native_label: The corpus' or model's own label where it differs from ``label``, else empty.

    Raises:
        OffsetError: The range is empty, reversed or negative, or the score is outside [0, 1].
    """

    start: int
    end: int
    label: Phi
    score: float = 1.0
    source: str = "gold"
    native_label: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise OffsetError(f"span [{self.start}, {self.end}) is empty, reversed or negative")
        if not 0.0 <= self.score <= 1.0:
            raise OffsetError(
                f"span [{self.start}, {self.end}) has score {self.score}, outside [0, 1]"
            )

    def overlaps(self, other: Span) -> bool:
        """Whether the two share a code point; touching is not overlapping."""
        return self.start < other.end and other.start < self.end


# what spans are compared by, asked of each once where they are sorted
_FIELDS = attrgetter(*Span.__slots__)


@dataclass(frozen=True, slots=True)
class SpanSet:
    """The spans of one note, sorted, tied to its text by digest. They may overlap."""

    note_id: str
    digest: str
    spans: tuple[Span, ...] = field(default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "spans", tuple(sorted(self.spans, key=_FIELDS)))

    @classmethod
    def of(cls, note: Note, spans: Iterable[Span]) -> Self:
        """Return the spans as a set bound to ``note``.

        Raises:
            OffsetError: A span ends after the note does.
        """
        return cls(note.note_id, note.digest, tuple(spans)).check_against(note)

    def check_against(self, note: Note) -> Self:
        """Return self after checking that it fits ``note``.

        Raises:
            DigestError: The spans belong to another note or another version of its text.
            OffsetError: A span ends after the note does.
        """
        if self.note_id != note.note_id or self.digest != note.digest:
            raise DigestError(
                f"note {note.note_id!r}: spans were made for note {self.note_id!r}, digest"
                f" {self.digest[:12]}, but the text has digest {note.digest[:12]}; detect again on"
                " this text"
            )
        size = len(note.text)
        last = max((span.end for span in self.spans), default=0)
        if last > size:
            raise OffsetError(
                f"note {note.note_id!r}: span ends at {last}, note has {size} characters"
            )
        return self

    def __len__(self) -> int:
        return len(self.spans)

    def __iter__(self) -> Iterator[Span]:
        return iter(self.spans)


def check_same_text(first: SpanSet, *others: SpanSet) -> None:
    """Check that all were made for one text.

    Raises:
        DigestError: One is of another note or another version of its text.
    """
    for other in others:
        if (other.note_id, other.digest) != (first.note_id, first.digest):
            raise DigestError(
                f"note {first.note_id!r}: other spans are of note {other.note_id!r}, digest"
                f" {other.digest[:12]}; compare spans of the same text"
            )


@dataclass(frozen=True, slots=True)
class DisjointSpans(SpanSet):
    """Spans of one note of which no two overlap.

    Raises:
        OverlapError: Two spans share a code point.
    """

    def __post_init__(self) -> None:
        # The zero-argument super() does not work in a slotted dataclass on Python 3.11.
        SpanSet.__post_init__(self)
        for left, right in zip(self.spans, self.spans[1:], strict=False):
            if right.start < left.end:
                raise OverlapError(
                    f"note {self.note_id!r}: spans [{left.start}, {left.end}) and [{right.start},"
                    f" {right.end}) overlap; resolve them first"
                )
