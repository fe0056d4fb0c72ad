"""Words that are no names by themselves, for which a capital alone proves nothing.

They stand in the folder ``words`` of a language, of ``any`` for all and of ``other`` for languages
without one; in it a file per kind, one word per line. The detector ``rules`` reads them kind by
kind; what spreads known values asks whether a word is of any kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from deid_assets.languages import ANY, OTHER, WORDS, folder


def files(lang: str) -> Mapping[str, Path]:
    """Return the files of a language by kind; none where it has no folder.

    Args:
        lang: ISO 639-1 code, ``ANY`` or ``OTHER``.
    """
    place = folder(lang)
    return {path.stem: path for path in sorted((place / WORDS).glob("*.txt"))} if place else {}


def read_words(path: Path) -> list[str]:
    """Return the entries of a file, without blank lines and comments (``#``)."""
    lines = map(str.strip, path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@cache
def ordinary_words(lang: str) -> frozenset[str]:
    """Return all words of a language in lower case, those of ``ANY`` among them.

    Of ``OTHER`` where it has no folder.
    """
    own = files(lang) or files(OTHER)
    return frozenset(
        word.lower() for path in (*own.values(), *files(ANY).values()) for word in read_words(path)
    )


def is_ordinary(word: str, lang: str | None) -> bool:
    """Whether a word is an ordinary one of its language or of medicine, however it is written.

    Args:
        word: As it stands in the text.
        lang: Of the note, ISO 639-1.
    """
    return word.lower() in ordinary_words(lang or OTHER)
