"""What is looked for: four coarse categories, of which rules miss the most.

And which half of a batch a note is in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from deid_assets.extending import DisjointSpans, Document, Note, Phi, Span

_PLACES = (Phi.STREET, Phi.CITY, Phi.REGION, Phi.COUNTRY, Phi.ZIP, Phi.LOCATION)
GROUP: Mapping[Phi, Phi] = {
    Phi.NAME: Phi.NAME,
    **dict.fromkeys(_PLACES, Phi.LOCATION),
    Phi.DATE: Phi.DATE,
    Phi.HOSPITAL: Phi.ORGANIZATION,
    Phi.ORGANIZATION: Phi.ORGANIZATION,
}
"""Categories that are looked for, and the coarse one that each is learnt as.

Of the others the rules miss little.
"""
FOUND = (Phi.NAME, Phi.LOCATION, Phi.DATE, Phi.ORGANIZATION)
REST = Phi.OTHER
"""What every other category is learnt as, so that a telephone number is no date."""
LABELS: Mapping[str, Phi] = {label.value: label for label in (*FOUND, REST)}
"""Tag label to category, of a tagger of coarse categories."""


def group_spans(spans: Iterable[Span]) -> list[Span]:
    """Return spans under the coarse categories, in order; of those that overlap the longest."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start - span.end, span.start)):
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(replace(span, label=GROUP.get(span.label, REST), native_label=""))
    return sorted(kept, key=lambda span: span.start)


def coarse(note: Note, spans: Iterable[Span]) -> Document:
    """Return a note with its spans under the coarse categories."""
    return Document(note, DisjointSpans.of(note, group_spans(spans)))


def owner_of(note: Note) -> str:
    """Return whose note it is.

    One that names no patient is its text's, so that a copy is on the same side.
    """
    return f"text:{note.digest}" if note.patient_id is None else f"patient:{note.patient_id}"


def half_of(note: Note) -> int:
    """Return which half of a batch a note is in, 0 or 1.

    It follows from its patient alone, whatever else is there.
    """
    return hashlib.sha256(owner_of(note).encode()).digest()[0] % 2


def count_found(documents: Sequence[Document]) -> int:
    """Return the number of spans of the four categories."""
    return sum(span.label in FOUND for document in documents for span in document.spans)
