"""Which words of a note are the same word: equal but for case, or two forms of one lemma."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from deid_assets.extending import ConfigError, did_you_mean

Lemmatizer = Callable[[str, str | None], str]
"""A word as written and its language to its lemma, in lower case."""

_REMEMBERED = 100_000


def none(word: str, lang: str | None) -> str:
    """Return the word in lower case."""
    del lang
    return word.lower()


def simple(word: str, lang: str | None) -> str:
    """Return the lemma that simplemma's tables give.

    The word in lower case for a language that it does not know.
    """
    return _simple(word, lang or "")


@lru_cache(maxsize=_REMEMBERED)
def _simple(word: str, lang: str) -> str:
    import simplemma  # noqa: PLC0415 - importing the plugin stays light

    if not word[:1].isalpha() or lang not in _list_supported():
        return word.lower()
    return str(simplemma.lemmatize(word, lang=lang, greedy=lang in _RICH)).lower()


_RICH = frozenset({"fi", "et", "hu", "tr"})
"""Languages whose words have so many forms that simplemma looks for a known beginning as well."""


@lru_cache(maxsize=1)
def _list_supported() -> frozenset[str]:
    from simplemma.strategies.dictionaries.dictionary_factory import (  # noqa: PLC0415
        SUPPORTED_LANGUAGES,
    )

    return frozenset(SUPPORTED_LANGUAGES)


def spacy_lemmatizer(model: str) -> Lemmatizer:
    """Return a lemmatiser that is a spaCy pipeline, by name or folder, as ``fi_core_news_lg``.

    Raises:
        ConfigError: spaCy or the pipeline is not installed.
    """
    try:
        import spacy  # noqa: PLC0415 - takes seconds to load, and is optional

        pipeline: Any = spacy.load(model, exclude=["ner", "parser"])
    except (ImportError, OSError) as error:
        raise ConfigError(
            f"the spaCy pipeline {model!r} does not load ({type(error).__name__}); install it, or"
            " give lemmas='simple'"
        ) from None

    @lru_cache(maxsize=_REMEMBERED)
    def lemma(word: str, lang: str | None) -> str:
        del lang
        found = [token.lemma_ for token in pipeline(word)]
        return (found[0] if len(found) == 1 and found[0] else word).lower()

    return lemma


LEMMATIZERS: Mapping[str, Lemmatizer] = {"none": none, "simple": simple}


def lemmatizer(wanted: str) -> Lemmatizer:
    """Return a lemmatiser by its name; ``spacy:NAME`` is a pipeline of spaCy.

    Raises:
        ConfigError: There is none of the name.
    """
    if wanted.startswith("spacy:"):
        return spacy_lemmatizer(wanted.removeprefix("spacy:"))
    if wanted not in LEMMATIZERS:
        raise ConfigError(
            f"lemmas {wanted!r} is unknown{did_you_mean(wanted, LEMMATIZERS)}; "
            f"choose of {', '.join(LEMMATIZERS)}, or spacy:NAME"
        )
    return LEMMATIZERS[wanted]


def groups(words: Sequence[str], lang: str | None, lemma: Lemmatizer) -> list[int]:
    """Return the number of each word's group.

    Words that are equal but for case or share a lemma have one.

    A word and its lemma are one group also where the lemma of the lemma is another.
    """
    known: dict[str, int] = {}
    joined: list[int] = []

    def root(number: int) -> int:
        while joined[number] != number:
            number = joined[number]
        return number

    def number_of(key: str) -> int:
        if key not in known:
            known[key] = len(joined)
            joined.append(len(joined))
        return root(known[key])

    for word in dict.fromkeys(words):
        one, other = number_of(word.lower()), number_of(lemma(word, lang))
        joined[max(one, other)] = min(one, other)
    return [root(known[word.lower()]) for word in words]
