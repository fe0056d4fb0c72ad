"""Passages that a corpus has of one patient of the source: where they stand and how long they are.

A passage is a run of tokens in a note of which every ``n`` in a row stand in notes of one patient.
All of them are found, not a draw: n-grams that both corpora have are looked up in both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deid_copying.grams import grams_of
from deid_copying.tokens import Numbers, Places, TokenChunk, TokenFile

OWNERS = 3
"""Patients told apart of an n-gram; what more of them say is the site's template, not one's own."""
KEPT = 1_000
"""Longest passages that are kept."""
_NOBODY = np.int64(-1)


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of tokens that was taken over.

    Args:
        tokens: Its length.
        patients: Fewest patients who say an n-gram of it: 1 where only one does.
        note: Number of the note that has it.
        first: Its first token in that note.
        source: Number of the note of the source where its first n-gram stands.
    """

    tokens: int
    patients: int
    note: int
    first: int
    source: int

    def digest(self, corpus: TokenFile, secret: bytes) -> str:
        """Return what tells equal passages, without saying them to whoever lacks the secret."""
        own = corpus.note(self.note)[self.first : self.first + self.tokens]
        return hashlib.blake2b(own.tobytes(), key=secret[:64], digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Passages:
    """What was found.

    Args:
        longest: Of one patient, the longest first, at most ``KEPT``.
        count: Passages of one patient.
        notes: Notes with such a passage.
        shared: The same as ``longest`` of those that two or three patients say.
        of_several: How many of these there are.
        template: N-grams that both corpora have and more patients say.
    """

    longest: Sequence[Passage]
    count: int
    notes: int
    shared: Sequence[Passage]
    of_several: int
    template: int

    @property
    def most(self) -> int:
        """Tokens of the longest passage of one patient; 0 where there is none."""
        return self.longest[0].tokens if self.longest else 0

    @property
    def most_of_several(self) -> int:
        """The same of two or three patients."""
        return self.shared[0].tokens if self.shared else 0

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a document."""
        return {
            "passages": self.count,
            "notes": self.notes,
            "longest": self.most,
            "of_several_patients": self.of_several,
            "longest_of_several": self.most_of_several,
            "template_ngrams": self.template,
        }


@dataclass(slots=True)
class _Sayers:
    """Who says each shared n-gram.

    Args:
        owners: Patients, shape (n-grams, OWNERS).
        places: Note in which each says it first, -1 where there is no such patient; same shape.
        several: N-grams that more patients say, shape (n-grams,).
    """

    owners: Numbers = field(repr=False)
    places: Places = field(repr=False)
    several: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, count: int) -> _Sayers:
        return cls(
            np.zeros((count, OWNERS), np.uint64),
            np.full((count, OWNERS), _NOBODY, np.int64),
            np.zeros(count, np.bool_),
        )

    def add(self, which: Places, owners: Numbers, notes: Places) -> None:
        """Enter who says some n-grams; the first note of each counts."""
        open_ones = ~self.several[which]
        which, owners, notes = which[open_ones], owners[open_ones], notes[open_ones]
        order = np.lexsort((notes, owners, which))
        which, owners, notes = which[order], owners[order], notes[order]
        new = np.ones(len(which), np.bool_)
        new[1:] = (which[1:] != which[:-1]) | (owners[1:] != owners[:-1])
        which, owners, notes = which[new], owners[new], notes[new]
        while len(which):
            is_first = np.ones(len(which), np.bool_)
            is_first[1:] = which[1:] != which[:-1]
            self._enter(which[is_first], owners[is_first], notes[is_first])
            rest = ~is_first & ~self.several[which]
            which, owners, notes = which[rest], owners[rest], notes[rest]

    def _enter(self, which: Places, owners: Numbers, notes: Places) -> None:
        """Enter one patient for each n-gram; no n-gram comes twice."""
        taken = self.places[which] != _NOBODY
        known = (taken & (self.owners[which] == owners[:, None])).any(axis=1)
        slot = taken.sum(axis=1)
        self.several[which[~known & (slot == OWNERS)]] = True
        free = ~known & (slot < OWNERS)
        self.owners[which[free], slot[free]] = owners[free]
        self.places[which[free], slot[free]] = notes[free]


def passages(source: TokenFile, synthetic: TokenFile, shared: Numbers, n: int) -> Passages:
    """Return the passages of ``n`` tokens and more.

    Args:
        source: Of the patients.
        synthetic: What may hold passages of them.
        shared: Numbers of the n-grams that both have, sorted, shape (shared,).
        n: Tokens of an n-gram.
    """
    sayers = _Sayers.of(len(shared))
    for chunk in source.chunks():
        which, places = _look_up(chunk, shared, n)
        notes = chunk.notes[places]
        sayers.add(which, source.owners[notes], notes)
    found: list[Passage] = []
    of_several: list[Passage] = []
    count = 0
    notes_with = 0
    several = 0
    for chunk in synthetic.chunks() if len(shared) else ():
        own = list(_of_chunk(chunk, *_look_up(chunk, shared, n), sayers, n))
        single = [one for one in own if one.patients == 1]
        count += len(single)
        notes_with += len({one.note for one in single})
        # each of the patients has it; the first of them stands for all
        alike = {(one.note, one.first, one.tokens): one for one in own[::-1] if one.patients > 1}
        several += len(alike)
        found = longest_of([*found, *single])
        of_several = longest_of([*of_several, *alike.values()])
    template = int(sayers.several.sum())
    return Passages(found, count, notes_with, of_several, several, template)


def longest_of(found: Iterable[Passage], most: int = KEPT) -> list[Passage]:
    """Return some passages, the longest first."""
    return sorted(found, key=lambda one: (-one.tokens, one.note, one.first))[:most]


def _look_up(chunk: TokenChunk, shared: Numbers, n: int) -> tuple[Places, Places]:
    """Return which shared n-grams stand in a chunk, and where; two shapes (found,)."""
    numbers, places = grams_of(chunk, n)
    if not len(shared):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    at = np.minimum(np.searchsorted(shared, numbers), len(shared) - 1)
    held = shared[at] == numbers
    return at[held], places[held]


def _of_chunk(
    chunk: TokenChunk, which: Places, places: Places, sayers: _Sayers, n: int
) -> Iterator[Passage]:
    rows = np.repeat(np.arange(len(which)), OWNERS)
    slots = np.tile(np.arange(OWNERS), len(which))
    told = (sayers.places[which[rows], slots] != _NOBODY) & ~sayers.several[which[rows]]
    rows, slots = rows[told], slots[told]
    if not len(rows):  # a template, if anything
        return
    owners = sayers.owners[which[rows], slots]
    at = places[rows]
    order = np.lexsort((at, owners, chunk.notes[at]))
    rows, slots, owners, at = rows[order], slots[order], owners[order], at[order]
    begins = np.ones(len(at), np.bool_)
    begins[1:] = (
        (owners[1:] != owners[:-1])
        | (at[1:] != at[:-1] + 1)
        | (chunk.notes[at[1:]] != chunk.notes[at[:-1]])
    )
    firsts = np.flatnonzero(begins)
    lasts = np.append(firsts[1:], len(at))
    patients = (sayers.places[which] != _NOBODY).sum(axis=1)
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        note = int(chunk.notes[at[first]])
        yield Passage(
            last - first + n - 1,
            int(patients[rows[first:last]].min()),
            note,
            int(at[first] - chunk.starts[note - chunk.first]),
            int(sayers.places[which[rows[first]], slots[first]]),
        )
