"""How far an exported network is from the one it was made of, tag by tag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deid_assets import Note
from deid_assets.extending import InputError
from deid_onnx.detector import PRECISIONS, OnnxDetector
from deid_onnx.tagger import Tagger


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionParity:
    """One precision of an export against its network.

    Args:
        precision: Of the export.
        tokens: Compared.
        same: Tokens with the same tag.
        largest_difference: Of any tag's score at any token, in the network's own units
            (logarithms).
    """

    precision: str
    tokens: int
    same: int
    largest_difference: float

    @property
    def share(self) -> float:
        """Share of tokens with the same tag."""
        return self.same / self.tokens


def parity(
    model: Tagger, onnx: Path, notes: Sequence[Note], *, threads: int | None = None
) -> list[PrecisionParity]:
    """Return how each precision that the folder has differs from the network, on CPU.

    Args:
        model: The network's tagger, as ``TransformersDetector(model=…).tagger``.
        onnx: Its export.
        notes: To compare on; those with no token say nothing.
        threads: Cores to use.

    Raises:
        InputError: No note has a token.
        PluginError: The export is broken.
    """
    read = [parts for note in notes if (parts := model.inputs(note))]
    if not read:
        raise InputError(f"none of {len(notes)} notes has a token to compare; give notes with text")
    wanted = [model.network.emissions(parts) for parts in read]
    found = []
    for precision, name in PRECISIONS.items():
        if not (onnx / name).exists():
            continue
        other = OnnxDetector(
            model=onnx, precision=precision, providers="cpu", threads=threads
        ).tagger
        tokens = same = 0
        largest = 0.0
        for parts, expected in zip(read, wanted, strict=True):
            given = other.network.emissions(parts)
            tags = zip(model.chain.best(expected), other.chain.best(given), strict=True)
            same += sum(int((left == right).sum()) for left, right in tags)
            tokens += sum(map(len, expected))
            largest = max(
                largest, *(float(np.abs(a - b).max()) for a, b in zip(expected, given, strict=True))
            )
        found.append(
            PrecisionParity(
                precision=precision, tokens=tokens, same=same, largest_difference=largest
            )
        )
    return found
