"""A compiled list: a succinct trie in one file, which is mapped into memory and shared by
processes.

Keys are in lower case with single blanks; the value of a key is its weight. One key more, ``#``,
holds what the list is.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from deid_assets.core.errors import InputError
from deid_assets.gazetteers.kinds import PHRASE_LISTS, WORD_LISTS
from deid_assets.system.atomic import atomic_file

SUFFIX = ".gaz"
VERSION = 1
_ABOUT = "#"
_WEIGHT = struct.Struct("<f")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")


class Entry(NamedTuple):
    """One entry of a list.

    Args:
        text: As written.
        weight: How frequent or important it is, in the list's own unit; 1 where it has none.
    """

    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Built:
    """Outcome of compiling a list.

    Args:
        kept: Keys written.
        light: Entries left out for their weight.
        ambiguous: Entries left out because they are ordinary words.
        unusable: Entries without a letter, or that are no name by their form.
    """

    kept: int
    light: int
    ambiguous: int
    unusable: int


def write_gazetteer(
    path: Path,
    entries: Iterable[Entry],
    *,
    kind: str,
    min_weight: float = 0.0,
    ambiguous: Container[str] = (),
    keep_from: float | None = None,
) -> Built:
    """Compile a list.

    Args:
        path: Where to, with the suffix ``.gaz``.
        entries: Of the list; of a repeated entry the largest weight counts.
        kind: One of ``WORD_LISTS`` or ``PHRASE_LISTS``.
        min_weight: Entries below are left out.
        ambiguous: Ordinary words in lower case; an entry that is one of them is left out.
        keep_from: Weight from which an entry is kept although it is an ordinary word.

    Raises:
        InputError: The kind is unknown, the path has another suffix, or nothing is left.
    """
    import marisa_trie  # noqa: PLC0415 - compiled, loaded when first needed

    if kind not in WORD_LISTS and kind not in PHRASE_LISTS:
        raise InputError(
            f"unknown kind of list {kind!r}; choose one of"
            f" {', '.join((*WORD_LISTS, *PHRASE_LISTS))}"
        )
    if path.suffix != SUFFIX:
        raise InputError(f"{path.name}: a compiled list ends with {SUFFIX}; name it so")
    selection = _Selection(kind, min_weight, ambiguous, keep_from)
    for entry in entries:
        selection.add(entry)
    weights = selection.weights
    if not weights:
        raise InputError(
            f"{path.name}: no entry is left; choose another column, weight or vocabulary"
        )
    about = json.dumps({"version": VERSION, "kind": kind, "entries": len(weights)}).encode()
    values = [(key, _WEIGHT.pack(weight)) for key, weight in weights.items()]
    trie = marisa_trie.BytesTrie([(_ABOUT, about), *values])
    with atomic_file(path) as file:
        file.write(trie.tobytes())
    return Built(len(weights), selection.light, selection.ordinary, selection.unusable)


@dataclass(slots=True)
class _Selection:
    """The keys of a list that are kept, and how many entries are left out.

    Args:
        kind: As of ``write_gazetteer``, like ``min_weight``, ``ambiguous`` and ``keep_from``.
        weights: Kept keys, each with the largest weight of its entries.
        light: Left out for their weight.
        ordinary: Left out because they are ordinary words.
        unusable: Without a key.
    """

    kind: str
    min_weight: float
    ambiguous: Container[str]
    keep_from: float | None
    weights: dict[str, float] = field(default_factory=dict)
    light: int = 0
    ordinary: int = 0
    unusable: int = 0

    def add(self, entry: Entry) -> None:
        """Keep an entry's keys, or count why they are left out."""
        keys = _keys(entry.text, self.kind)
        self.unusable += not keys
        for key in keys:
            if entry.weight < self.min_weight:
                self.light += 1
            elif key in self.ambiguous and (
                self.keep_from is None or entry.weight < self.keep_from
            ):
                self.ordinary += 1
            else:
                self.weights[key] = max(entry.weight, self.weights.get(key, 0.0))


def _keys(text: str, kind: str) -> list[str]:
    """The keys of an entry: its words, or the whole."""
    words = _WORD.findall(text)
    if kind in PHRASE_LISTS:
        return [" ".join(words).lower()] if words else []
    named = [word for word in words if word[0].isupper()]
    return [word.lower() for word in named or words if len(word) > 1]


class Gazetteer:
    """A compiled list, mapped into memory.

    Args:
        path: A file that ``write_gazetteer`` made.

    Raises:
        InputError: It is missing, or no such file.
    """

    def __init__(self, path: Path) -> None:
        import marisa_trie  # noqa: PLC0415 - compiled, loaded when first needed

        trie = marisa_trie.BytesTrie()
        try:
            if not path.is_file():
                raise InputError(f"gazetteer {path}: no such file")
            trie.mmap(str(path))
            about: Any = json.loads(trie[_ABOUT][0])
            version, self.kind, self._entries = (
                about["version"],
                str(about["kind"]),
                int(about["entries"]),
            )
        except (RuntimeError, KeyError, ValueError, OSError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"gazetteer {path}: not a compiled list; make it with deid gazetteer build"
            ) from None
        if version != VERSION or (self.kind not in WORD_LISTS and self.kind not in PHRASE_LISTS):
            raise InputError(
                f"gazetteer {path}: made by another version; make it again with deid gazetteer"
                " build"
            )
        self._trie = trie

    def __len__(self) -> int:
        return self._entries

    def __contains__(self, key: object) -> bool:
        return key != _ABOUT and key in self._trie

    def __iter__(self) -> Iterator[Entry]:
        """The entries in lower case, in alphabetical order."""
        for key, value in self._trie.iteritems():
            if key != _ABOUT:
                yield Entry(key, float(_WEIGHT.unpack(value)[0]))

    def weight(self, key: str) -> float | None:
        """The weight of an entry in lower case, or ``None``."""
        found = self._trie.get(key) if key != _ABOUT else None
        return float(_WEIGHT.unpack(found[0])[0]) if found else None

    def beginning_with(self, word: str) -> Iterator[tuple[str, ...]]:
        """Yield the words of each entry whose first word is ``word``, in lower case."""
        if word in self:
            yield (word,)
        for key in self._trie.keys(f"{word} "):
            yield tuple(key.split(" "))
