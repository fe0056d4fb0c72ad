"""What an attacker looks at.

The words of a candidate, its shape, what stands around it, and how often it occurs.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from deid_hips.leftovers import IdentifierCandidate, ReleasedNote

DIMENSIONS = 2**18
"""Features are hashed into so many places; with some ten thousand features few share one."""
_WORD = re.compile(r"\w+|[^\w\s]")
_AROUND_CHARS = 60
_SEVERAL = 4

Rows = list[NDArray[np.int64]]
"""Indices of each candidate's features, each once."""


def shape(text: str) -> str:
    """Return the shape of a text: ``Aa`` for a capitalised word, ``9-9`` for numbers with a hyphen.

    Runs as one.
    """
    return "".join(kind for kind, _ in groupby(map(_kind, text)))


def _kind(char: str) -> str:
    if char.isdigit():
        return "9"
    if char.isupper():
        return "A"
    return "a" if char.isalpha() else char


def featurize(notes: Sequence[ReleasedNote], *, known: frozenset[str] = frozenset()) -> Rows:
    """Return the features of every candidate, in the order of notes and candidates.

    Args:
        notes: A release; how often a value occurs is counted in it.
        known: What the tool is known to write, as ``words_written`` gives it: an attacker has the
            tool too.
    """
    spread = Counter(word for note in notes for word in set(_words_of(note)))
    rows: Rows = []
    for note in notes:
        for each in note.candidates:
            names = _names(note, each, spread, known)
            rows.append(np.unique([zlib.crc32(name.encode()) % DIMENSIONS for name in names]))
    return rows


def words_written(notes: Iterable[ReleasedNote]) -> frozenset[str]:
    """Return what a tool put into a release, whole and word by word, in lower case."""
    written = {
        note.text[each.start : each.end].casefold()
        for note in notes
        for each in note.candidates
        if not each.is_leftover
    }
    return frozenset(written | {word for text in written for word in _WORD.findall(text)})


def _words_of(note: ReleasedNote) -> Iterator[str]:
    for each in note.candidates:
        yield from (word.casefold() for word in _WORD.findall(note.text[each.start : each.end]))


def _names(
    note: ReleasedNote, each: IdentifierCandidate, spread: Counter[str], known: frozenset[str]
) -> Iterator[str]:
    text, label = note.text[each.start : each.end], each.label.value
    words = [word.casefold() for word in _WORD.findall(text)]
    yield "always"
    yield (
        f"sign {text[0]}{text[-1]}"
        if not (text[0].isalnum() and text[-1].isalnum())
        else "sign none"
    )
    yield f"written whole {text.casefold() in known}"
    yield f"label {label}"
    yield f"shape {label} {shape(text)}"
    yield f"length {label} {min(len(text), 40) // 3}"
    yield f"begins {label} {text[:3].casefold()}"
    yield f"ends {label} {text[-3:].casefold()}"
    for word in words:
        yield f"word {label} {word}"
    alphabetic = [word for word in words if word.isalpha()]
    if alphabetic:
        yield f"known {label} {sum(word in known for word in alphabetic) * 2 // len(alphabetic)}"
        yield f"spread {label} {min(_SEVERAL, max(spread[word] for word in alphabetic))}"
        yield f"rarest {label} {min(_SEVERAL, *(spread[word] for word in alphabetic))}"
    yield f"repeats {label} {min(_SEVERAL, note.text.count(text))}"
    yield from _around(note.text, each, label)


def _around(text: str, each: IdentifierCandidate, label: str) -> Iterator[str]:
    before = [
        word.casefold()
        for word in _WORD.findall(text, max(0, each.start - _AROUND_CHARS), each.start)
    ][-3:]
    after = [word.casefold() for word in _WORD.findall(text, each.end, each.end + _AROUND_CHARS)][
        :3
    ]
    for distance, word in enumerate(reversed(before), start=1):
        yield f"before {distance} {word}"
    for distance, word in enumerate(after, start=1):
        yield f"after {distance} {word}"
    yield f"between {before[-1:]} {label} {after[:1]}"
    line = text[text.rfind("\n", 0, each.start) + 1 : each.start]
    yield f"line {label} {line[:30].casefold()}"
    yield f"place {label} {5 * each.start // max(1, len(text))}"
