"""Verbatim overlap of generated text with what the model learnt: a lower bound of what it leaks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from deid_assets.extending import InputError

Gram = tuple[Hashable, ...]


def grams(texts: Iterable[Sequence[Hashable]], n: int) -> frozenset[Gram]:
    """Return the different n-grams of token sequences; none crosses from one text to the next."""
    return frozenset(tuple(text[at : at + n]) for text in texts for at in range(len(text) - n + 1))


def find_marked_grams(
    texts: Iterable[Sequence[Hashable]], marked: Iterable[Sequence[bool]], n: int
) -> frozenset[Gram]:
    """Return the different n-grams of token sequences that hold a marked token.

    ``marked`` is of the same shape.
    """
    return frozenset(
        tuple(text[at : at + n])
        for text, own in zip(texts, marked, strict=True)
        for at in range(len(text) - n + 1)
        if any(own[at : at + n])
    )


def recall(
    real: Sequence[Sequence[int]],
    made: Iterable[Sequence[int]],
    n: int,
    *,
    marked: Sequence[Sequence[bool]] | None = None,
) -> float:
    """Return the share of the different n-grams learnt that generated text has too (Vakili et al.
    2025).

    Args:
        real: Tokens of each text that was learnt.
        made: Tokens of each generated text.
        n: Tokens of an n-gram.
        marked: Which tokens of each text belong to PHI: only n-grams with one of these count. All
            where not given.

    Raises:
        InputError: No text that was learnt has such an n-gram.
    """
    known = grams(real, n) if marked is None else find_marked_grams(real, marked, n)
    if not known:
        raise InputError(f"no text has {n} tokens; take a shorter n-gram")
    return len(known & grams(made, n)) / len(known)
