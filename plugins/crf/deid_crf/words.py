"""What a word looks like: the attributes of a token that depend on nothing but itself."""

from __future__ import annotations

from functools import lru_cache

REMEMBERED = 60_000
"""Distinct words whose forms are kept."""
MAX_SHAPE = 12
MAX_AFFIX = 4
LONG_WORD = 12
EDGE = ""
"""Stands for a token before the note begins or after it ends."""


@lru_cache(REMEMBERED)
def normal(word: str) -> str:
    """Return the word in lower case, with ``0`` for each digit."""
    return "0" * len(word) if word.isdecimal() else word.lower()


@lru_cache(REMEMBERED)
def shape(word: str) -> str:
    """Return ``X`` for an upper-case letter, ``x`` for another letter, ``0`` for a digit, and signs
    as they are.
    """
    return "".join(map(_kind, word[:MAX_SHAPE]))


@lru_cache(REMEMBERED)
def short_shape(word: str) -> str:
    """Return the shape with each run of one kind shortened to one sign.

    A single capital stays apart from many.
    """
    if len(word) > 1 and word.isupper():
        return "XX"
    found = ""
    for kind in map(_kind, word):
        if not found.endswith(kind):
            found += kind
    return found[:MAX_SHAPE]


def _kind(char: str) -> str:
    if char.isupper():
        return "X"
    if char.isalpha():
        return "x"
    return "0" if char.isdigit() else char


def attributes(word: str, distance: int) -> list[str]:
    """Return a word's attributes that many tokens away; the farther, the less.

    Args:
        word: A token's text, or ``EDGE``.
        distance: 0 for the token itself; the side does not matter.
    """
    if word == EDGE:
        return ["edge"]
    low = normal(word)
    named = [f"l{low}", f"z{short_shape(word)}"]
    if distance <= 2:
        named.append(f"s3{low[-3:]}")
    if distance <= 1:
        named += [
            f"p3{low[:3]}",
            f"s2{low[-2:]}",
            f"h{shape(word)}",
            f"n{min(len(word), LONG_WORD)}",
        ]
    if distance == 0:
        named += _details(word, low)
    return named


def _details(word: str, low: str) -> list[str]:
    affixes = range(1, min(len(low), MAX_AFFIX) + 1)
    edged = f"^{low}$"
    return [
        f"w{word}",
        *(f"p{size}{low[:size]}" for size in affixes if size != 3),
        *(f"s{size}{low[-size:]}" for size in affixes if size not in (2, 3)),
        *{f"g{edged[at : at + 3]}": None for at in range(len(edged) - 2)},
    ]
