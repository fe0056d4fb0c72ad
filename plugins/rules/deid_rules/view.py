"""A note's text as the rules see it: bytes for RE2, words for the grammars, and the way back to code points."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate

# Letters of the alphabets with case, and the combining marks; apostrophes and hyphens join inside a word.
_LETTER = "A-Za-zÀ-ÖØ-öø-\u02af\u0300-\u037d\u037f-\u0481\u048a-\u052f\u0531-\u0556\u0561-\u0587\u1e00-\u1fff"
_WORDS = re.compile(f"([{_LETTER}]+(?:['\u2019\u2010\u2011-][{_LETTER}]+)*)")
_ASCII_WORDS = re.compile("([A-Za-z]+(?:['-][A-Za-z]+)*)")
_POSSESSIVES = ("'s", "\u2019s")
_CONTINUATION = re.compile(rb"[\x80-\xbf]")

WRAPPED_CHARS = 48
"""A line at least so long that ends with a word may go on in the next."""


def words_of(text: str) -> list[str]:
    """The words of a text or phrase, as the rules cut them."""
    return _WORDS.findall(text)


class View:
    """One text in three forms; built once per note, words only when asked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.data = text.encode()
        self.ascii = len(self.data) == len(text)

    @cached_property
    def _continuations(self) -> list[int]:
        return [match.start() for match in _CONTINUATION.finditer(self.data)]

    def offset(self, byte: int) -> int:
        """The code point that starts at a byte offset of ``data``."""
        return byte if self.ascii else byte - bisect_left(self._continuations, byte)

    @cached_property
    def _parts(self) -> list[str]:
        return (_ASCII_WORDS if self.ascii else _WORDS).split(self.text)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(map(len, self._parts)))

    @cached_property
    def words(self) -> list[str]:
        """Runs of letters, in order."""
        return self._parts[1::2]

    @cached_property
    def keys(self) -> list[str]:
        """The words in lower case, without a final ``'s``."""
        lowered = list(map(str.lower, self.words))
        if "'" not in self.text and "\u2019" not in self.text:
            return lowered
        return [word[:-2] if word.endswith(_POSSESSIVES) else word for word in lowered]

    @cached_property
    def gaps(self) -> list[str]:
        """Return the text between words: ``gaps[i]`` comes before ``words[i]``; one more than there are words."""
        return self._parts[0::2]

    @cached_property
    def starts(self) -> list[int]:
        """Offset of each word."""
        return self._ends[0::2]

    @cached_property
    def stops(self) -> list[int]:
        """One past the end of each word."""
        return self._ends[1::2]

    @cached_property
    def capitals(self) -> list[int]:
        """Indexes of the words that begin with a capital."""
        # Most words are in lower case, which the first test tells at once.
        return [index for index, word in enumerate(self.words) if not word.islower() and word[0].isupper()]

    def touches_digit(self, start: int, end: int) -> bool:
        """Whether a digit stands right before or after a range."""
        return self.text[start - 1 : start].isdigit() or self.text[end : end + 1].isdigit()

    def wrapped(self, index: int) -> bool:
        """Whether a word begins a line only because the line before it was full."""
        if self.gaps[index] not in ("\n", "\r\n"):
            return False
        end = self.stops[index - 1]
        return end - self.text.rfind("\n", max(0, end - WRAPPED_CHARS), end) > WRAPPED_CHARS

    def word_from(self, offset: int) -> int:
        """Index of the first word that starts at or after an offset."""
        return bisect_left(self.starts, offset, hi=len(self.words))

    def word_before(self, offset: int) -> int:
        """Index of the last word that ends at or before an offset, or -1."""
        return bisect_right(self.stops, offset) - 1
