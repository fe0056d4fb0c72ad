"""Feature matrices of the training notes.

Each distinct key of a channel once, with attributes that enough patients have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deid_crf.channels import Channel
from deid_crf.examples import NoteExample
from deid_crf.keys import Keys
from deid_crf.tagger import rows_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Places = NDArray[np.int64]


class Evidence:
    """The attributes of all tokens, as a product of two sparse matrices.

    Token to keys, and key to attributes.

    A token has one key per channel and neighbour. A key's attributes are written down once, however
    many tokens have it; so the two matrices are an eighth to a tenth of one of tokens and
    attributes.

    Args:
        notes: Training notes.
        keys: Of all their tokens, for each channel.
        channels: What is looked at.
        min_patients: Attributes of fewer are left out: they hold what is one patient's own, and
            generalise little.

    Attributes:
        names: Of the attributes, sorted.
        features: (keys, attributes), ones.
        first: Row of each note's first token; between notes are rows of edges.
    """

    def __init__(
        self,
        notes: Sequence[NoteExample],
        keys: Sequence[Keys],
        channels: Sequence[Channel],
        *,
        min_patients: int,
    ) -> None:
        pad = max(max(map(abs, channel.offsets)) for channel in channels)
        sizes = np.array([len(note.view.words) for note in notes], dtype=np.int64)
        self.first: Places = pad + np.cumsum(sizes + pad) - sizes - pad
        self._rows = rows_of(sizes, pad)
        self._columns: list[tuple[NDArray[np.int32], int]] = []
        """Key number of each row, shifted, for each channel and neighbour.

        And the neighbour's distance.
        """
        numbers: dict[str, int] = {}
        sets: list[list[int]] = []
        for channel, of_channel in zip(channels, keys, strict=True):
            known: dict[Any, int] = {channel.edge: 0}
            values = np.array(
                [known.setdefault(key, len(known)) for key in of_channel.values], dtype=np.int32
            )
            numbered = np.zeros(len(self._rows) + pad * (len(notes) + 1), dtype=np.int32)
            numbered[self._rows] = values[of_channel.places]
            features = {
                distance: channel.features(list(known), distance)
                for distance in {*map(abs, channel.offsets)}
            }
            for offset in channel.offsets:
                prefix = channel.prefix(offset)
                self._columns.append((numbered + np.int32(len(sets)), offset))
                sets += [
                    [numbers.setdefault(prefix + name, len(numbers)) for name in names]
                    for names in features[abs(offset)]
                ]
        every = _ones(sets, width=len(numbers))
        kept = np.flatnonzero(self._patients(notes, every) >= min_patients)
        named = np.array(list(numbers), dtype=object)
        kept = kept[np.argsort(named[kept], kind="stable")]
        self.names: list[str] = named[kept].tolist()
        self.features = every[:, kept].tocsr()

    def _patients(self, notes: Sequence[NoteExample], every: csr_matrix) -> Places:
        """Return how many patients have each attribute."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - heavy, needed in training alone

        sizes = [len(note.view.words) for note in notes]
        owners: dict[str, int] = {}
        owner = np.repeat([owners.setdefault(note.owner, len(owners)) for note in notes], sizes)
        keys = self._keys(self._rows).T.ravel()
        pairs = (np.tile(owner, len(self._columns)), keys)
        having = csr_matrix((np.ones(len(keys), np.float32), pairs), (len(owners), every.shape[0]))
        counted: Places = np.asarray(((having @ every) > 0).sum(axis=0), dtype=np.int64).ravel()
        return counted

    def positions(self, rows: Places) -> csr_matrix:
        """Return which keys each row has: (rows, keys), ones."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - heavy, needed in training alone

        keys = self._keys(rows)
        borders = np.arange(len(rows) + 1) * keys.shape[1]
        return csr_matrix(
            (np.ones(keys.size, np.float32), keys.ravel(), borders),
            (len(rows), self.features.shape[0]),
        )

    def _keys(self, rows: Places) -> NDArray[np.int32]:
        return np.stack([numbers[rows + offset] for numbers, offset in self._columns], axis=1)


def _ones(sets: Sequence[Sequence[int]], *, width: int) -> csr_matrix:
    """Return sets of column numbers as rows of ones."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - heavy, needed in training alone

    borders = np.concatenate([[0], np.cumsum([len(each) for each in sets])]).astype(np.int64)
    columns = np.fromiter(
        (number for each in sets for number in each), dtype=np.int32, count=int(borders[-1])
    )
    return csr_matrix((np.ones(len(columns), np.float32), columns, borders), (len(sets), width))
