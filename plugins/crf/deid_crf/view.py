"""A note as the tagger reads it: its words, and what other sources say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from deid_assets.extending import Token, tokenize
from deid_crf.words import normal


@dataclass(frozen=True, slots=True)
class View:
    """One note.

    Args:
        text: The note's text.
        tokens: Offsets.
        words: Text of the tokens.
        predictions: What another detector found at each token, ``O`` or ``B-LABEL`` or ``I-LABEL``.
        hits: Lists that hold each token, or the phrase that it is part of.
    """

    text: str = field(repr=False)
    tokens: Sequence[Token]
    words: Sequence[str] = field(repr=False)
    predictions: Sequence[str] = ()
    hits: Sequence[tuple[str, ...]] = ()

    @classmethod
    def of(cls, text: str) -> View:
        """Return a text's view, without predictions and lists."""
        tokens = tokenize(text)
        return cls(text, tokens, [text[start:end] for start, end in tokens])

    @property
    def lows(self) -> list[str]:
        """Words in normal form."""
        return [normal(word) for word in self.words]
