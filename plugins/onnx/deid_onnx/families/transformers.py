"""Encoders of the BERT kind with a layer of tag scores on the first sub-token of each word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deid_onnx.families import Emissions, Input, Run
from deid_onnx.pieces import TOKENIZER_FILE, Pieces, PieceSettings, batches, padded, rows

POSITIONS = 4096  # in one batch, padding counted
ALIKE = 0.8  # least share of a batch's longest row


@dataclass(frozen=True, slots=True)
class EncoderNetwork:
    """An encoder around its sub-tokens.

    Args:
        pieces: Cuts words.
        run: ``input_ids`` and ``attention_mask`` to scores of every sub-token.
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
        """Return the scores of each word's first sub-token, for each input."""
        settings = self.pieces.settings
        found = [np.zeros((len(part.tokens), self.tags), dtype=np.float32) for part in inputs]
        cut = [
            row
            for number, part in enumerate(inputs)
            for row in rows(self.pieces.of(part.text, part.tokens), settings, source=number)
        ]
        for batch in batches([len(row.ids) for row in cut], positions=self.positions, alike=self.alike):
            scores = self.run(padded([cut[number].ids for number in batch], pad=settings.pad))
            for place, number in enumerate(batch):
                row = cut[number]
                found[row.source][row.word : row.word + len(row.firsts)] = scores[place, row.firsts]
        return found


def load(folder: Path, settings: Mapping[str, Any], run: Run) -> EncoderNetwork:
    """Return the encoder of a folder around a way to run it."""
    pieces = Pieces(folder / TOKENIZER_FILE, PieceSettings(**settings["inputs"]))
    return EncoderNetwork(pieces, run, len(settings["tags"]))
