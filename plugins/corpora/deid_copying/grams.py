"""N-grams as 64-bit numbers, and sets of them on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np

from deid_copying.tokens import Flags, Numbers, Places, TokenChunk, TokenFile

MOST = 64
"""Tokens of the longest n-gram."""
_CHANCE = Random("deid-copying/multipliers")  # noqa: S311 - constants, not secrets
_FACTORS = np.array([_CHANCE.getrandbits(64) | 1 for _ in range(MOST)], dtype=np.uint64)
RUN = 1 << 21
"""Numbers that are sorted together; 16 MiB."""
RANGES = 1 << 12
"""Ranges of numbers of which a set can be read alone."""
READ = 1 << 21
"""Numbers of a set that are looked at together, about."""


def grams_of(chunk: TokenChunk, n: int) -> tuple[Numbers, Places]:
    """Return the number of each n-gram and the place of its first token; none crosses notes.

    Two shapes (n-grams,), in the order of the text.
    """
    values = chunk.values
    count = len(values) - n + 1
    if count < 1:
        return np.empty(0, np.uint64), np.empty(0, np.int64)
    places = np.flatnonzero(np.arange(n, n + count) <= chunk.ends[:count])
    sums = np.zeros(count, np.uint64)
    for at in range(n):
        sums += values[at : at + count] * _FACTORS[at]
    return _mix(sums[places]), places


def _mix(sums: Numbers) -> Numbers:
    """Return numbers whose first bits depend on all bits (finaliser of splitmix64)."""
    mixed = (sums ^ (sums >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def find_marked_grams(chunk: TokenChunk, places: Places, n: int) -> Flags:
    """Return which n-grams hold a token of an identifier, shape (n-grams,)."""
    sums = np.concatenate(([0], np.cumsum(chunk.marked, dtype=np.int64)))
    marked: Flags = sums[places + n] > sums[places]
    return marked


@dataclass(slots=True)
class NumberSet:
    """A set of numbers in files, of which a range is read at a time.

    Args:
        folder: Of its files, its own.
    """

    folder: Path
    _waiting: list[Numbers] = field(default_factory=list, init=False, repr=False)
    _size: int = field(default=0, init=False)
    _cuts: list[Places] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)

    def add(self, numbers: Numbers) -> None:
        """Add some."""
        self._waiting.append(numbers)
        self._size += len(numbers)
        if self._size >= RUN:
            self._flush()

    def _flush(self) -> None:
        if not self._size:
            return
        run = each_once(np.concatenate(self._waiting))
        self._waiting = []
        self._size = 0
        run.tofile(self.folder / f"{len(self._cuts):06d}")
        edges = np.arange(1, RANGES, dtype=np.uint64) << np.uint64(64 - RANGES.bit_length() + 1)
        inner = np.searchsorted(run, edges)
        self._cuts.append(np.concatenate(([0], inner, [len(run)])).astype(np.int64))

    def step(self) -> int:
        """Return how many ranges hold about ``READ`` numbers."""
        self._flush()
        held = sum(int(cuts[-1]) for cuts in self._cuts)
        return max(1, min(RANGES, RANGES * READ // max(held, 1)))

    def between(self, first: int, last: int) -> Numbers:
        """Return the numbers of some ranges, sorted, each once."""
        self._flush()
        parts = []
        for number, cuts in enumerate(self._cuts):
            start, end = int(cuts[first]), int(cuts[last])
            path = self.folder / f"{number:06d}"
            parts.append(np.fromfile(path, np.uint64, count=end - start, offset=8 * start))
        return each_once(np.concatenate(parts)) if parts else np.empty(0, np.uint64)


def each_once(numbers: Numbers) -> Numbers:
    """Return numbers sorted, each once; those given are sorted in place."""
    numbers.sort()
    first = np.ones(len(numbers), np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    return numbers[first]


def together(*sets: NumberSet) -> Iterator[list[Numbers]]:
    """Yield the numbers of the same range of several sets, range after range."""
    step = min(one.step() for one in sets)
    for first in range(0, RANGES, step):
        last = min(first + step, RANGES)
        yield [one.between(first, last) for one in sets]


def mark_held(numbers: Numbers, others: Numbers) -> Flags:
    """Return which numbers are among others, which are sorted."""
    if not len(others):
        return np.zeros(len(numbers), np.bool_)
    at = np.minimum(np.searchsorted(others, numbers), len(others) - 1)
    held: Flags = others[at] == numbers
    return held


def gram_set(corpus: TokenFile, n: int, folder: Path, *, marked: bool = False) -> NumberSet:
    """Return the n-grams of a corpus.

    Args:
        corpus: Its tokens.
        n: Tokens of an n-gram, at most ``MOST``.
        folder: Is made.
        marked: Whether only those count that hold a token of an identifier.
    """
    found = NumberSet(folder)
    for chunk in corpus.chunks():
        numbers, places = grams_of(chunk, n)
        found.add(numbers[find_marked_grams(chunk, places, n)] if marked else numbers)
    return found
