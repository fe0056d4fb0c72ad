"""What a value looks like, without the value."""

from __future__ import annotations

from itertools import groupby

LONGEST = 24
"""Characters of a shape that are kept."""
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def shape(text: str) -> str:
    """Return the kinds of characters of a text, each run written once.

    ``Jane-Marie 12/3`` gives ``Aa-Aa_9/9``.

    ``A`` is a capital, ``a`` a small letter, ``x`` a letter of a script without either, ``9`` a
    digit, ``_`` a blank or line break; ASCII punctuation is itself, and any other ``?``. What is
    longer than ``LONGEST`` ends in ``…``.
    """
    kinds = "".join(kind for kind, _ in groupby(text, key=_kind))
    return kinds if len(kinds) <= LONGEST else f"{kinds[: LONGEST - 1]}…"


def _kind(char: str) -> str:
    if char.isupper() or char.istitle():
        return "A"
    if char.islower():
        return "a"
    if char.isalpha():
        return "x"
    if char.isnumeric():
        return "9"
    if char.isspace():
        return "_"
    return char if char in _ASCII_PUNCTUATION else "?"
