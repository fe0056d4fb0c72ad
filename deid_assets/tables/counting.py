"""Counts over all rows of a table, in memory that grows by a few bytes a row: ids that occur twice,
and patients who share a combination of quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import pandas as pd

Hashes = npt.NDArray[np.uint64]
_COMPACT_ROWS = 2_000_000
_FIRST_BIT = 1 << 20
_DAY_BITS = np.uint64(_FIRST_BIT - 1)
"""Bits of a pair that tell the day; the others tell the patient."""


def hashes_of(cells: pa.Array) -> Hashes:
    """Return a hash of each cell; null is a value of its own."""
    import pandas as pd  # noqa: PLC0415 - the graph is loaded without it

    texts = pc.fill_null(cells.cast(pa.string()), "\0")
    found: Hashes = pd.util.hash_array(
        texts.to_numpy(zero_copy_only=False).astype(object), categorize=False
    )
    return found


@dataclass(slots=True)
class IdCounter:
    """The ids of a column, eight bytes each."""

    _parts: list[Hashes] = field(default_factory=list, repr=False)

    def add(self, ids: pa.Array) -> None:
        """Add the ids of the next rows."""
        self._parts.append(np.where(_valid(ids), hashes_of(ids), np.uint64(0)))

    def again(self) -> list[int]:
        """Return the rows, from 1, whose id an earlier row has; rows without one are none."""
        hashes = np.concatenate(self._parts) if self._parts else np.array([], np.uint64)
        self._parts = [hashes]
        ordered = np.sort(hashes)
        if not _repeats(ordered).any():
            return []
        order = np.argsort(hashes, kind="stable")
        repeated = order[1:][_repeats(hashes[order])]
        return sorted(int(row) + 1 for row in repeated)


def _repeats(ordered: Hashes) -> npt.NDArray[np.bool_]:
    return np.asarray((ordered[1:] == ordered[:-1]) & (ordered[1:] != 0), np.bool_)


def _valid(cells: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.is_valid(cells).to_numpy(zero_copy_only=False), np.bool_)


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """How many patients share their combinations.

    Args:
        combinations: Different ones.
        singletons: Those that one patient has alone.
        smallest: Patients of the rarest.
        patients: Patients in groups of 1, 2, 3 to 4, 5 to 10, and more.
    """

    combinations: int
    singletons: int
    smallest: int
    patients: Sequence[int] = (0, 0, 0, 0, 0)


@dataclass(slots=True)
class DayCounter:
    """How many patients of a column have each day, counted of fewer patients where they are many.

    Patients are left out by bits of their hash, so that each is there whole or not at all.

    Args:
        most: Pairs of a patient and a day that are held.
    """

    most: int = _COMPACT_ROWS
    _parts: list[Hashes] = field(default_factory=list, repr=False)
    _rows: int = 0
    _mask: int = 0

    def add(self, days: npt.NDArray[np.int64], patients: Hashes) -> None:
        """Add the days of some rows, and whose they are."""
        pairs = (patients & ~_DAY_BITS) | (days.astype(np.uint64) & _DAY_BITS)
        self._parts.append(self._take(pairs))
        self._rows += len(pairs)
        if self._rows > self.most:
            self._compact()

    def commonest(self) -> tuple[int, int]:
        """Return how many patients have the commonest day, and how many there are."""
        pairs = self._compact()
        if not len(pairs):
            return 0, 0
        _, counts = np.unique(pairs & _DAY_BITS, return_counts=True)
        return int(counts.max()), len(np.unique(pairs & ~_DAY_BITS))

    def _compact(self) -> Hashes:
        pairs = np.unique(np.concatenate([np.empty(0, np.uint64), *self._parts]))
        while len(pairs) > self.most // 2:
            self._mask = self._mask << 1 | _FIRST_BIT
            pairs = self._take(pairs)
        self._parts, self._rows = [pairs], len(pairs)
        return pairs

    def _take(self, pairs: Hashes) -> Hashes:
        taken: Hashes = pairs[(pairs & np.uint64(self._mask)) == 0]
        return taken


SIZES = ("1", "2", "3_to_4", "5_to_10", "11_or_more")
_LAST = (1, 2, 4, 10)


@dataclass(slots=True)
class GroupCounter:
    """Combinations of quasi-identifiers with their patients, each pair once."""

    _pairs: pd.DataFrame | None = field(default=None, repr=False)
    _waiting: list[pd.DataFrame] = field(default_factory=list, repr=False)
    _rows: int = 0

    def add(self, columns: Sequence[pa.Array], patients: pa.Array) -> None:
        """Add the next rows."""
        import pandas as pd  # noqa: PLC0415 - the graph is loaded without it

        group = np.zeros(len(patients), np.uint64)
        for at, column in enumerate(columns, start=1):
            group = (group ^ hashes_of(column)) * np.uint64(0x9E3779B97F4A7C15 + 2 * at)
        self._waiting.append(pd.DataFrame({"group": group, "patient": hashes_of(patients)}))
        self._rows += len(patients)
        if self._rows >= _COMPACT_ROWS:
            self._compact()

    def counts(self) -> GroupCounts:
        """Return what was counted."""
        self._compact()
        if self._pairs is None or self._pairs.empty:
            return GroupCounts(0, 0, 0)
        sizes = self._pairs.groupby("group").size().to_numpy()
        places = np.searchsorted(np.array(_LAST), sizes)
        patients = [int(sizes[places == place].sum()) for place in range(len(SIZES))]
        return GroupCounts(len(sizes), int((sizes == 1).sum()), int(sizes.min()), patients)

    def _compact(self) -> None:
        import pandas as pd  # noqa: PLC0415 - the graph is loaded without it

        known = [] if self._pairs is None else [self._pairs]
        if parts := [*known, *self._waiting]:
            self._pairs = pd.concat(parts).drop_duplicates()
        self._waiting = []
        self._rows = 0
