"""Annotated notes as taggers of this kind learn from them, with varied copies."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import Document, Phi, Token
from deid_compact.augmentation import Marks, Pools, vary
from deid_compact.labels import NO_TARGET, Targets, merge_category

Numbers = NDArray[np.int64]
Item = TypeVar("Item")


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


def mark_notes(documents: Iterable[Document]) -> list[MarkedNote]:
    """Return annotated notes with what their corpora mark."""
    documents = list(documents)
    by_corpus: dict[str, set[Phi]] = {}
    for document in documents:
        labels = by_corpus.setdefault(document.corpus, set())
        labels.update(label for span in document.spans if (label := merge_category(span.label)))
    notes = []
    for document in documents:
        marks = [
            (span.start, span.end, label)
            for span in document.spans
            if (label := merge_category(span.label))
        ]
        marked = frozenset(by_corpus[document.corpus])
        notes.append(MarkedNote(document.note.text, marks, marked, document.note.note_id))
    return notes


def add_copies(
    note: MarkedNote, pools: Pools, count: float, chance: random.Random
) -> Iterator[MarkedNote]:
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


def targets_of(note: MarkedNote, pieces: Sequence[Token], targets: Targets) -> Numbers:
    """Return what each piece of a note may be: (pieces,).

    Args:
        note: With its marks.
        pieces: Where its words, or their pieces, begin and end.
        targets: Receives the sets of outputs.
    """
    outside = targets.outside(note.marked)
    inside_at = np.full(len(note.text) + 1, outside, dtype=np.int64)
    begin_at = np.full(len(note.text) + 1, NO_TARGET, dtype=np.int64)
    for start, end, category in note.marks:
        begin, inside = targets.find_targets(category, note.marked)
        inside_at[start:end] = inside
        begin_at[start] = begin
    found = [_target(begin_at[start:end], inside_at[start:end], outside) for start, end in pieces]
    return np.array(found, dtype=np.int64)


def _target(begins: Numbers, insides: Numbers, outside: int) -> int:
    begun = begins[begins != NO_TARGET]
    if len(begun):
        return int(begun[0])
    inside = insides[insides != outside]
    return int(inside[0]) if len(inside) else outside


def batch_items(
    items: Sequence[Item], size_of: Callable[[Item], int], limit: int
) -> list[list[Item]]:
    """Return items in batches of like sizes, each at most ``limit`` with what fills it up.

    Args:
        items: To learn from.
        size_of: Pieces of an item.
        limit: Most pieces in a batch of more than one item.
    """
    batches: list[list[Item]] = []
    current: list[Item] = []
    for item in sorted(items, key=size_of):
        if current and (len(current) + 1) * size_of(item) > limit:
            batches.append(current)
            current = []
        current.append(item)
    if current:
        batches.append(current)
    return batches
