"""A note's text as the rules see it.

Bytes for RE2, words for the grammars, and the way back to code points.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from deid_rules.paged import encode_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Letters of the alphabets with case, and the combining marks; apostrophes and hyphens join inside a
# word.
_LETTERS = (
    "A-Za-zÀ-ÖØ-öø-\u02af\u0300-\u037d\u037f-\u0481\u048a-\u052f"
    "\u0531-\u0556\u0561-\u0587\u1e00-\u1fff"
)
_JOINERS = "'\u2019\u2010\u2011-"
_WORDS = re.compile(f"[{_LETTERS}]+(?:[{_JOINERS}][{_LETTERS}]+)*")
_LETTER, _CAPITAL, _JOINER = 1, 2, 4
_TABLE_SIZE = 0x2021
"""One past the last code point of a word or joiner, and one that stands for all others."""
_NUMBERS = {"latin-1": "<u1", "utf-16-le": "<u2", "utf-32-le": "<u4"}
"""Encodings that have one number for each character, or where surrogates are not needed."""
_POSSESSIVES = ("'s", "\u2019s")
_CONTINUATION = re.compile(rb"[\x80-\xbf]")

WRAPPED_CHARS = 48
"""A line at least so long that ends with a word may go on in the next."""


def words_of(text: str) -> list[str]:
    """The words of a text or phrase, as the rules cut them."""
    return _WORDS.findall(text)


def key_of(word: str) -> str:
    """A word in lower case, without a final ``'s``."""
    lowered = word.lower()
    return lowered[:-2] if lowered.endswith(_POSSESSIVES) else lowered


class Cut(NamedTuple):
    """The words of a text.

    Args:
        starts: Offset of each word.
        stops: One past the end of each word.
        capitals: Indexes of the words that begin with a capital.
        capital_words: These words.
    """

    starts: NDArray[np.intp]
    stops: NDArray[np.intp]
    capitals: NDArray[np.intp]
    capital_words: list[str]


class _Pieces(Protocol):
    """Pieces of a text by index, cut when asked for; ``starts`` tells how many words there are."""

    def __getitem__(self, index: int, /) -> str: ...


class _Words(dict[int, str]):
    """Words; few are asked for."""

    __slots__ = ("_starts", "_stops", "_text")

    def __init__(self, text: str, starts: Sequence[int], stops: Sequence[int]) -> None:
        self._text, self._starts, self._stops = text, starts, stops

    def __missing__(self, index: int) -> str:
        self[index] = word = self._text[self._starts[index] : self._stops[index]]
        return word


class _Gaps(dict[int, str]):
    """What stands before each word, and at one past the last the text's end; few are asked for."""

    __slots__ = ("_starts", "_stops", "_text")

    def __init__(self, text: str, starts: Sequence[int], stops: Sequence[int]) -> None:
        self._text, self._starts, self._stops = text, starts, stops

    def __missing__(self, index: int) -> str:
        start = self._stops[index - 1] if index else 0
        self[index] = gap = self._text[
            start : self._starts[index] if index < len(self._starts) else None
        ]
        return gap


class TextView:
    """One text in three forms.

    Args:
        text: The text.
        cut: Its words as ``views_of`` found them among those of other texts; found alone if not
            given.
    """

    def __init__(self, text: str, cut: Cut | None = None) -> None:
        self.text = text
        self.data, self.paged = encode_text(text)
        cut = cut or next(_cut([text], [0], _encoding(text)))[1]
        self.starts: Sequence[int] = cut.starts.data
        """Offset of each word."""
        self.stops: Sequence[int] = cut.stops.data
        """One past the end of each word."""
        self.capitals = cut.capitals
        """Indexes of the words that begin with a capital."""
        self.capital_words = cut.capital_words
        """The words that begin with a capital."""
        self.words: _Pieces = _Words(text, self.starts, self.stops)
        """The words."""
        self.gaps: _Pieces = _Gaps(text, self.starts, self.stops)
        """What stands before each word, and at one past the last the text's end."""

    @cached_property
    def _continuations(self) -> list[int]:
        return [match.start() for match in _CONTINUATION.finditer(self.data)]

    def offset(self, byte: int) -> int:
        """The code point that starts at a byte offset of ``data``."""
        return byte if self.paged else byte - bisect_left(self._continuations, byte)

    def key(self, index: int) -> str:
        """A word by its index, as ``key_of`` gives it."""
        return key_of(self.words[index])

    def between(self, first: int, stop: int) -> list[str]:
        """The words from one index to before another, as far as there are any."""
        return [self.words[index] for index in range(first, min(stop, len(self.starts)))]

    def touches_digit(self, start: int, end: int) -> bool:
        """Whether a digit stands right before or after a range."""
        return self.text[start - 1 : start].isdigit() or self.text[end : end + 1].isdigit()

    def is_wrapped(self, index: int) -> bool:
        """Whether a word begins a line only because the line before it was full."""
        if self.gaps[index] not in ("\n", "\r\n"):
            return False
        end = self.stops[index - 1]
        return end - self.text.rfind("\n", max(0, end - WRAPPED_CHARS), end) > WRAPPED_CHARS

    def word_from(self, offset: int) -> int:
        """Index of the first word that starts at or after an offset."""
        return bisect_left(self.starts, offset)

    def word_at(self, offset: int) -> int | None:
        """Index of the word that starts at an offset, if one does."""
        index = bisect_left(self.starts, offset)
        return index if index < len(self.starts) and self.starts[index] == offset else None

    def word_before(self, offset: int) -> int:
        """Index of the last word that ends at or before an offset, or -1."""
        return bisect_right(self.stops, offset) - 1


