"""The tokens of a corpus as numbers in files."""

from __future__ import annotations

import hashlib
import re
import sys
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt

from deid_assets import Span
from deid_assets.extending import InputError
from deid_assets.extending.commands import Annotated

Numbers = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]
CHUNK = 1 << 20
"""Tokens that are looked at together; 8 MiB."""
WAITING = 1 << 16
_UNSEEN = "\u00ad\u200b-\u200d\u2060\ufeff"
"""Soft hyphens and what has no width: a word stays one word around them."""
_WORD = re.compile(rf"\w[\w\u0300-\u036f{_UNSEEN}]*")


class WordTokens:
    """Runs of letters and digits, in any case and Unicode form, with accents or without."""

    unit = "words"

    def split(self, text: str) -> tuple[Sequence[int], Sequence[tuple[int, int]]]:
        """Return the number and the range of characters of each word."""
        apart = _apart(text)
        ranges = [found.span() for found in _WORD.finditer(apart)]
        return [_number_of_word(apart[start:end]) for start, end in ranges], ranges

    def numbers(self, text: str) -> Sequence[int]:
        """Return the numbers alone, in half the time where letters keep their number."""
        return [_number_of_word(word) for word in _WORD.findall(_apart(text))]


def _apart(text: str) -> str:
    """Return a text of the same length in which underscores join no words."""
    return text.replace("_", " ")


@lru_cache(maxsize=1 << 17)
def _number_of_word(word: str) -> int:
    return number_of(fold_word(word))


def fold_word(word: str) -> str:
    """Return a word as it is compared: in lower case, without accents and signs of no width."""
    if word.isascii():
        return word.lower()
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", word).casefold())
    return "".join(letter for letter in letters if unicodedata.category(letter) not in {"Mn", "Cf"})


class SubWordTokens:
    """Pieces of a model's vocabulary.

    Raises:
        InputError: The folder has no ``tokenizer.json``, or ``tokenizers`` is not installed.
    """

    unit = "sub-words"

    def __init__(self, folder: Path) -> None:
        try:
            from tokenizers import Tokenizer as Read  # noqa: PLC0415 - an extra
        except ImportError:
            raise InputError(
                "sub-words need the package tokenizers; install the extra encoder of deid-corpora"
            ) from None
        file = folder / "tokenizer.json" if folder.is_dir() else folder
        if not file.is_file():
            raise InputError(f"{folder} has no tokenizer.json; name the folder of a model")
        self._read = Read.from_file(str(file))
        self._read.no_truncation()
        self._read.no_padding()

    def split(self, text: str) -> tuple[Sequence[int], Sequence[tuple[int, int]]]:
        """Return the number and the range of characters of each piece, no special ones."""
        found = self._read.encode(text, add_special_tokens=False)
        return [_spread(one) for one in found.ids], found.offsets

    def numbers(self, text: str) -> Sequence[int]:
        """Return the numbers alone."""
        return self.split(text)[0]


@lru_cache(maxsize=1 << 17)
def number_of(word: str) -> int:
    """Return 64 bits that stand for a word in every process."""
    return int.from_bytes(
        hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    )


@lru_cache(maxsize=1 << 17)
def _spread(number: int) -> int:
    return number_of(f"\0{number}")


