"""Words that are no names by themselves.

What a capital alone proves nothing for, in eight languages.

A folder per language, ``any`` for words of all of them and ``other`` for the languages without a
folder of their own; in it a file per kind, one word per line. The detector ``rules`` reads them
kind by kind; what spreads known values asks whether a word is of any kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

ANY, OTHER = "any", "other"
_FOLDER = Path(__file__).parent
_SAME_FOLDER: Mapping[str, str] = {"nn": "nb", "no": "nb"}
"""Codes of notes with the language whose folder has their words."""


def files(lang: str) -> Mapping[str, Path]:
    """Return the files of a language by kind; none where it has no folder.

    Args:
        lang: ISO 639-1 code, ``ANY`` or ``OTHER``.
    """
    return {
        path.stem: path for path in sorted((_FOLDER / _SAME_FOLDER.get(lang, lang)).glob("*.txt"))
    }


def read_words(path: Path) -> list[str]:
    """Return the entries of a file, without blank lines and comments (``#``)."""
    lines = map(str.strip, path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@cache
def ordinary_words(lang: str) -> frozenset[str]:
    """Return all words of a language in lower case, those of ``ANY`` among them.

    Of ``OTHER`` where it has no folder.
    """
    folder = files(lang) or files(OTHER)
    return frozenset(
        word.lower()
        for path in (*folder.values(), *files(ANY).values())
        for word in read_words(path)
    )


def is_ordinary(word: str, lang: str | None) -> bool:
    """Whether a word is an ordinary one of its language or of medicine, however it is written.

    Args:
        word: As it stands in the text.
        lang: Of the note, ISO 639-1.
    """
    return word.lower() in ordinary_words(lang or OTHER)
