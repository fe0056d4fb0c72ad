"""Text and values cut into the same tokens: runs of letters and runs of digits, folded."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, overload

_RUN = re.compile(r"[^\W\d_]+|\d+")
_PLAIN = str.maketrans(
    {
        "ß": "ss",
        "ø": "o",
        "æ": "ae",
        "œ": "oe",
        "ł": "l",
        "đ": "d",
        "þ": "th",
        "ð": "d",
        "\u0131": "i",
    }
)


class TextToken(NamedTuple):
    """A run of letters or of digits.

    Args:
        key: In lower case and without accents.
        start: First code point.
        end: One past the last.
        capital: Whether it begins with a capital letter.
    """

    key: str
    start: int
    end: int
    capital: bool


@lru_cache(maxsize=50_000)
def fold(word: str) -> str:
    """The word in lower case, without accents and ligatures."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold().translate(_PLAIN))
    return "".join(sign for sign in decomposed if not unicodedata.combining(sign)).translate(_PLAIN)


class TextTokens(Sequence[TextToken]):
    """The tokens of a text, in order, and where each key stands.

    Args:
        text: The note.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = [
            TextToken(fold(run[0]), run.start(), run.end(), run[0][0].isupper())
            for run in _RUN.finditer(text)
        ]
        self.places: dict[str, list[int]] = {}
        """Indexes of the tokens by key."""
        for index, token in enumerate(self._tokens):
            self.places.setdefault(token.key, []).append(index)

    @overload
    def __getitem__(self, index: int) -> TextToken: ...

    @overload
    def __getitem__(self, index: slice) -> list[TextToken]: ...

    def __getitem__(self, index: int | slice) -> TextToken | list[TextToken]:
        return self._tokens[index]

    def __len__(self) -> int:
        return len(self._tokens)

    def at(self, keys: Iterable[str]) -> list[int]:
        """Indexes of the tokens with one of the keys, sorted."""
        return sorted(index for key in dict.fromkeys(keys) for index in self.places.get(key, ()))

    def gap(self, index: int) -> str:
        """Return the text between a token and the next."""
        return self.text[self._tokens[index].end : self._tokens[index + 1].start]

    @cached_property
    def streets(self) -> dict[str, list[int]]:
        """Indexes of the tokens by key as addresses are compared."""
        found: dict[str, list[int]] = {}
        for key, indexes in self.places.items():
            found.setdefault(street_key(key), []).extend(indexes)
        return found


def keys_of(value: str) -> tuple[str, ...]:
    """The folded tokens of a value."""
    return tuple(fold(run) for run in _RUN.findall(value))


_STREET: Mapping[str, str] = {
    "street": "st",
    "saint": "st",
    "strasse": "str",
    "road": "rd",
    "avenue": "av",
    "ave": "av",
    "avenida": "av",
    "avda": "av",
    "boulevard": "bd",
    "blvd": "bd",
    "drive": "dr",
    "lane": "ln",
    "court": "ct",
    "place": "pl",
    "plaza": "pl",
    "pza": "pl",
    "square": "sq",
    "calle": "c",
    "carrer": "c",
    "viale": "vle",
    "piazza": "pza",
    "corso": "cso",
    "rue": "r",
    "route": "rte",
    "allee": "all",
    "chemin": "ch",
    "straat": "str",
    "laan": "ln",
    "gatan": "g",
    "gata": "g",
    "vagen": "v",
    "vag": "v",
    "katu": "k",
    "tie": "t",
    "apartment": "apt",
    "number": "no",
    "numero": "no",
    "nummer": "no",
    "nr": "no",
}
_SUFFIXES = (("strasse", "str"), ("straat", "str"), ("gatan", "g"), ("vagen", "v"), ("katu", "k"))


@lru_cache(maxsize=50_000)
def street_key(key: str) -> str:
    """A token of an address with its kind of street abbreviated."""
    if key in _STREET:
        return _STREET[key]
    for suffix, short in _SUFFIXES:
        if len(key) > len(suffix) and key.endswith(suffix):
            return key[: -len(suffix)] + short
    return key