@dataclass(frozen=True, slots=True)
class TokenChunk:
    """Whole notes that stand together in a corpus.

    Args:
        first: Number of the first note.
        values: Number of each token, shape (tokens,).
        notes: Which note each token is of, counted over the corpus, shape (tokens,).
        ends: Where the token's note ends in ``values``, shape (tokens,).
        starts: Where each note begins in ``values``, shape (notes,).
        marked: Which tokens belong to an identifier, shape (tokens,); all false where none is told.
    """

    first: int
    values: Numbers = field(repr=False)
    notes: Places = field(repr=False)
    ends: Places = field(repr=False)
    starts: Places = field(repr=False)
    marked: Flags = field(repr=False)

    @classmethod
    def of_note(cls, values: Numbers) -> Self:
        """Return the tokens of one note, none of them marked."""
        zeros = np.zeros(len(values), np.int64)
        ends = np.full(len(values), len(values), np.int64)
        return cls(0, values, zeros, ends, np.zeros(1, np.int64), zeros.astype(np.bool_))


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A corpus as numbers, in a folder.

    Args:
        folder: Of its files.
        unit: What its tokens are called.
        starts: Where each note begins, and where the last ends, shape (notes + 1,).
        owners: Whose note it is, shape (notes,): its patient, else itself.
        annotated: Notes whose identifiers are marked.
        named: Notes that name their patient.
    """

    folder: Path
    unit: str
    starts: Places = field(repr=False)
    owners: Numbers = field(repr=False)
    annotated: int
    named: int

    @property
    def lengths(self) -> Places:
        """Tokens of each note, shape (notes,)."""
        return np.diff(self.starts)

    @property
    def notes(self) -> int:
        """How many there are."""
        return len(self.owners)

    @property
    def tokens(self) -> int:
        """How many there are, over all notes."""
        return int(self.starts[-1])

    def note(self, number: int) -> Numbers:
        """Return the tokens of a note."""
        start, end = (int(one) for one in self.starts[number : number + 2])
        return _part(self.folder / "tokens", np.uint64, start, end)

    def note_id(self, number: int) -> str:
        """Return the id of a note."""
        start, end = (
            int(one) for one in _part(self.folder / "id_ends", np.int64, number, number + 2)
        )
        with (self.folder / "ids").open("rb") as file:
            file.seek(start)
            return file.read(end - start).decode("utf-8", "surrogatepass")

    def chunks(self) -> Iterator[TokenChunk]:
        """Yield all notes, whole, of about ``CHUNK`` tokens at a time."""
        at = 0
        while at < self.notes:
            reach = int(np.searchsorted(self.starts, self.starts[at] + CHUNK, side="right")) - 1
            last = min(max(reach, at + 1), self.notes)
            yield self._chunk(at, last)
            at = last

    def _chunk(self, at: int, last: int) -> TokenChunk:
        start, end = int(self.starts[at]), int(self.starts[last])
        borders = self.starts[at : last + 1] - start
        lengths = np.diff(borders)
        return TokenChunk(
            at,
            _part(self.folder / "tokens", np.uint64, start, end),
            np.repeat(np.arange(at, last, dtype=np.int64), lengths),
            np.repeat(borders[1:], lengths),
            borders[:-1],
            _part(self.folder / "marks", np.bool_, start, end),
        )


def _part(path: Path, kind: type[np.generic], start: int, end: int) -> npt.NDArray[Any]:
    size = np.dtype(kind).itemsize
    return np.fromfile(path, dtype=kind, count=end - start, offset=start * size)


def write_tokens(
    notes: Iterable[Annotated],
    folder: Path,
    tokenizer: WordTokens | SubWordTokens,
    *,
    limit: int | None = None,
) -> TokenFile:
    """Return a corpus as numbers, written to a folder of its own.

    Args:
        notes: Read once, one at a time.
        folder: Is made.
        tokenizer: Splits texts.
        limit: Tokens after which no further note is taken.
    """
    folder.mkdir(parents=True)
    with _Writer(folder) as writer:
        for one in notes:
            writer.add(one, tokenizer)
            if limit is not None and writer.tokens >= limit:
                break
        return TokenFile(
            folder,
            tokenizer.unit,
            np.array(writer.starts, dtype=np.int64),
            np.array(writer.owners, dtype=np.uint64),
            writer.annotated,
            writer.named,
        )


class _Writer:
    """Files of a corpus while they are written."""

    def __init__(self, folder: Path) -> None:
        names = ("tokens", "marks", "ids", "id_ends")
        self._files: dict[str, BinaryIO] = {name: (folder / name).open("wb") for name in names}
        self.starts = array("q", [0])
        self.owners = array("Q")
        self.annotated = 0
        self.named = 0
        self.tokens = 0
        self._ids = 0
        self._values = array("Q")
        self._marks = bytearray()
        self._number(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._flush()
        for file in self._files.values():
            file.close()

    def add(self, found: Annotated, tokenizer: WordTokens | SubWordTokens) -> None:
        note = found.note
        if found.spans is not None and len(found.spans):
            values, ranges = tokenizer.split(note.text)
            self._marks += marks_of(ranges, list(found.spans))
        else:
            values = tokenizer.numbers(note.text)
            self._marks += bytes(len(values))
        self.annotated += found.spans is not None
        self.named += note.patient_id is not None
        self._values.extend(values)
        self.tokens += len(values)
        self.starts.append(self.tokens)
        owner = f"note {note.note_id}" if note.patient_id is None else f"patient {note.patient_id}"
        self.owners.append(number_of(owner))
        self._ids += self._files["ids"].write(note.note_id.encode("utf-8", "surrogatepass"))
        self._number(self._ids)
        if len(self._values) >= WAITING:
            self._flush()

    def _number(self, value: int) -> None:
        self._files["id_ends"].write(value.to_bytes(8, sys.byteorder))

    def _flush(self) -> None:
        self._values.tofile(self._files["tokens"])
        self._files["marks"].write(self._marks)
        self._values = array("Q")
        self._marks = bytearray()


def marks_of(ranges: Sequence[tuple[int, int]], spans: Sequence[Span]) -> bytes:
    """Return for each token 1 where a character of it is in a span, else 0."""
    marks = bytearray(len(ranges))
    starts = [start for start, _ in ranges]
    ends = [end for _, end in ranges]
    for span in spans:
        first = bisect_right(ends, span.start)
        last = bisect_left(starts, span.end)
        for at in range(first, last):
            marks[at] = 1
    return bytes(marks)
