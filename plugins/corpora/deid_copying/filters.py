"""Which synthetic notes are kept: what each filter takes away is counted, the first that does."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path

import numpy as np

from deid_assets import Phi
from deid_assets.extending import InputError
from deid_assets.extending.commands import Annotated
from deid_assets.extending.formats import private_folder
from deid_copying.grams import each_once, gram_set, grams_of, mark_held, together
from deid_copying.report import Notes
from deid_copying.tokens import Flags, Numbers, TokenChunk, TokenFile, WordTokens, write_tokens

MOST_NAME = 5
"""Words of a name that is looked for; of a longer one, every five in a row."""
SHORT = "too short"
LONG = "too long"
AGAIN = "said before"
COPIED = "copied words"
SENSITIVE = "identifier with what stands beside it"
NAMED = "name of the source"
REASONS = (SHORT, LONG, AGAIN, COPIED, SENSITIVE, NAMED)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteFilters:
    """What a note must be to be kept; a filter that is 0 is not applied.

    Args:
        shortest: Fewest words.
        longest: Most words.
        copied: Words in a row that no note of the source may have too.
        sensitive: Words in a row, one of them of an identifier of the source, that it may not have.
        name_words: Fewest words of a name of the source that it may not have, the whole name or
            its last words; 1 takes every word of a name away, ordinary ones too.
        again: Whether a note that was said before is taken away.
    """

    shortest: int = 4
    longest: int = 0
    copied: int = 10
    sensitive: int = 3
    name_words: int = 2
    again: bool = True


@dataclass(frozen=True, slots=True)
class Sieved:
    """What the filters say of a corpus.

    Args:
        kept: Which notes are kept, shape (notes,).
        removed: Notes that each filter took, by its name.
    """

    kept: Flags = field(repr=False)
    removed: Mapping[str, int]

    def of(self, notes: Iterable[Annotated]) -> Iterator[Annotated]:
        """Yield the kept ones of the same notes."""
        yield from compress(notes, self.kept.tolist())


def sieve(synthetic: Notes, source: Notes | None, filters: NoteFilters | None = None) -> Sieved:
    """Return which notes are kept; memory does not grow with them, but for some bytes a note.

    Args:
        synthetic: The notes, read once.
        source: Notes of patients; without them, what needs them is not applied.
        filters: What is taken away.

    Raises:
        InputError: A filter cannot be, or the source has nothing by which it could be applied.
    """
    filters = filters or NoteFilters()
    if min(filters.shortest, filters.longest, filters.copied, filters.sensitive) < 0:
        raise InputError("filters take 0 or more words")
    if max(filters.copied, filters.sensitive) > 64 or not 0 <= filters.name_words <= MOST_NAME:
        raise InputError(f"runs have at most 64 words, and names at most {MOST_NAME}")
    with private_folder() as folder:
        made = write_tokens(synthetic(), folder / "synthetic", WordTokens())
        reasons = {
            SHORT: made.lengths < filters.shortest,
            LONG: (made.lengths > filters.longest) & (filters.longest > 0),
            AGAIN: _find_said_before(made) & filters.again,
        }
        if source is not None:
            names = _Names(filters.name_words)
            real = write_tokens(names.remember(source()), folder / "source", WordTokens())
            _check_source(real, filters)
            reasons |= {
                COPIED: _sharing(made, real, filters.copied, folder),
                SENSITIVE: _sharing(made, real, filters.sensitive, folder, marked=True),
                NAMED: names.mark_said(made),
            }
    kept = np.ones(made.notes, np.bool_)
    removed = {}
    for reason, flags in reasons.items():
        removed[reason] = int((flags & kept).sum())
        kept &= ~flags
    return Sieved(kept, removed)


def _check_source(source: TokenFile, filters: NoteFilters) -> None:
    """Check that what the filters look for could be in the source."""
    if not source.tokens:
        raise InputError(f"the source has no word in {source.notes:,} notes; nothing was compared")
    bare = source.notes - source.annotated
    if bare and (filters.sensitive or filters.name_words):
        raise InputError(
            f"{bare:,} of {source.notes:,} notes of the source are not annotated, so that neither"
            " their identifiers nor their names can be looked for; annotate them, or take the"
            " filters `sensitive` and `name_words` away by 0"
        )


def _find_said_before(corpus: TokenFile) -> Flags:
    """Return which notes have the words of one before them, shape (notes,)."""
    digests = np.empty(corpus.notes, np.uint64)
    factor = np.uint64(0x9E3779B97F4A7C15)
    for chunk in corpus.chunks():
        place = np.arange(len(chunk.values)) - chunk.starts[chunk.notes - chunk.first]
        mixed = (chunk.values ^ (place.astype(np.uint64) * factor)) * factor
        mixed ^= mixed >> np.uint64(29)
        sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed * factor)))
        ends = np.append(chunk.starts[1:], len(chunk.values))
        count = len(chunk.starts)
        digests[chunk.first : chunk.first + count] = sums[ends] - sums[chunk.starts]
    again = np.ones(corpus.notes, np.bool_)
    again[np.unique(digests, return_index=True)[1]] = False
    return again


def _sharing(
    made: TokenFile, real: TokenFile, n: int, folder: Path, *, marked: bool = False
) -> Flags:
    """Return which notes have an n-gram of the source, shape (notes,)."""
    found = np.zeros(made.notes, np.bool_)
    if not n:
        return found
    own = folder / f"{n}-{marked}"
    ours = gram_set(made, n, own / "synthetic")
    theirs = gram_set(real, n, own / "source", marked=marked)
    parts = [first[mark_held(first, second)] for first, second in together(ours, theirs)]
    shared: Numbers = np.concatenate(parts)
    for chunk in made.chunks():
        numbers, places = grams_of(chunk, n)
        found[chunk.notes[places[mark_held(numbers, shared)]]] = True
    shutil.rmtree(own)
    return found


class _Names:
    """Names of the source as n-grams, by their number of words."""

    def __init__(self, least: int) -> None:
        self._sizes = range(least, MOST_NAME + 1) if least else range(0)
        self._found: dict[int, set[int]] = {size: set() for size in self._sizes}
        self._words = WordTokens()

    def remember(self, notes: Iterable[Annotated]) -> Iterator[Annotated]:
        """Yield the notes, and remember the names that are marked in them."""
        for one in notes:
            for span in one.spans or ():
                if span.label is Phi.NAME:
                    self._add(one.note.text[span.start : span.end])
            yield one

    def _add(self, name: str) -> None:
        """Take in a name, its last words, which are a name too, and each word where one will do."""
        values = np.array(self._words.numbers(name), np.uint64)
        whole = min(len(values), MOST_NAME)
        for size, found in self._found.items():
            if size <= whole:
                part = values if size in {1, whole} else values[-size:]
                found.update(grams_of(TokenChunk.of_note(part), size)[0].tolist())

    def mark_said(self, corpus: TokenFile) -> Flags:
        """Return which notes say a name, shape (notes,)."""
        found = np.zeros(corpus.notes, np.bool_)
        known = {
            size: each_once(np.array(list(own), np.uint64))
            for size, own in self._found.items()
            if own
        }
        for chunk in corpus.chunks() if known else ():
            for size, own in known.items():
                numbers, places = grams_of(chunk, size)
                found[chunk.notes[places[mark_held(numbers, own)]]] = True
        return found


def describe_removed(removed: Mapping[str, int]) -> str:
    """Return what filters took away, in words."""
    parts = [f"{count:,} {reason}" for reason, count in Counter(removed).items() if count]
    return ", ".join(parts) if parts else "none"
