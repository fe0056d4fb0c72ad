"""Text that carries its own gold spans.

Pieces are labelled when they are written, never searched for afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from deid_assets.extending import OffsetError, Phi, Span

SOURCE = "gold"


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of characters that is PHI of one category as a whole, or not PHI at all.

    Args:
        text: The characters, hidden from ``repr``.
        label: The category, or ``None`` for plain text.
        native_label: A finer name for the category, for example ``DOCTOR`` for a ``NAME``.
    """

    text: str = field(repr=False)
    label: Phi | None = None
    native_label: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """An immutable sequence of pieces; ``+`` joins texts, plain strings included."""

    pieces: tuple[Piece, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, *parts: str | Piece) -> Text:
        """Return the parts in order; a ``str`` is plain text."""
        return cls(tuple(Piece(part) if isinstance(part, str) else part for part in parts))

    def __add__(self, other: Text | str) -> Text:
        tail = (Piece(other),) if isinstance(other, str) else other.pieces
        return Text(self.pieces + tail)

    def __str__(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    def map(self, rewrite: Callable[[Piece], str]) -> Text:
        """Return the text with every piece's characters rewritten.

        Labels stay with their pieces.
        """
        return Text(tuple(replace(piece, text=rewrite(piece)) for piece in self.pieces))

    def overwrite(self, characters: str) -> Text:
        """Return the text with other characters in the same places.

        Raises:
            OffsetError: The length differs, so that the spans would move.
        """
        if len(characters) != sum(len(piece.text) for piece in self.pieces):
            raise OffsetError(
                f"{len(characters)} characters do not overwrite a text of another length"
            )
        pieces, cursor = [], 0
        for piece in self.pieces:
            end = cursor + len(piece.text)
            pieces.append(Piece(characters[cursor:end], piece.label, piece.native_label))
            cursor = end
        return Text(tuple(pieces))

    def spans(self) -> Iterable[Span]:
        """Yield the spans of the labelled pieces, in order; they cannot overlap."""
        cursor = 0
        for piece in self.pieces:
            end = cursor + len(piece.text)
            if piece.label is not None and end > cursor:
                yield Span(cursor, end, piece.label, source=SOURCE, native_label=piece.native_label)
            cursor = end
