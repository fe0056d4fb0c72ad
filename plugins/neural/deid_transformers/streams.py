"""Raw notes as the sequences that a masked language model learns from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import TrainingError, tokenize
from deid_onnx.pieces import Pieces
from deid_transformers.settings import Pretraining

NOTHING = -1
"""Place of a position that holds nothing."""
_POOL = 64  # batches whose sequences are sorted by length together, so that little is padded

Array = NDArray[np.int64]


def _none() -> Array:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Stream:
    """All notes as one sequence of sub-tokens, each note closed.

    Args:
        ids: Sub-tokens.
        kinds: What their words look like; none where the encoder does not read it.
        special: Numbers that are never targets.
        before: Number of the one that opens each sequence.
        mask: Number of the one that hides.
        vocabulary: How many there are.
        words: Number of the word that each sub-token belongs to; rising.
        ends: Where each note ends, in sub-tokens.
        pad: Number of the one that fills shorter sequences.
    """

    ids: Array
    kinds: Array | None
    special: Array
    before: int
    mask: int
    vocabulary: int
    words: Array = field(default_factory=_none)
    ends: Array = field(default_factory=_none)
    pad: int = 0


def read_stream(texts: Iterable[str], pieces: Pieces, tokenizer: Any) -> Stream:
    """Return the notes as the encoder will read them when it tags."""
    ids: list[int] = []
    kinds: list[int] = []
    numbers: list[int] = []
    ends: list[int] = []
    last = 0
    for text in texts:
        tokens = tokenize(text)
        words = pieces.of(text, tokens)
        for word, kind in zip(words, pieces.kinds(text, tokens) or [0] * len(words), strict=True):
            ids.extend(word)
            kinds.extend([kind] * len(word))
            last += 1
            numbers.extend([last] * len(word))
            if len(word) > 1 and word[-1] == pieces.settings.line:
                last += 1
                numbers[-1] = last  # the end of a line is no part of the word before it
        ids.append(pieces.settings.after)
        kinds.append(0)
        last += 1
        numbers.append(last)
        ends.append(len(ids))
    return Stream(
        np.array(ids, dtype=np.int64),
        np.array(kinds, dtype=np.int64) if pieces.settings.kinds else None,
        np.array(sorted(tokenizer.all_special_ids), dtype=np.int64),
        pieces.settings.before,
        int(tokenizer.mask_token_id),
        len(tokenizer),
        np.array(numbers, dtype=np.int64),
        np.array(ends, dtype=np.int64),
        pieces.settings.pad,
    )


class Sequences:
    """Which places of a stream each step reads.

    Args:
        stream: All notes.
        settings: Length, batch, and whether sequences cross the ends of notes.
        seed: Of the order.

    Raises:
        TrainingError: There is too little text for one sequence.
    """

    def __init__(self, stream: Stream, settings: Pretraining, *, seed: int) -> None:
        self._stream, self._batch, self._size, self._seed = (
            stream,
            settings.batch,
            settings.length - 1,
            seed,
        )
        self._packed = settings.packed
        if len(stream.ids) < (self._size if settings.packed else 1):
            raise TrainingError(
                f"{len(stream.ids)} sub-tokens of raw text, one sequence takes {self._size}; give"
                " more notes"
            )
        self._rows = [] if settings.packed else _rows_of_notes(stream.ends, self._size)
        self._turns: dict[int, list[Array]] = {}

    @property
    def per_epoch(self) -> int:
        """Steps in which every note is read about once."""
        rows = len(self._stream.ids) // self._size if self._packed else len(self._rows)
        return -(-rows // self._batch)

    def places(self, step: int) -> Array:
        """Return the places of a step's sub-tokens.

        (sequences, positions), ``NOTHING`` where a sequence is shorter.
        """
        if self._packed:
            return self._find_joins(step)
        turn, number = divmod(step, self.per_epoch)
        if turn not in self._turns:
            self._turns = {turn: self._order(turn)}
        rows = [self._rows[row] for row in self._turns[turn][number]]
        found = np.full((len(rows), max(map(len, rows))), NOTHING, dtype=np.int64)
        for row, places in enumerate(rows):
            found[row, : len(places)] = places
        return found

    def _find_joins(self, step: int) -> Array:
        """Return the places where notes are joined.

        Each pass over them has its own cuts and its own order.
        """
        size, length = self._size, len(self._stream.ids)
        count = length // size
        turns: dict[int, Array] = {}
        found = []
        for place in range(step * self._batch, (step + 1) * self._batch):
            turn, number = divmod(place, count)
            if turn not in turns:
                rng = np.random.default_rng([self._seed, 2, turn])
                shift = int(rng.integers(0, length - count * size + 1))
                turns[turn] = shift + rng.permutation(count) * size
            found.append(np.arange(size) + int(turns[turn][number]))
        return np.stack(found)

    def _order(self, turn: int) -> list[Array]:
        """Return the rows of each batch of a pass.

        Sequences of like length together, in an order of their own.
        """
        rng = np.random.default_rng([self._seed, 2, turn])
        lengths = np.array([len(row) for row in self._rows])
        order = rng.permutation(len(self._rows))
        pool = self._batch * _POOL
        parts = [order[first : first + pool] for first in range(0, len(order), pool)]
        sorted_rows = np.concatenate(
            [part[np.argsort(lengths[part], kind="stable")] for part in parts]
        )
        batches = [
            sorted_rows[first : first + self._batch] for first in range(0, len(order), self._batch)
        ]
        return [batches[number] for number in rng.permutation(len(batches))]


def _rows_of_notes(ends: Array, size: int) -> list[range]:
    """Return each note's places, cut evenly where it is longer than a sequence."""
    rows = []
    for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        count = -(-(end - start) // size)
        borders = [start + (end - start) * number // count for number in range(count + 1)]
        rows += [range(first, last) for first, last in pairwise(borders)]
    return rows


def balance(texts: Sequence[tuple[str, str]], exponent: float) -> list[str]:
    """Return texts in which smaller languages have a larger share of the characters.

    A language's share is as its own share to the power of the exponent. Texts of the smaller
    languages are repeated (Conneau et al. 2020, section 3.1, take 0.3); 1 leaves all as they are.

    Args:
        texts: Language and text.
        exponent: In (0, 1].
    """
    sizes: dict[str, int] = {}
    for lang, text in texts:
        sizes[lang] = sizes.get(lang, 0) + len(text)
    largest = max(sizes.values(), default=1)
    debts = dict.fromkeys(sizes, 0.0)
    found = []
    for lang, text in texts:
        debts[lang] += (sizes[lang] / largest) ** (exponent - 1) if sizes[lang] else 1.0
        times = int(debts[lang] + 1e-9)
        debts[lang] -= times
        found += [text] * times
    return found
