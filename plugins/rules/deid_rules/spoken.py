"""The languages of a text.

They are told by a few words and letters where these suffice, and by Compact Language Detector 2
where not. The library reads some 25 MB of text a second, a set of words 300.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import re2

from deid_assets.extending.lists import languages_in

MIN_CHARS = 2_000
"""Shorter texts are left to the library.

In 15 % of them, where a second language counts, few words may tell it.
"""
MIN_SEEN = 12
"""Different words and letters from which the language of a note that names none is taken."""


class Telling:
    """Words and letters that tell a language from others.

    Args:
        words: Of each language. One that several have tells each of them from the rest. Where a
            language has none, all texts are left to the library.
    """

    def __init__(self, words: Mapping[str, Sequence[str]]) -> None:
        self._languages = frozenset(words) if all(words.values()) else frozenset()
        owners: dict[str, set[str]] = {}
        for language, own in words.items():
            for word in own:
                owners.setdefault(word, set()).add(language)
        self._words = tuple(owners)
        self._owners = (*map(frozenset, owners.values()), self._languages)

    def languages(self, text: str, *, declared: str | None = None) -> tuple[str, ...]:
        """Return the languages of a text, the most frequent first; empty where it does not tell.

        Args:
            text: Of a note.
            declared: The language that the note names. It alone is returned where no word of
                another is seen.
        """
        if (
            len(text) >= MIN_CHARS
            and declared in (None, *self._languages)
            and (seen := self._seen(text))
        ):
            possible = self._languages.intersection(*seen)
            if declared in possible:
                return (str(declared),)
            if declared is None and len(possible) == 1 and len(seen) > MIN_SEEN:
                return tuple(possible)
        return languages_in(text, declared=declared)

    def _seen(self, text: str) -> list[frozenset[str]]:
        """The languages of each word or letter that stands in a text, and all of them.

        Nothing if the set lacks memory.
        """
        return [self._owners[index] for index in self._set.Match(text.encode())]

    @cached_property
    def _set(self) -> Any:
        """The engine's set of them; bytes of UTF-8 stand for letters beyond ASCII."""
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        made = re2.Set.SearchSet(options)
        for word in self._words:
            either = word.encode() + b"|" + word.capitalize().encode()
            whole = rb"(?i)(?:\A|[^a-z\x80-\xff])" + word.encode() + rb"(?:[^a-z\x80-\xff]|\z)"
            made.Add(either if len(word) == 1 else whole)
        made.Add(rb"\z")  # occurs in every text
        made.Compile()
        return made._set  # noqa: SLF001 - the module around the engine only encodes texts
