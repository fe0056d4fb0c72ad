"""How long the inputs of a tagger are by sentences grouped.

Tables 3.7 and 4.3 of Catelli (2021).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid_assets.extending import InputError, Note, grouping_for, sentences, tokenize

FACTORS = (1, 2, 4, 8, 16, 32)
BUDGET = 200
"""Mean tokens wanted.

The context that language models of the LSTM kind use (Khandelwal et al. 2018).
"""

Size = Callable[[str], int]
"""Sub-tokens of a text, without special ones."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens, and sub-tokens where there is an encoder, of each sentence, note by note."""

    tokens: Sequence[Sequence[int]]
    pieces: Sequence[Sequence[int]] | None = None

    def rows(self, factors: Sequence[int] = FACTORS) -> list[dict[str, Any]]:
        """Return inputs, mean and most tokens by factor.

        Mean and most sub-tokens too where they are known.
        """
        found = []
        for factor in factors:
            sizes = group_sizes(self.tokens, factor)
            row: dict[str, Any] = {
                "factor": factor,
                "inputs": len(sizes),
                **_summary(sizes, "tokens"),
            }
            if self.pieces is not None:
                row |= _summary(group_sizes(self.pieces, factor), "subtokens")
            found.append(row)
        return found

    def for_budget(self, budget: int = BUDGET) -> int:
        """Return the factor whose mean tokens are nearest to the budget."""
        return grouping_for(self.tokens, budget=budget)

    def for_limit(self, limit: int, *, special: int = 2) -> int:
        """Return the largest factor of which no input is longer than an encoder takes, 1 where even
        sentences are.

        Args:
            limit: Sub-tokens that the encoder takes; tokens where no encoder is known.
            special: Of those, the encoder's own, as ``[CLS]`` and ``[SEP]``.
        """
        if self.pieces is None:
            return grouping_for(self.tokens, longest=limit)
        return grouping_for(self.pieces, longest=limit - special)

    def over(self, limit: int, *, special: int = 2) -> int:
        """Return how many single sentences are longer than an encoder takes, and would be cut."""
        known, room = (
            (self.tokens, limit) if self.pieces is None else (self.pieces, limit - special)
        )
        return sum(size > room for note in known for size in note)


def lengths_of(notes: Sequence[Note], *, size: Size | None = None) -> Lengths:
    """Return the lengths of every sentence.

    Args:
        notes: In any order.
        size: Of an encoder's tokenizer.
    """
    tokens, pieces = [], []
    for note in notes:
        text = note.text
        known = tokenize(text)
        parts = sentences(text, known)
        tokens.append([len(part) for part in parts])
        if size is not None:
            pieces.append(
                [size(text[known[part.start][0] : known[part.stop - 1][1]]) for part in parts]
            )
    return Lengths(tokens, pieces if size is not None else None)


def encoder_size(folder: Path) -> Size:
    """Return the sub-token counter of a published encoder's ``tokenizer.json``.

    Raises:
        InputError: There is none, or it is broken.
    """
    from tokenizers import Tokenizer  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - an extra

    file = folder / "tokenizer.json" if folder.is_dir() else folder
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # noqa: BLE001 - the library raises plain ones
        raise InputError(
            f"{file}: no tokenizer that can be read ({type(error).__name__}); give the encoder's"
            " folder with tokenizer.json"
        ) from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def group_sizes(lengths: Sequence[Sequence[int]], factor: int) -> list[int]:
    """Return the length of each group of ``factor`` sentences; none crosses a note."""
    return [sum(note[at : at + factor]) for note in lengths for at in range(0, len(note), factor)]


def _summary(sizes: Sequence[int], what: str) -> dict[str, Any]:
    mean = sum(sizes) / len(sizes) if sizes else 0.0
    return {f"mean_{what}": round(mean, 4), f"most_{what}": max(sizes, default=0)}
