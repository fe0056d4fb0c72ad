"""A note's text as the rules see it: bytes for RE2, words for the grammars, and the way back to code points."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Letters of the alphabets with case, and the combining marks; apostrophes and hyphens join inside a word.
_LETTERS = "A-Za-zÀ-ÖØ-öø-\u02af\u0300-\u037d\u037f-\u0481\u048a-\u052f\u0531-\u0556\u0561-\u0587\u1e00-\u1fff"
_JOINERS = "'\u2019\u2010\u2011-"
_WORDS = re.compile(f"[{_LETTERS}]+(?:[{_JOINERS}][{_LETTERS}]+)*")
_LETTER, _CAPITAL, _JOINER = 1, 2, 4
_TABLE_SIZE = 0x2021
"""One past the last code point of a word or joiner, and one that stands for all others."""
_POSSESSIVES = ("'s", "\u2019s")
_CONTINUATION = re.compile(rb"[\x80-\xbf]")

LONG_CHARS = 100_000
WRAPPED_CHARS = 48
"""A line at least so long that ends with a word may go on in the next."""


def words_of(text: str) -> list[str]:
    """The words of a text or phrase, as the rules cut them."""
    return _WORDS.findall(text)


def key_of(word: str) -> str:
    """A word in lower case, without a final ``'s``."""
    lowered = word.lower()
    return lowered[:-2] if lowered.endswith(_POSSESSIVES) else lowered


class Pieces(Sequence[str]):
    """Pieces of a text, cut out when asked for."""

    def __init__(self, text: str, starts: Sequence[int], stops: Sequence[int]) -> None:
        self._text, self._starts, self._stops = text, starts, stops

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            text = self._text
            return [text[start:stop] for start, stop in zip(self._starts[index], self._stops[index], strict=True)]
        return self._text[self._starts[index] : self._stops[index]]


class View:
    """One text in three forms.

    Args:
        text: The text.
        borders: Starts and stops of its words, and whether each begins with a capital; found when needed if not given.
    """

    def __init__(self, text: str, borders: tuple[Any, Any, Any] | None = None) -> None:
        self.text = text
        self.data = text.encode()
        self.ascii = len(self.data) == len(text)
        self._given = borders

    @cached_property
    def _continuations(self) -> list[int]:
        return [match.start() for match in _CONTINUATION.finditer(self.data)]

    def offset(self, byte: int) -> int:
        """The code point that starts at a byte offset of ``data``."""
        return byte if self.ascii else byte - bisect_left(self._continuations, byte)

    @cached_property
    def _borders(self) -> tuple[Any, Any, Any]:
        return self._given or _borders(self.text)

    @cached_property
    def starts(self) -> list[int]:
        """Offset of each word."""
        return self._borders[0].tolist()  # type: ignore[no-any-return]

    @cached_property
    def stops(self) -> list[int]:
        """One past the end of each word."""
        return self._borders[1].tolist()  # type: ignore[no-any-return]

    @cached_property
    def capitals(self) -> list[int]:
        """Indexes of the words that begin with a capital."""
        return self._borders[2].nonzero()[0].tolist()  # type: ignore[no-any-return]

    @cached_property
    def capital_words(self) -> list[str]:
        """The words that begin with a capital."""
        starts, stops, capitals = self._borders
        text = self.text
        return [
            text[start:stop] for start, stop in zip(starts[capitals].tolist(), stops[capitals].tolist(), strict=True)
        ]

    @cached_property
    def words(self) -> Sequence[str]:
        """Runs of letters, in order."""
        return self._pieces(self.starts, self.stops)

    @cached_property
    def gaps(self) -> Sequence[str]:
        """What stands between words: ``gaps[i]`` comes before ``words[i]``; one more than there are words."""
        return self._pieces([0, *self.stops], [*self.starts, len(self.text)])

    def _pieces(self, starts: list[int], stops: list[int]) -> Sequence[str]:
        """Cut a text of usual length where asked, for few of its words are; a long one may name people throughout."""
        pieces = Pieces(self.text, starts, stops)
        return pieces[:] if len(self.text) > LONG_CHARS else pieces

    def key(self, index: int) -> str:
        """A word by its index, as ``key_of`` gives it."""
        return key_of(self.words[index])

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
        return bisect_left(self.starts, offset)

    def word_before(self, offset: int) -> int:
        """Index of the last word that ends at or before an offset, or -1."""
        return bisect_right(self.stops, offset) - 1


def views_of(texts: Sequence[str]) -> Iterator[View]:
    """Yield a view of each text; their words are found together."""
    import numpy as np  # noqa: PLC0415

    starts, stops, capitals = _borders("\n".join(texts))
    begins = np.cumsum([0, *(len(text) + 1 for text in texts)])
    at = np.searchsorted(starts, begins).tolist()
    for number, (text, begin) in enumerate(zip(texts, begins.tolist(), strict=False)):
        own = slice(at[number], at[number + 1])
        yield View(text, (starts[own] - begin, stops[own] - begin, capitals[own]))


def _borders(text: str) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
    """Starts and stops of the words of a text, and whether each begins with a capital."""
    import numpy as np  # noqa: PLC0415

    try:
        codes: NDArray[Any] = np.frombuffer(f"\n{text}\n".encode("latin-1"), np.uint8)
    except UnicodeEncodeError:
        codes = np.minimum(np.frombuffer(f"\n{text}\n".encode("utf-32-le"), np.uint32), _TABLE_SIZE - 1)
    kinds = _kinds()[codes]
    inside = kinds & _LETTER
    joiners = np.flatnonzero(kinds & _JOINER)
    inside[joiners] = inside[joiners - 1] & inside[joiners + 1]
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    starts, stops = edges[0::2], edges[1::2]
    return starts, stops, (kinds[starts + 1] & _CAPITAL).astype(bool)


@cache
def _kinds() -> NDArray[np.uint8]:
    """What each code point is to a word, as bits."""
    import numpy as np  # noqa: PLC0415

    kinds = np.zeros(_TABLE_SIZE, np.uint8)
    letter, joiner = re.compile(f"[{_LETTERS}]"), re.compile(f"[{_JOINERS}]")
    for code in range(_TABLE_SIZE - 1):
        sign = chr(code)
        kinds[code] = (
            (_LETTER if letter.match(sign) else 0)
            | (_CAPITAL if sign.isupper() else 0)
            | (_JOINER if joiner.match(sign) else 0)
        )
    return kinds
