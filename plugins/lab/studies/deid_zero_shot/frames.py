"""The sentences in which a masked language model is asked for a word, one for each language and
category: ``openings.toml`` of the language's folder.

They stand in for the note's own text, so that a value has the same candidates in every note.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from deid_assets import Phi
from deid_assets.extending.languages import find, read_toml


class Sentence(NamedTuple):
    """A blank in a sentence for a category, the same in every note.

    Args:
        opening: What stands before the value.
        parts: Words of the value that are shown, and ``None`` for each blank.
        place: The part that is predicted.
    """

    opening: str
    parts: tuple[str | None, ...]
    place: int


class Blank(NamedTuple):
    """A blank as sub-tokens: what stands before it and after it.

    Of these so many on each side are read where candidates are compared with the original;
    ``None``: all.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    near: int | None = None


class BlankQuestion(NamedTuple):
    """A question to the model: which words may stand in a blank?

    Args:
        blank: Where.
        word: What the blank hides, in the case in which candidates are wanted.
        is_proper: Whether words that the vocabulary has with a small letter too are none:
            "Pressure" is no name.
    """

    blank: Sentence | Blank
    word: str
    is_proper: bool = False


WORDED = (
    Phi.NAME,
    Phi.PROFESSION,
    Phi.STREET,
    Phi.CITY,
    Phi.REGION,
    Phi.COUNTRY,
    Phi.LOCATION,
    Phi.HOSPITAL,
    Phi.ORGANIZATION,
)
"""Categories whose values are words of which one may stand for another."""

OPENINGS = "openings.toml"


def opening(lang: str | None, label: Phi) -> str:
    """Return what stands before a value.

    English for a note without a language, nothing for one without sentences.
    """
    return _openings("en" if lang is None else lang).get(label, "")


@cache
def _openings(lang: str) -> Mapping[str, str]:
    known = find(lang)
    return read_toml(known.folder / OPENINGS) if known and known.has(OPENINGS) else {}
