"""What the network is told of a word.

Its spelling by hashed parts, the lists that hold it, and how it is set off.

A part of a word is a row of a table, found by hashing (Weinberger et al. 2009), so that a word that
was never seen is known by its parts. All that depends on the spelling alone is added up once for
each distinct word.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import Token

ROWS = {"norm": 32_768, "prefix": 8_192, "suffix": 8_192, "shape": 2_048, "grams": 32_768}
"""Rows of each table."""
FIRST_ROW = dict(zip(ROWS, np.cumsum([0, *ROWS.values()]).tolist(), strict=False))
TABLE_ROWS = sum(ROWS.values())
LONGEST_SHAPE = 10
LONGEST_GRAMS = 24
"""Letters of a word of which n-grams are taken."""
GAPS = 8
"""Ways in which a word is set off from the one before and the one after; see ``gaps_of``."""
_DIGITS = re.compile(r"\d")
_SEEDS = {table: zlib.crc32(f"{table} ".encode()) for table in ROWS}
_BLANK = ord(" ")
_LINE_END = ord("\n")


def rows_of(word: str) -> list[int]:
    """Return the rows of a word's parts in the one table that holds all."""
    low = _DIGITS.sub("0", word.lower())
    found = [
        hash_part("norm", low),
        hash_part("prefix", low[:3]),
        hash_part("suffix", low[-3:]),
        hash_part("suffix", "2" + low[-2:]),
        hash_part("shape", shape_of(word)),
    ]
    found += [hash_part("grams", gram) for gram in _grams(low[:LONGEST_GRAMS])]
    return found


def shape_of(word: str) -> str:
    """Return a word's letters as x, X and 0, runs of more than three cut."""
    letters = []
    last = ""
    run = 0
    for letter in word:
        kind = _kind(letter)
        run = run + 1 if kind == last else 1
        last = kind
        if run <= 3:
            letters.append(kind)
    shape = "".join(letters)[:LONGEST_SHAPE]
    size = min(len(word), 12) if word.isdigit() else 0
    return f"{shape}{size}"


@cache
def _kind(letter: str) -> str:
    if letter.isdigit():
        return "0"
    if letter.isupper():
        return "X"
    return "x" if letter.isalpha() else letter


def _grams(low: str) -> Iterator[str]:
    framed = f"<{low}>"
    for size in (3, 4, 5):
        for start in range(len(framed) - size + 1):
            yield framed[start : start + size]


def hash_part(table: str, part: str) -> int:
    """Return the row of a part of a word."""
    first: int = FIRST_ROW[table]
    return first + zlib.crc32(part.encode(), _SEEDS[table]) % ROWS[table]


def gaps_of(text: str, words: Sequence[Token]) -> NDArray[np.int64]:
    """Return how each word is set off: what stands before it and, times 8, what stands behind it.

    0 nothing, 1 a blank, 2 more than one or a tab, 3 a line end, 4 an empty line, 5 the edge of the
    note.
    """
    if not words:
        return np.zeros(0, dtype=np.int64)
    letters = np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype="<u4")
    places = np.array(words, dtype=np.int64)
    starts = places[1:, 0]
    ends = places[:-1, 1]
    lines_before = np.concatenate([[0], np.cumsum(letters == _LINE_END)])
    lines = lines_before[starts] - lines_before[ends]
    is_blank = (starts - ends == 1) & (letters[ends] == _BLANK)
    kinds = np.full(len(words) + 1, 5, dtype=np.int64)
    kinds[1:-1] = np.select(
        [starts == ends, lines > 1, lines == 1, is_blank], [0, 4, 3, 1], default=2
    )
    return kinds[:-1] + GAPS * kinds[1:]
