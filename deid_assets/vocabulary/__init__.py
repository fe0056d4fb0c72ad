"""Ordinary words of each language, in lower case: what a capital alone does not make a name.

One file per language, one word per line, ``other`` for the languages without one of their own.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

OTHER = "other"
"""Words of the languages that have no file of their own."""


@cache
def ordinary_words(lang: str) -> frozenset[str]:
    """Return the ordinary words of a language; none where it has no file.

    Args:
        lang: ISO 639-1 code, or ``OTHER``.
    """
    source = files("deid_assets.vocabulary") / f"{lang}.txt"
    if not source.is_file():
        return frozenset()
    lines = map(str.strip, source.read_text(encoding="utf-8").splitlines())
    return frozenset(line for line in lines if line and not line.startswith("#"))


def is_ordinary(word: str, lang: str | None) -> bool:
    """Whether a word is an ordinary one of its language, however it is written.

    Args:
        word: As it stands in the text.
        lang: Of the note; ``None`` or a language without a list is looked up in ``OTHER``.
    """
    return word.lower() in (ordinary_words(lang or OTHER) or ordinary_words(OTHER))
