"""What the network is given of a note.

Its words, how they are set off, and what another detector found in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import Span, Token, tokenize
from deid_compact.features import gaps_of

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NoteInput:
    """A note as the network is given it.

    Args:
        tokens: Where each word begins and ends.
        words: Their texts.
        gaps: How each is set off: (words,).
        labels: Number of the label that the other detector gave each: (words,).
    """

    tokens: Sequence[Token]
    words: Sequence[str] = field(repr=False)
    gaps: Numbers
    labels: Numbers


def input_of(text: str, spans: Sequence[Span], numbers: Mapping[str, int]) -> NoteInput:
    """Return what the network is given of a note.

    Args:
        text: Of the note.
        spans: Of the other detector.
        numbers: Label to its number, from 1; twice that is its first word's, one less its others'.
    """
    tokens = tokenize(text)
    words = [text[start:end] for start, end in tokens]
    return NoteInput(tokens, words, gaps_of(text, tokens), _labels(tokens, spans, numbers))


def label_rows(labels: int) -> int:
    """Return how many rows labels need: none, and two of each."""
    return 2 * labels + 1


def _labels(tokens: Sequence[Token], spans: Sequence[Span], numbers: Mapping[str, int]) -> Numbers:
    found = np.zeros(len(tokens), dtype=np.int64)
    if not spans or not tokens:
        return found
    starts = np.array([start for start, _ in tokens])
    ends = np.array([end for _, end in tokens])
    for span in sorted(spans, key=lambda each: each.score):
        number = numbers.get(str(span.label))
        if number is None:
            continue
        first = int(np.searchsorted(ends, span.start, side="right"))
        stop = int(np.searchsorted(starts, span.end, side="left"))
        found[first:stop] = 2 * number
        found[first : min(first + 1, stop)] = 2 * number - 1
    return found
