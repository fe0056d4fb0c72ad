"""Encoders of the BERT kind with a layer of tag scores on the first sub-token of each word.

Two layouts: ``padded``, which any encoder reads, with rows of sub-tokens filled to the longest and
scores for all of them; and ``packed``, in which sub-tokens lie one behind the other and only words
have scores. ``tagger.json`` says which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_onnx.families import Emissions, Feeds, Input, Run
from deid_onnx.pieces import TOKENIZER_FILE, Pieces, PieceSettings, SubTokenRow, batches, pad_rows

POSITIONS = 4096  # in one batch, padding counted
ALIKE = 0.8  # least share of a batch's longest row
ALIKE_PACKED = 0.4  # of it where attention alone is padded
PACKED = "packed"
"""Value of ``layout`` in ``tagger.json``; without one, rows are padded."""


@dataclass(frozen=True, slots=True)
class _Encoder(ABC):
    """An encoder around its sub-tokens.

    Args:
        pieces: Cuts words.
        run: The network.
        tags: How many there are.
        positions: Sub-tokens in one batch, padding counted.
        alike: As in ``batches``.
    """

    pieces: Pieces
    run: Run
    tags: int
    positions: int = POSITIONS
    alike: float = ALIKE

    def emissions(self, inputs: Sequence[Input]) -> list[Emissions]:
        """Return the scores of each word, for each input."""
        found = [np.zeros((len(part.tokens), self.tags), dtype=np.float32) for part in inputs]
        cut = [
            row
            for number, part in enumerate(inputs)
            for row in self.pieces.rows(part.text, part.tokens, source=number)
        ]
        for batch in batches(
            [len(row.ids) for row in cut], positions=self.positions, alike=self.alike
        ):
            some = [cut[number] for number in batch]
            for row, scores in zip(some, self._scores(some), strict=True):
                found[row.source][row.word : row.word + len(row.firsts)] = scores
        return found

    @abstractmethod
    def _scores(self, some: Sequence[SubTokenRow]) -> Iterable[Emissions]:
        """Return the scores of each row's words."""


@dataclass(frozen=True, slots=True)
class EncoderNetwork(_Encoder):
    """An encoder that reads rows filled to the longest, and scores every sub-token.

    ``pad_rows`` gives the rows.
    """

    def _scores(self, some: Sequence[SubTokenRow]) -> Iterable[Emissions]:
        scores = self.run(pad_rows(some, pad=self.pieces.settings.pad))
        return (scores[place, row.firsts] for place, row in enumerate(some))


@dataclass(frozen=True, slots=True)
class PackedNetwork(_Encoder):
    """An encoder that reads sub-tokens one behind the other, and scores words alone.

    ``pack_feeds`` gives the sub-tokens. The encoder's attention sees padding, the rest of it does
    not.
    """

    alike: float = ALIKE_PACKED

    def _scores(self, some: Sequence[SubTokenRow]) -> Iterable[Emissions]:
        stops = np.cumsum([len(row.firsts) for row in some])
        return np.split(self.run(pack_feeds(some)), stops[:-1])


def pack_feeds(some: Sequence[SubTokenRow]) -> Feeds:
    """Return rows as a packed network reads them, int64.

    ``input_ids`` and ``positions`` (sub-tokens,): what each is and where it stands in its row;
    ``kinds``, where rows have them: what its word looks like. ``slots`` (rows, longest): which
    sub-token stands there, -1 for none; ``places`` (sub-tokens,): where each stands in ``slots``
    laid flat. ``words`` (words,): the first sub-token of each; ``word_slots`` and ``word_places``:
    the same as above for words, 0 for none.
    """
    sizes = np.array([len(row.ids) for row in some])
    counts = np.array([len(row.firsts) for row in some])
    starts = np.cumsum(sizes) - sizes
    slots, places = _slots(sizes, empty=-1)
    word_slots, word_places = _slots(counts, empty=0)
    kinds = {"kinds": _flat([row.kinds for row in some])} if some[0].kinds else {}
    return {
        "input_ids": _flat([row.ids for row in some]),
        "positions": np.arange(sizes.sum()) - np.repeat(starts, sizes),
        "slots": slots,
        "places": places,
        "words": np.concatenate(
            [row.firsts + start for row, start in zip(some, starts, strict=True)]
        ),
        "word_slots": word_slots,
        "word_places": word_places,
        **kinds,
    }


def _flat(lines: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.fromiter(chain.from_iterable(lines), dtype=np.int64, count=sum(map(len, lines)))


def _slots(sizes: NDArray[np.int64], *, empty: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which entry stands at each place of each row, and the place of each entry.

    For the latter, rows are laid flat.
    """
    inside = np.arange(sizes.max()) < sizes[:, None]
    slots = np.full(inside.shape, empty, dtype=np.int64)
    slots[inside] = np.arange(sizes.sum())
    return slots, np.flatnonzero(inside)


def load(folder: Path, settings: Mapping[str, Any], run: Run) -> EncoderNetwork | PackedNetwork:
    """Return the encoder of a folder around a way to run it."""
    pieces = Pieces(folder / TOKENIZER_FILE, PieceSettings(**settings["inputs"]))
    kind = PackedNetwork if settings.get("layout") == PACKED else EncoderNetwork
    return kind(pieces, run, len(settings["tags"]))
