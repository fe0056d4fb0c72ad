"""Pieces of a text and where they stand, and the windows in which an encoder reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tokenizers import Tokenizer, models, pre_tokenizers

from deid_encoder.weights import UnigramPieces

_BLANKS = str.maketrans(dict.fromkeys("\n\t\r\v\f\x85\u2028\u2029\xa0\u202f\u2007", " "))
"""Line ends, tabs and wide blanks are read as blanks, so that offsets stay."""


@dataclass(frozen=True, slots=True)
class Pieced:
    """A text in pieces.

    Args:
        numbers: Of the pieces.
        offsets: Where each begins and ends, in code points. A piece that begins a word includes the
            blank before it.
    """

    numbers: Sequence[int]
    offsets: Sequence[tuple[int, int]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class EncoderWindow:
    """Pieces that are read together.

    Args:
        first: Number of the first piece in its text.
        numbers: The pieces, with the two that begin and end an input.
    """

    first: int
    numbers: Sequence[int] = field(repr=False)


class PieceReader:
    """Cuts texts into pieces of a unigram tokenizer (Kudo 2018)."""

    def __init__(self, pieces: UnigramPieces) -> None:
        self.begin = pieces.begin
        self.end = pieces.end
        self.pad = pieces.pad
        self.tokenizer = Tokenizer(models.Unigram(pieces.pieces, unk_id=pieces.unknown))
        self.tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()

    def read(self, text: str) -> Pieced:
        """Return a text in pieces."""
        encoded = self.tokenizer.encode(text.translate(_BLANKS), add_special_tokens=False)
        return Pieced(encoded.ids, encoded.offsets)

    def windows(self, pieced: Pieced, *, length: int, step: int) -> Iterator[EncoderWindow]:
        """Yield windows of at most ``length`` pieces.

        Each begins ``step`` pieces after the one before.
        """
        first = 0
        while True:
            inside = pieced.numbers[first : first + length]
            yield EncoderWindow(first, [self.begin, *inside, self.end])
            if first + length >= len(pieced.numbers):
                return
            first += step
