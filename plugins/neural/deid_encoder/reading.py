"""Reads notes through a network, window by window, and puts the windows together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deid_compact.words import calibrate
from deid_encoder.folder import EncoderDescription
from deid_encoder.pieces import EncoderWindow, Pieced, PieceReader

Network = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""From pieces to scores, (windows, pieces, outputs).

The pieces are (windows, pieces), filled up with the padding piece.
"""

BATCH_PIECES = 6_000
"""Pieces in one call of the network, filling counted: about 100 MB."""


@dataclass(frozen=True, slots=True)
class NoteReader:
    """Gives the probabilities of each piece of a note.

    Args:
        reader: Cuts texts into pieces.
        network: Scores them.
        about: Of the model.
    """

    reader: PieceReader
    network: Network
    about: EncoderDescription

    def read(self, texts: Sequence[str]) -> Iterator[tuple[Pieced, NDArray[np.float32]]]:
        """Yield each text in pieces, with their probabilities: (pieces, outputs).

        Each text is read by itself, so that nothing depends on its neighbours.
        """
        for text in texts:
            pieced = self.reader.read(text)
            yield pieced, calibrate(self._scores(pieced), self.about.temperature)

    def _scores(self, pieced: Pieced) -> NDArray[np.float32]:
        size = len(pieced.numbers)
        scores = np.zeros((size, self.about.classes.outputs), dtype=np.float32)
        nearest_edge = np.full(size, -1, dtype=np.int64)
        if not size:
            return scores
        windows = list(self.reader.windows(pieced, length=self.about.window, step=self.about.step))
        for batch in _batches(windows):
            answers = self.network(self._fill(batch))
            for window, answer in zip(batch, answers, strict=True):
                _take(scores, nearest_edge, window, answer)
        return scores

    def _fill(self, windows: Sequence[EncoderWindow]) -> NDArray[np.int64]:
        longest = max(len(window.numbers) for window in windows)
        pieces = np.full((len(windows), longest), self.reader.pad, dtype=np.int64)
        for row, window in zip(pieces, windows, strict=True):
            row[: len(window.numbers)] = window.numbers
        return pieces


def _batches(windows: Sequence[EncoderWindow]) -> Iterator[Sequence[EncoderWindow]]:
    longest = max(len(window.numbers) for window in windows)
    together = max(1, BATCH_PIECES // longest)
    for first in range(0, len(windows), together):
        yield windows[first : first + together]


def _take(
    scores: NDArray[np.float32],
    nearest_edge: NDArray[np.int64],
    window: EncoderWindow,
    answer: NDArray[np.float32],
) -> None:
    """Take over the pieces that stand further inside this window than inside those before."""
    size = len(window.numbers) - 2
    place = np.arange(size)
    to_edge = np.minimum(place, size - 1 - place)
    part = slice(window.first, window.first + size)
    is_better = to_edge > nearest_edge[part]
    scores[part][is_better] = answer[1 : size + 1][is_better]
    nearest_edge[part][is_better] = to_edge[is_better]
