"""Which sub-tokens are masked with a word.

Those of the same word elsewhere, and of what it is a part of.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import Token
from deid_zero_shot.encoding import EncodedNote, pieces_of
from deid_zero_shot.lemmas import Lemmatizer, groups

_PART = re.compile(r"[^\W\d_]+")
_ADDRESS = re.compile(r"@|://|^www\.", re.IGNORECASE)
_SHORTEST_PART = 3  # letters of a part of a longer word that is compared with whole words
_SHORTEST_INNER = 3  # letters of a word that is looked for inside a part of an address

Array = NDArray[np.int64]


class Related:
    """For each word of a note, the sub-tokens elsewhere that would give it away.

    Words are the same where they are equal but for case, or share a lemma. A word inside a longer
    one, as a name in an e-mail address or in a double name, is the same as the word alone (Myntti
    2025, section 1.4).

    Args:
        text: Of the note.
        lang: Its language.
        words: Ranges of the text.
        pieces: Sub-tokens of each word.
        encoded: Of the note.
        lemma: How lemmas are found.
    """

    def __init__(
        self,
        text: str,
        lang: str | None,
        words: Sequence[Token],
        *,
        pieces: Sequence[range],
        encoded: EncodedNote,
        lemma: Lemmatizer,
    ) -> None:
        written = [text[start:end] for start, end in words]
        parts = {number: _parts(word) for number, word in enumerate(written) if not word.isalnum()}
        inner = [part for found in parts.values() for part in found]
        numbers = groups([*written, *inner], lang, lemma)
        self._group = numbers[: len(words)]
        in_part = dict(zip(inner, numbers[len(words) :], strict=True))
        self._places: dict[int, set[int]] = defaultdict(set)
        self._inside: dict[int, set[int]] = defaultdict(set)
        for number, group in enumerate(self._group):
            self._places[group].update(pieces[number])
        by_key = _by_key(written, self._group)
        for number, found in parts.items():
            start = words[number][0]
            for part, (first, last) in found.items():
                for group, low, high in _find_contained(
                    written[number], part, (first, last), in_part[part], by_key
                ):
                    covered = pieces_of(encoded, [(start + low, start + high)])[0]
                    self._places[group].update(covered)
                    self._inside[number].add(group)

    def of(self, number: int) -> Array:
        """Return the sub-tokens that are masked with a word, its own among them; sorted."""
        found = set(self._places[self._group[number]])
        for group in self._inside.get(number, ()):
            found |= self._places[group]
        return np.array(sorted(found), dtype=np.int64)


def _parts(word: str) -> Mapping[str, Token]:
    return {
        match[0].lower(): match.span()
        for match in _PART.finditer(word)
        if match.end() - match.start() >= _SHORTEST_PART
    }


def _by_key(written: Sequence[str], group: Sequence[int]) -> Mapping[str, int]:
    """Return the groups of the words that are looked for inside addresses."""
    return {
        word.lower(): number
        for word, number in zip(written, group, strict=True)
        if word.isalpha() and len(word) >= _SHORTEST_INNER
    }


def _find_contained(
    word: str, part: str, place: Token, group: int, by_key: Mapping[str, int]
) -> list[tuple[int, int, int]]:
    """Return group, first and last code point, within the word, of each word that a part of it is
    or holds.
    """
    first, last = place
    found = [(group, first, last)]
    if _ADDRESS.search(word):
        for key, other in by_key.items():
            at = part.find(key)
            if at >= 0 and key != part:
                found.append((other, first + at, first + at + len(key)))
    return found