def views_of(texts: Sequence[str]) -> list[TextView]:
    """Return a view of each text.

    Words are found and cut together, in the narrowest encoding that the texts fit.
    """
    alike: dict[str, list[int]] = {}
    for at, text in enumerate(texts):
        alike.setdefault(_encoding(text), []).append(at)
    cuts = {at: cut for encoding, run in alike.items() for at, cut in _cut(texts, run, encoding)}
    return [TextView(text, cuts[at]) for at, text in enumerate(texts)]


def _encoding(text: str) -> str:
    """The narrowest encoding that has one number for each character of a text."""
    try:
        return "latin-1" if text.isascii() or text.encode("latin-1") else ""
    except UnicodeEncodeError:
        return "utf-16-le" if len(text.encode("utf-16-le")) == 2 * len(text) else "utf-32-le"


def _cut(texts: Sequence[str], run: Sequence[int], encoding: str) -> Iterator[tuple[int, Cut]]:
    """Yield each text of a run by its index, with its words."""
    import numpy as np  # noqa: PLC0415

    joined = "\n".join(("", *(texts[at] for at in run), ""))
    codes: NDArray[Any] = np.frombuffer(joined.encode(encoding), _NUMBERS[encoding])
    starts, stops, capital = _borders(codes)
    capitals = np.flatnonzero(capital)
    turns = np.zeros(len(codes), np.int8)
    turns[starts[capitals] + 1] = 1
    turns[stops[capitals] + 1] -= 1
    # The words that begin with a capital, with a blank, which is less than all that is in a word,
    # for all else.
    among = np.maximum(
        codes * np.cumsum(turns, dtype=np.int8).astype(bool), codes.dtype.type(ord(" "))
    )
    capital_words = among.tobytes().decode(encoding).split()
    begins = np.cumsum([1, *(len(texts[at]) + 1 for at in run)])
    firsts = np.searchsorted(starts, begins - 1)
    capital_firsts = np.searchsorted(capitals, firsts)
    before = np.repeat(begins[:-1] - 1, np.diff(firsts))
    starts, stops = starts - before, stops - before
    capitals -= np.repeat(firsts[:-1], np.diff(capital_firsts))
    parts = (pairwise(each.tolist()) for each in (firsts, capital_firsts))
    for at, (first, last), (start, stop) in zip(run, *parts, strict=True):
        yield (
            at,
            Cut(
                starts[first:last],
                stops[first:last],
                capitals[start:stop],
                capital_words[start:stop],
            ),
        )


def _borders(codes: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
    """Starts and stops of the words, and whether each begins with a capital.

    Args:
        codes: Code points of a text after a line's end and before another, which offsets do not
            count.
    """
    import numpy as np  # noqa: PLC0415

    kinds = _kinds().take(codes if codes.dtype == np.uint8 else np.minimum(codes, _TABLE_SIZE - 1))
    inside = (kinds & _LETTER).astype(bool)
    joiners = np.flatnonzero((kinds & _JOINER).astype(bool))
    inside[joiners] = inside[joiners - 1] & inside[joiners + 1]
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    starts, stops = edges[0::2], edges[1::2]
    return starts, stops, (kinds.take(starts + 1) & _CAPITAL).astype(bool)


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
