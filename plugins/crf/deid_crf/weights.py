"""Weights of attributes, and tables that sum them up once per distinct key of a channel."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deid_crf.channels import Channel
from deid_crf.keys import Keys

Rows = NDArray[np.float32]
Numbers = NDArray[np.int32]
MAX_KEYS = 200_000
"""Keys a table remembers before it is emptied."""
_NOTHING = 0
"""Row of the keys that the model knows nothing of."""


@dataclass(frozen=True, slots=True)
class TagWeights:
    """Weights of a model: for each attribute the tags that it speaks for or against.

    Args:
        numbers: Attribute to number.
        first: (attributes + 1,), where each attribute's entries begin.
        tags: (entries,), tag number.
        values: (entries,), weight.
        transitions: (before, after), weight.
    """

    numbers: Mapping[str, int] = field(repr=False)
    first: NDArray[np.int64]
    tags: NDArray[np.int32]
    values: NDArray[np.float32]
    transitions: NDArray[np.float32]

    @classmethod
    def of(cls, names: Sequence[str], states: Rows, transitions: Rows) -> TagWeights:
        """Return what is not zero of a table of weights.

        Args:
            names: Of the attributes.
            states: (attributes, tags).
            transitions: (before, after).
        """
        used = np.flatnonzero(states.any(axis=1))
        rows, tags = np.nonzero(states[used])
        first = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(used)))]).astype(
            np.int64
        )
        numbers = {names[attribute]: number for number, attribute in enumerate(used.tolist())}
        return cls(numbers, first, tags.astype(np.int32), states[used[rows], tags], transitions)

    def beginning_with(self, prefix: str) -> dict[str, int]:
        """Return the numbers of the attributes of one prefix, by the rest of their names."""
        size = len(prefix)
        return {
            name[size:]: number for name, number in self.numbers.items() if name.startswith(prefix)
        }

    def sums(self, known: Sequence[Sequence[int]]) -> Rows:
        """Return the summed weights of each set of attributes, given by number: (sets, tags)."""
        rows = np.repeat(np.arange(len(known)), [len(each) for each in known])
        wanted = np.array([number for each in known for number in each], dtype=np.int64)
        starts, sizes = self.first[wanted], self.first[wanted + 1] - self.first[wanted]
        entries = np.arange(sizes.sum()) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
        width = len(self.transitions)
        cells = np.repeat(rows, sizes) * width + self.tags[entries]
        summed = np.bincount(cells, self.values[entries], minlength=len(known) * width)
        return summed.reshape(len(known), width).astype(np.float32)


class KeyTable:
    """Weights of one channel's keys, summed when a key is first met.

    Args:
        channel: The channel.
        weights: Of the model.
    """

    def __init__(self, channel: Channel, weights: TagWeights) -> None:
        self._channel, self._weights = channel, weights
        self._known = [weights.beginning_with(channel.prefix(offset)) for offset in channel.offsets]
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        shape = (len(self._channel.offsets), 1, len(self._weights.transitions))
        self._rows, self._used = np.zeros(shape, dtype=np.float32), 1

    def make_room(self) -> None:
        """Empty the table if too many keys are known. Numbers given before are void then."""
        if len(self._numbers) > MAX_KEYS:
            self._forget()

    def numbers(self, keys: Keys) -> Numbers:
        """Return each token's row number."""
        return self._number(keys.values)[keys.places]

    @property
    def edge(self) -> int:
        """Row number of what is before and after a note."""
        return int(self._number([self._channel.edge])[0])

    def _number(self, keys: Sequence[Hashable]) -> Numbers:
        known = self._numbers
        found = list(map(known.get, keys))
        if None in found:
            self._learn(
                list(
                    dict.fromkeys(
                        key for key, number in zip(keys, found, strict=True) if number is None
                    )
                )
            )
            found = list(map(known.get, keys))
        return np.array(found, dtype=np.int32)

    def _learn(self, keys: Sequence[Hashable]) -> None:
        features = {
            distance: self._channel.features(keys, distance)
            for distance in {*map(abs, self._channel.offsets)}
        }
        sums = []
        for offset, known in zip(self._channel.offsets, self._known, strict=True):
            of_keys = features[abs(offset)]
            numbers = [[known[name] for name in names if name in known] for names in of_keys]
            sums.append(self._weights.sums(numbers))
        added = np.stack(sums)
        telling = added.any(axis=(0, 2))
        places = np.where(telling, self._used - 1 + np.cumsum(telling), _NOTHING)
        self._numbers.update(zip(keys, places.tolist(), strict=True))
        added = added[:, telling]
        stop = self._used + added.shape[1]
        if stop > self._rows.shape[1]:
            wider = np.zeros(
                (added.shape[0], max(stop, 2 * self._rows.shape[1]), added.shape[2]),
                dtype=np.float32,
            )
            wider[:, : self._used] = self._rows[:, : self._used]
            self._rows = wider
        self._rows[:, self._used : stop] = added
        self._used = stop

    def add_to(self, emissions: Rows, numbers: Numbers, first: int, taken: Rows) -> None:
        """Add the weights of each row's neighbours.

        Args:
            emissions: (rows, tags); changed.
            numbers: Of all rows of the batch and beyond, so that neighbours are there.
            first: Where in ``numbers`` the first row of ``emissions`` is.
            taken: As large as ``emissions``, to work in.
        """
        for rows, offset in zip(self._rows, self._channel.offsets, strict=True):
            wanted = numbers[first + offset : first + offset + len(emissions)]
            if 8 * np.count_nonzero(wanted) < len(emissions):
                telling = np.flatnonzero(wanted)
                emissions[telling] += rows[wanted[telling]]
            else:
                emissions += rows.take(wanted, axis=0, out=taken, mode="clip")
