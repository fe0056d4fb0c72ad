"""How near the nearest note of a source is: distance, and its ratio to that of the second patient.

The distance of two notes is 1 less the share of their runs of three tokens that both have
(Jaccard). Candidates come from MinHash signatures (Broder 1997; one permutation, Li et al. 2012),
and of these the distance is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deid_copying.grams import each_once, grams_of
from deid_copying.tokens import Numbers, Places, TokenChunk, TokenFile

SHINGLE = 3
BINS = 128
CANDIDATES = 8
"""Notes of the source whose distance is measured, for each drawn note."""
COMPARED = 2_048
"""Notes of the source that are compared at once."""


@dataclass(frozen=True, slots=True)
class NearestNote:
    """The nearest note of the source.

    Args:
        note: Number of the drawn note.
        source: Number of the nearest note.
        distance: To it, 0 to 1.
        second: To the nearest note of another patient, 0 to 1; at least ``distance``.
    """

    note: int
    source: int
    distance: float
    second: float

    @property
    def ratio(self) -> float:
        """Return distance by second distance: 0 for a copy of one patient, 1 for nobody's note."""
        return self.distance / self.second if self.second else 1.0


@dataclass(frozen=True, slots=True)
class NearestNotes:
    """Of drawn notes.

    Args:
        found: One for each drawn note that has a run of three tokens.
    """

    found: Sequence[NearestNote] = field(repr=False)

    def near(self, distance: float) -> list[NearestNote]:
        """Return those nearer than a distance, the nearest first."""
        return sorted(
            (one for one in self.found if one.distance < distance),
            key=lambda one: (one.distance, one.note),
        )

    def to_json(self) -> dict[str, Any]:
        """Return medians and fifth percentiles."""
        if not self.found:
            return {"notes": 0}
        distances = [one.distance for one in self.found]
        ratios = [one.ratio for one in self.found]
        return {
            "notes": len(self.found),
            "distance_median": float(np.median(distances)),
            "distance_p5": float(np.percentile(distances, 5)),
            "ratio_median": float(np.median(ratios)),
            "ratio_p5": float(np.percentile(ratios, 5)),
        }


def neighbours(source: TokenFile, synthetic: TokenFile, *, draws: int) -> NearestNotes:
    """Return the nearest notes of evenly drawn ones.

    Args:
        source: All its notes are compared.
        synthetic: Its notes of three tokens and more are drawn from, the same every time.
        draws: How many.
    """
    comparable = np.flatnonzero(synthetic.lengths >= SHINGLE)
    count = min(draws, len(comparable))
    if not count or source.lengths.max(initial=0) < SHINGLE:
        return NearestNotes(())
    drawn = comparable[np.unique(np.linspace(0, len(comparable) - 1, count).astype(np.int64))]
    own = np.concatenate([_signature(synthetic.note(int(one))) for one in drawn])
    best = np.full((CANDIDATES, len(drawn)), -1, np.int64)
    places = np.full((CANDIDATES, len(drawn)), -1, np.int64)
    for chunk in source.chunks():
        notes, theirs = signatures(chunk)
        for at in range(0, len(notes), COMPARED):
            scores = _alike(theirs[at : at + COMPARED], own)
            best, places = _merge(best, places, scores, notes[at : at + COMPARED])
    found = [
        _nearest(source, synthetic.note(int(note)), int(note), places[:, column])
        for column, note in enumerate(drawn)
    ]
    return NearestNotes(found)


def _signature(values: Numbers) -> np.ndarray:
    return signatures(TokenChunk.of_note(values))[1]


def signatures(chunk: TokenChunk) -> tuple[Places, np.ndarray]:
    """Return notes that have a run of three tokens, shape (notes,), and their signatures.

    These have shape (notes, BINS): eight bits of the least number in each bin, 0 where none is.
    """
    numbers, places = grams_of(chunk, SHINGLE)
    notes = chunk.notes[places]
    bins = (numbers & np.uint64(BINS - 1)).astype(np.int64)
    keys = (notes - chunk.first) * BINS + bins
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else keys
    table = np.zeros((len(chunk.starts), BINS), np.uint8)
    if len(firsts):
        least = np.minimum.reduceat(numbers[order], firsts)
        table.reshape(-1)[keys[firsts]] = (least >> np.uint64(7)) % np.uint64(255) + np.uint64(1)
    held = np.unique(notes)
    return held, table[held - chunk.first]


def _alike(theirs: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return in how many bins signatures agree, shape (theirs, own)."""
    scores = np.zeros((len(theirs), len(own)), np.uint8)
    for place in range(BINS):
        column = own[:, place]
        same = theirs[:, place, None] == column[None, :]
        same &= column[None, :] != 0
        scores += same
    return scores


def _merge(
    best: np.ndarray, places: np.ndarray, scores: np.ndarray, notes: Places
) -> tuple[np.ndarray, np.ndarray]:
    count = min(CANDIDATES, len(scores))
    top = np.argpartition(scores, len(scores) - count, axis=0)[-count:]
    all_best = np.concatenate([best, np.take_along_axis(scores, top, axis=0)])
    all_places = np.concatenate([places, notes[top]])
    kept = np.argsort(-all_best, axis=0, kind="stable")[:CANDIDATES]
    return np.take_along_axis(all_best, kept, axis=0), np.take_along_axis(all_places, kept, axis=0)


def _nearest(source: TokenFile, values: Numbers, note: int, places: Places) -> NearestNote:
    measured = sorted(
        (distance_of(values, source.note(int(place))), int(place)) for place in places if place >= 0
    )
    distance, nearest = measured[0]
    others = [far for far, place in measured if source.owners[place] != source.owners[nearest]]
    return NearestNote(note, nearest, distance, others[0] if others else 1.0)


def distance_of(first: Numbers, second: Numbers) -> float:
    """Return 1 less the share of the runs of three tokens of two notes that both have."""
    sets = [_shingles(one) for one in (first, second)]
    both = len(np.intersect1d(sets[0], sets[1], assume_unique=True))
    either = len(sets[0]) + len(sets[1]) - both
    return 1.0 - both / either if either else 1.0


def _shingles(values: Numbers) -> Numbers:
    return each_once(grams_of(TokenChunk.of_note(values), SHINGLE)[0])
