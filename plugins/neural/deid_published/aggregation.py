"""From the scores of sub-tokens to spans.

The conventions of the authors' pipelines, and words read from the text.

``simple``, ``first``, ``max`` and ``average`` with ``words = "pipeline"`` are what the pipeline of
the library ``transformers`` does, its heuristics for words included. With ``words = "text"`` a word
ends at every blank and sign, so that a name after a line break or a colon is a word of its own,
which the pipeline may join to the word before it. ``viterbi`` gives all sub-tokens the best tags
that may follow one another.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deid_published.scheme import EntityScheme, groups
from deid_published.viterbi import best

Aggregation = Literal["simple", "first", "max", "average", "viterbi"]
Words = Literal["text", "pipeline"]
PIPELINES = ("simple", "first", "max", "average")
"""Those that the pipeline of ``transformers`` has."""
AGGREGATIONS = (*PIPELINES, "viterbi")
WORDS = ("text", "pipeline")


@dataclass(frozen=True, slots=True)
class SubToken:
    """One sub-token.

    Args:
        start: Of what it covers of the text.
        end: One past it.
        token: The tokenizer's string for it.
        is_unknown: Whether it is the tokenizer's unknown one.
    """

    start: int
    end: int
    token: str
    is_unknown: bool


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity: where, under which label, and the mean probability of its words."""

    start: int
    end: int
    label: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """How a model is read.

    Args:
        tags: In the order of the scores.
        scheme: Of the tags.
        aggregation: How the sub-tokens of a word make its tag.
        words: How words are found.
        has_prefix: Whether the tokenizer marks what continues a word, as WordPiece does.
        biases: Of ``viterbi``, every one.
    """

    tags: Sequence[str]
    scheme: EntityScheme
    aggregation: Aggregation = "first"
    words: Words = "text"
    has_prefix: bool = False
    biases: Mapping[str, float] = field(default_factory=dict)

    def entities(
        self, text: str, pieces: Sequence[SubToken], scores: NDArray[np.float32]
    ) -> list[Entity]:
        """Return the entities of a text.

        Args:
            text: Whole.
            pieces: Its sub-tokens, without special ones.
            scores: (pieces, tags) logits.
        """
        if not pieces:
            return []
        shares = _softmax(scores)
        units = self._units(text, pieces)
        if self.aggregation == "viterbi":
            tags = best(scores, self.tags, self.biases).tolist()
            sure = [float(shares[at, tag]) for at, tag in enumerate(tags)]
        else:
            tags, sure = map(
                list, zip(*(self._tag(shares[first:stop]) for first, stop in units), strict=True)
            )
        found = []
        for first, last, label in groups([self.tags[tag] for tag in tags], self.scheme):
            start, end = _trim(text, pieces[units[first][0]].start, pieces[units[last][1] - 1].end)
            if start < end:
                found.append(Entity(start, end, label, float(np.mean(sure[first : last + 1]))))
        return found

    def _units(self, text: str, pieces: Sequence[SubToken]) -> list[tuple[int, int]]:
        """Return ranges of pieces that get one tag: each piece, or the pieces of each word."""
        if self.aggregation in ("simple", "viterbi"):
            return [(number, number + 1) for number in range(len(pieces))]
        continues = self._continues_pipeline if self.words == "pipeline" else _continues_text
        starts = [
            number
            for number in range(len(pieces))
            if not number or not continues(text, pieces[number - 1], pieces[number])
        ]
        return list(zip(starts, [*starts[1:], len(pieces)], strict=True))

    def _continues_pipeline(self, text: str, _before: SubToken, piece: SubToken) -> bool:
        if piece.is_unknown:
            return False
        if self.has_prefix:
            return len(piece.token) != piece.end - piece.start
        return piece.start > 0 and " " not in text[piece.start - 1 : piece.start + 1]

    def _tag(self, shares: NDArray[np.float32]) -> tuple[int, float]:
        if self.aggregation == "average":
            row = shares.mean(axis=0)
        elif self.aggregation == "max":
            row = shares[int(shares.max(axis=1).argmax())]
        else:
            row = shares[0]
        best = int(row.argmax())
        return best, float(row[best])


def _continues_text(text: str, before: SubToken, piece: SubToken) -> bool:
    """Whether a piece goes on with the word before it.

    Letters and digits touch, or only a blank piece stands before.
    """
    start, _ = _trim(text, piece.start, piece.end)
    if not text[before.start : before.end].strip():
        return start == before.end
    return (
        start == before.end
        and start < piece.end
        and _is_inner(text[start])
        and _is_inner(text[start - 1])
    )


def _is_inner(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character).startswith("M")


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: NDArray[np.float32] = powers / powers.sum(axis=1, keepdims=True)
    return shares


@dataclass(frozen=True, slots=True)
class PieceWindow:
    """Pieces that are read together, and those whose scores are taken.

    The former are ``[start, stop)``, the latter ``[own_start, own_stop)``.
    """

    start: int
    stop: int
    own_start: int
    own_stop: int


def piece_windows(count: int, *, room: int, overlap: int) -> list[PieceWindow]:
    """Return windows over pieces, all of one length.

    Each piece is owned by the window in which it is most central.

    Args:
        count: Pieces of the text.
        room: Pieces in a window.
        overlap: Pieces that neighbours share, at least; less than ``room``.
    """
    if count <= room:
        return [PieceWindow(0, count, 0, count)]
    step = room - overlap
    starts = [*range(0, count - room, step), count - room]
    borders = [0, *((left + room + right) // 2 for left, right in pairwise(starts)), count]
    return [
        PieceWindow(start, start + room, borders[number], borders[number + 1])
        for number, start in enumerate(starts)
    ]
