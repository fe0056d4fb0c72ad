"""Ordinary words of each language, for training alone.

A word is ordinary where the dictionary of simplemma holds it and wordfreq counts it in running text
(Barbaresi 2021; Speer 2022). The project's own common words are few thousand a language; with these
a rare word of the language is told from a name that no list holds.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import chain, islice
from typing import Any

import wordfreq
from simplemma.strategies import DefaultDictionaryFactory

FREQUENT = 15_000
"""Words of a language that come first in running text."""
MOST = 60_000
"""Words that are taken of a language."""
_COUNTED = 400_000
_SHORTEST = 3
_WRITES_NOUNS_IN_CAPITALS = frozenset({"de"})


def ordinary_words(language: str, names: Container[str]) -> tuple[list[str], list[str]]:
    """Return words in lower case: those that are frequent, and rarer ones.

    Args:
        language: Its code of two letters.
        names: Names of people and places in lower case, left out where the language writes nouns
            with a capital as it does names: the dictionary has both.
    """
    dictionary = DefaultDictionaryFactory().get_dictionary(language)
    counted = _list_counted(language, dictionary, names)
    lemmas = _lemmas(dictionary)
    words = list(islice(dict.fromkeys(chain(counted, lemmas)), MOST))
    return words[:FREQUENT], words[FREQUENT:]


def _list_counted(language: str, dictionary: Any, names: Container[str]) -> Iterator[str]:
    has_capitals = language in _WRITES_NOUNS_IN_CAPITALS
    for word in wordfreq.top_n_list(language, _COUNTED):
        if len(word) < _SHORTEST or not word.isalpha():
            continue
        is_noun = has_capitals and word.capitalize() in dictionary and word not in names
        if word in dictionary or is_noun:
            yield word


def _lemmas(dictionary: Any) -> list[str]:
    """Return basic forms in lower case, short ones first: compounds are made of these."""
    lemmas = {lemma for lemma in dictionary.values() if lemma.isalpha() and lemma.islower()}
    return sorted(lemmas, key=lambda lemma: (len(lemma), lemma))
