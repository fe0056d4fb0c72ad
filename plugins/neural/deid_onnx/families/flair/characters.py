"""Characters as numbers: of a whole input for a language model, and of each word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deid_onnx.families.flair.arrays import Feeds, Line


class Characters:
    """Characters to numbers, a whole text at once; 0 for one that is not known.

    Args:
        items: Characters in the order of their numbers; the first is the unknown one.
    """

    def __init__(self, items: Sequence[str]) -> None:
        known = {ord(item): number for number, item in enumerate(items) if len(item) == 1}
        self._numbers = np.zeros(max(known, default=0) + 2, dtype=np.int64)
        self._numbers[list(known)] = list(known.values())
        self.blank = int(self.of(" ")[0])

    def of(self, text: str) -> NDArray[np.int64]:
        """Return a number per character."""
        points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
        return self._numbers[np.minimum(points, len(self._numbers) - 1)]


@dataclass(frozen=True, slots=True)
class CharacterStates:
    """Places at which a character language model is read.

    After each token, or before it from behind (Akbik et al. 2018).

    Arrays: ``chars`` (characters, inputs) int64; ``at`` (inputs, tokens) int64, rows of the states
    laid flat.
    """

    characters: Characters
    backward: bool
    start: str = "\n"

    def feeds(self, lines: Sequence[Line], words: Sequence[str]) -> Feeds:  # noqa: ARG002 - one shape for all parts
        """Return ``chars`` and ``at``."""
        texts = [" ".join(line) for line in lines]
        steps = max(map(len, texts)) + len(self.start) + 1
        chars = np.full((len(lines), steps), self.characters.blank, dtype=np.int64)
        at = np.zeros((len(lines), max(map(len, lines))), dtype=np.int64)
        for number, (line, text) in enumerate(zip(lines, texts, strict=True)):
            read = self.start + (text[::-1] if self.backward else text)
            chars[number, : len(read)] = self.characters.of(read)
            sizes = np.fromiter(map(len, line), dtype=np.int64, count=len(line))
            ends = np.cumsum(sizes + 1) - 1
            at[number, : len(line)] = len(self.start) + (
                len(text) - ends + sizes if self.backward else ends
            )
        return {
            "chars": np.ascontiguousarray(chars.T),
            "at": at * len(lines) + np.arange(len(lines))[:, None],
        }


@dataclass(frozen=True, slots=True)
class Letters:
    """The characters of each word, for an LSTM over them (Lample et al. 2016).

    Arrays: ``chars`` (characters, words) int64; ``sizes`` (words,) int32; ``at`` (words,) int64,
    rows laid flat.
    """

    characters: Characters

    def feeds(self, lines: Sequence[Line], words: Sequence[str]) -> Feeds:  # noqa: ARG002 - one shape for all parts
        """Return ``chars``, ``sizes`` and ``at``."""
        sizes = np.fromiter(map(len, words), dtype=np.int32, count=len(words))
        chars = np.zeros((len(words), int(sizes.max())), dtype=np.int64)
        inside = np.arange(chars.shape[1]) < sizes[:, None]
        chars[inside] = self.characters.of("".join(words))
        at = (sizes.astype(np.int64) - 1) * len(words) + np.arange(len(words))
        return {"chars": np.ascontiguousarray(chars.T), "sizes": sizes, "at": at}
