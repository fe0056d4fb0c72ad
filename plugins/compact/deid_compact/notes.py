"""Annotated notes as taggers of this kind learn from them, with varied copies."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from deid_assets.extending import Document, Phi
from deid_compact.augmentation import Marks, Pools, vary
from deid_compact.labels import merged


@dataclass(frozen=True, slots=True)
class MarkedNote:
    """A note to learn from.

    Args:
        text: Of the note.
        marks: Its spans, as categories that are learnt.
        marked: Categories that its corpus marks.
        note_id: Of the note, for errors.
    """

    text: str = field(repr=False)
    marks: Marks = field(repr=False)
    marked: frozenset[Phi] = frozenset()
    note_id: str = ""


def marked_notes(documents: Iterable[Document]) -> list[MarkedNote]:
    """Return annotated notes with what their corpora mark."""
    documents = list(documents)
    by_corpus: dict[str, set[Phi]] = {}
    for document in documents:
        labels = by_corpus.setdefault(document.corpus, set())
        labels.update(label for span in document.spans if (label := merged(span.label)))
    notes = []
    for document in documents:
        marks = [(span.start, span.end, label) for span in document.spans if (label := merged(span.label))]
        marked = frozenset(by_corpus[document.corpus])
        notes.append(MarkedNote(document.note.text, marks, marked, document.note.note_id))
    return notes


def with_copies(note: MarkedNote, pools: Pools, count: float, chance: random.Random) -> Iterator[MarkedNote]:
    """Yield a note, and varied copies of it.

    Args:
        note: To begin with.
        pools: What marked texts may be exchanged for.
        count: Copies; a fraction is the chance of one more.
        chance: Source of what is drawn.
    """
    yield note
    wanted = int(count)
    if chance.random() < count - wanted:
        wanted += 1
    for _ in range(wanted):
        text, marks = vary(note.text, note.marks, pools, chance)
        yield MarkedNote(text, marks, note.marked, note.note_id)
