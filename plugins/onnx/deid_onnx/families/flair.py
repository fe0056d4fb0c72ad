"""What a Flair network reads, made from tokens with NumPy alone: characters, rows of word tables, places to gather.

``tagger.json`` lists the embeddings under ``embeddings``; the words and characters are in ``vocabulary/<n>.json``.
Training, detection with PyTorch and detection with ONNX all read through ``Reader``, so they cannot differ here.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deid_assets.core.errors import PluginError
from deid_assets.core.windows import windows
from deid_onnx.families import Emissions, Input, Run

Feeds = dict[str, NDArray[Any]]
Line = Sequence[str]
"""The tokens of one input; not empty, and no token is empty or has a blank."""

VOCABULARY = "vocabulary"
UNKNOWN = "<unk>"
_INPUTS, _CHARACTERS = 32, 16_000  # in a batch, padding counted
_FNV_BASIS, _FNV_PRIME = 2166136261, 16777619  # Fowler, Noll and Vo 1991, 32 bits
_DIGIT = re.compile(r"\d")
_REMEMBERED = 200_000  # words whose rows are kept


class Part(Protocol):
    """One embedding of the stack: its arrays for a batch."""

    def feeds(self, lines: Sequence[Line], words: Sequence[str]) -> Feeds:
        """Return arrays by name, without the number of the part.

        Args:
            lines: The batch.
            words: Its different tokens.
        """
        ...


class Characters:
    """Characters to numbers, a whole text at once; 0 for one that is not known.

    Args:
        items: Characters in the order of their numbers; the first is the unknown one.
    """

    def __init__(self, items: Sequence[str]) -> None:
        known = {ord(item): number for number, item in enumerate(items) if len(item) == 1}
        self._numbers = np.zeros(max(known, default=0) + 2, dtype=np.int64)
        self._numbers[list(known)] = list(known.values())
        self.blank = int(self.of(" ")[0])

    def of(self, text: str) -> NDArray[np.int64]:
        """Return a number per character."""
        points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
        return self._numbers[np.minimum(points, len(self._numbers) - 1)]


@dataclass(frozen=True, slots=True)
class CharacterStates:
    """Where a character language model is read (Akbik et al. 2018): after each token, or before it from behind.

    Arrays: ``chars`` (characters, inputs) int64; ``at`` (inputs, tokens) int64, rows of the states laid flat.
    """

    characters: Characters
    backward: bool
    start: str = "\n"

    def feeds(self, lines: Sequence[Line], words: Sequence[str]) -> Feeds:  # noqa: ARG002 - one shape for all parts
        """Return ``chars`` and ``at``."""
        texts = [" ".join(line) for line in lines]
        steps = max(map(len, texts)) + len(self.start) + 1
        chars = np.full((len(lines), steps), self.characters.blank, dtype=np.int64)
        at = np.zeros((len(lines), max(map(len, lines))), dtype=np.int64)
        for number, (line, text) in enumerate(zip(lines, texts, strict=True)):
            read = self.start + (text[::-1] if self.backward else text)
            chars[number, : len(read)] = self.characters.of(read)
            sizes = np.fromiter(map(len, line), dtype=np.int64, count=len(line))
            ends = np.cumsum(sizes + 1) - 1
            at[number, : len(line)] = len(self.start) + (len(text) - ends + sizes if self.backward else ends)
        return {"chars": np.ascontiguousarray(chars.T), "at": at * len(lines) + np.arange(len(lines))[:, None]}


@dataclass(slots=True)
class Table:
    """Rows of a table of vectors: a word's own, or those of its parts, of which the network takes the mean.

    The table holds the words, then ``buckets`` rows of character n-grams (Bojanowski et al. 2017), then zeros.
    Arrays: ``rows`` (words, parts) int64; ``share`` (words, 1) float32, one over the number of parts.
    """

    words: Mapping[str, int]
    buckets: int = 0
    shortest: int = 3
    longest: int = 6
    _known: dict[str, list[int]] = field(default_factory=dict)

    def feeds(self, lines: Sequence[Line], words: Sequence[str]) -> Feeds:  # noqa: ARG002 - one shape for all parts
        """Return ``rows`` and ``share``."""
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        found = [self._known.get(word) or self._known.setdefault(word, self._rows(word)) for word in words]
        rows = np.full((len(words), max(map(len, found))), len(self.words) + self.buckets, dtype=np.int64)
        for number, parts in enumerate(found):
            rows[number, : len(parts)] = parts
        sizes = np.fromiter(map(len, found), dtype=np.float32, count=len(found))
        return {"rows": rows, "share": (1 / sizes)[:, None]}

    def _rows(self, word: str) -> list[int]:
        if self.buckets:
            if word in self.words:
                return [self.words[word]]
            grams = ngrams(word, self.shortest, self.longest)
            return [len(self.words) + fnv(gram) % self.buckets for gram in grams] or [len(self.words) + self.buckets]
        return [next((self.words[form] for form in _forms(word) if form in self.words), len(self.words))]


def _forms(word: str) -> Iterable[str]:
    """Yield the word as published vectors may have it: itself, in lower case, and with its digits replaced."""
    lower = word.lower()
    return word, lower, _DIGIT.sub("#", lower), _DIGIT.sub("0", lower)


def ngrams(word: str, shortest: int, longest: int) -> list[str]:
    """Return the character n-grams of a word in angle brackets, as fastText cuts them."""
    text = f"<{word}>"
    return [
        text[at : at + size]
        for at in range(len(text))
        for size in range(shortest, longest + 1)
        if at + size <= len(text) and not (size == 1 and at in {0, len(text) - 1})
    ]


def fnv(text: str) -> int:
    """Return fastText's hash: FNV-1a over UTF-8, with each byte taken as signed."""
    value = _FNV_BASIS
    for byte in text.encode():
        value = ((value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * _FNV_PRIME) & 0xFFFFFFFF
    return value


@dataclass(slots=True)
class Pieces:
    """First and last sub-word of a token (Heinzerling and Strube 2018), cut by byte-pair encoding.

    Args:
        ranks: Piece to its row; the earlier row is merged first, as in a SentencePiece model of the kind ``bpe``.
        unknown: Row of the unknown piece.

    Arrays: ``rows`` (words, 2) int64.
    """

    ranks: Mapping[str, int]
    unknown: int = 0
    _known: dict[str, tuple[int, int]] = field(default_factory=dict)

    def feeds(self, lines: Sequence[Line], words: Sequence[str]) -> Feeds:  # noqa: ARG002 - one shape for all parts
        """Return ``rows``."""
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        rows = [self._known.get(word) or self._known.setdefault(word, self._ends(word)) for word in words]
        return {"rows": np.array(rows, dtype=np.int64).reshape(len(words), 2)}

    def _ends(self, word: str) -> tuple[int, int]:
        pieces = self.cut(_DIGIT.sub("0", word).lower())
        return self.ranks.get(pieces[0], self.unknown), self.ranks.get(pieces[-1], self.unknown)

    def cut(self, word: str) -> list[str]:
        """Return the pieces of a word in lower case."""
        pieces = list("\u2581" + "\u2581".join(unicodedata.normalize("NFKC", word).split()))
        while len(pieces) > 1:
            joined = [left + right for left, right in zip(pieces, pieces[1:], strict=False)]
            best = min(range(len(joined)), key=lambda at: self.ranks.get(joined[at], len(self.ranks)))
            if joined[best] not in self.ranks:
                break
            pieces[best : best + 2] = [joined[best]]
        return pieces


@dataclass(frozen=True, slots=True)
class Letters:
    """The characters of each word, for an LSTM over them (Lample et al. 2016).

    Arrays: ``chars`` (characters, words) int64; ``sizes`` (words,) int32; ``at`` (words,) int64, rows laid flat.
    """

    characters: Characters

    def feeds(self, lines: Sequence[Line], words: Sequence[str]) -> Feeds:  # noqa: ARG002 - one shape for all parts
        """Return ``chars``, ``sizes`` and ``at``."""
        sizes = np.fromiter(map(len, words), dtype=np.int32, count=len(words))
        chars = np.zeros((len(words), int(sizes.max())), dtype=np.int64)
        inside = np.arange(chars.shape[1]) < sizes[:, None]
        chars[inside] = self.characters.of("".join(words))
        at = (sizes.astype(np.int64) - 1) * len(words) + np.arange(len(words))
        return {"chars": np.ascontiguousarray(chars.T), "sizes": sizes, "at": at}


def part(description: Mapping[str, Any], vocabulary: Sequence[str]) -> Part:
    """Return the reader of one embedding.

    Args:
        description: Its entry in ``tagger.json``.
        vocabulary: Its characters, words or pieces.

    Raises:
        ValueError: The kind is not known here.
    """
    kind = description["kind"]
    if kind == "flair":
        return CharacterStates(Characters(vocabulary), bool(description["backward"]), str(description["start"]))
    if kind == "character":
        return Letters(Characters(vocabulary))
    numbers = {item: number for number, item in enumerate(vocabulary)}
    if kind == "word":
        return Table(numbers, *(int(description[key]) for key in ("buckets", "shortest", "longest")))
    if kind == "onehot":
        return Exact(numbers)
    if kind == "bpemb":
        return Pieces(numbers, int(description["unknown"]))
    raise ValueError(f"embedding kind {kind!r} cannot be read without PyTorch; use the detector 'flair'")


@dataclass(frozen=True, slots=True)
class Exact:
    """Row of a word that is written exactly so, else row 0. Arrays: ``rows`` (words,) int64."""

    words: Mapping[str, int]

    def feeds(self, lines: Sequence[Line], words: Sequence[str]) -> Feeds:  # noqa: ARG002 - one shape for all parts
        """Return ``rows``."""
        return {"rows": np.fromiter((self.words.get(word, 0) for word in words), dtype=np.int64, count=len(words))}


@dataclass(frozen=True, slots=True)
class Reader:
    """Arrays of a whole stack of embeddings.

    Args:
        parts: One per embedding, in the order of the stack.
    """

    parts: Sequence[Part]

    def feeds(self, lines: Sequence[Line]) -> Feeds:
        """Return the network's inputs for a batch.

        ``words`` (inputs, tokens) int64 numbers the different tokens; ``lengths`` (inputs,) int32; the arrays of
        part n have ``_n`` after their name.
        """
        numbers: dict[str, int] = {}
        words = np.zeros((len(lines), max(map(len, lines))), dtype=np.int64)
        for at, line in enumerate(lines):
            words[at, : len(line)] = [numbers.setdefault(token, len(numbers)) for token in line]
        feeds: Feeds = {"words": words, "lengths": np.array([len(line) for line in lines], dtype=np.int32)}
        different = list(numbers)
        for number, reader in enumerate(self.parts):
            feeds |= {f"{name}_{number}": array for name, array in reader.feeds(lines, different).items()}
        return feeds


def buckets(lines: Sequence[Line], *, most: int, characters: int) -> list[list[int]]:
    """Return batches of inputs of like length, longest first, as numbers of inputs.

    Args:
        lines: The inputs.
        most: Inputs in a batch.
        characters: Characters in a batch, padding counted; one input may have more.
    """
    sizes = [sum(map(len, line)) + len(line) for line in lines]
    batches: list[list[int]] = []
    for number in sorted(range(len(lines)), key=lambda at: (-sizes[at], at)):
        full = not batches or len(batches[-1]) >= most or sizes[batches[-1][0]] * (len(batches[-1]) + 1) > characters
        if full:
            batches.append([])
        batches[-1].append(number)
    return batches


@dataclass(frozen=True, slots=True)
class Lines:
    """A network of this family, in whichever runtime.

    Args:
        score: Gives (inputs, tokens, tags) for a batch.
        longest: Tokens in one window; a longer input is read in windows, of which each gives its own part.
        overlap: Tokens that neighbours share.
    """

    score: Callable[[Sequence[Line]], NDArray[Any]]
    longest: int
    overlap: int

    def emissions(self, inputs: Sequence[Input]) -> list[Emissions]:
        """Return (tokens, tags), float32, for each input in order."""
        lines = [[given.text[start:end] for start, end in given.tokens] for given in inputs]
        pieces = [
            (number, window)
            for number, line in enumerate(lines)
            for window in windows(len(line), size=self.longest, overlap=self.overlap)
        ]
        texts = [lines[number][window.start : window.end] for number, window in pieces]
        found: dict[int, NDArray[Any]] = {}
        for batch in buckets(texts, most=_INPUTS, characters=_CHARACTERS):
            found |= dict(zip(batch, self.score([texts[at] for at in batch]), strict=True))
        whole: list[list[NDArray[Any]]] = [[] for _ in lines]
        for at, (number, window) in enumerate(pieces):
            whole[number].append(found[at][window.own_start - window.start : window.own_end - window.start])
        return [np.concatenate(parts).astype(np.float32) for parts in whole]


def load(folder: Path, settings: Mapping[str, Any], run: Run) -> Lines:
    """Return the network of an exported folder.

    Raises:
        PluginError: ``tagger.json`` or a vocabulary lacks something, or an embedding cannot be read without PyTorch.
    """
    try:
        reader = Reader([part(each, vocabulary(folder, number)) for number, each in enumerate(settings["embeddings"])])
        longest, overlap = int(settings["longest"]), int(settings["overlap"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PluginError(
            f"{folder}: tagger.json or a vocabulary is broken ({type(error).__name__}: {error}); export the model again"
        ) from error
    return Lines(lambda lines: run(reader.feeds(lines)), longest, overlap)


def vocabulary(folder: Path, number: int) -> list[str]:
    """Return the vocabulary of an embedding of a model folder.

    Raises:
        OSError: The file is missing.
        ValueError: It is no JSON list of strings.
    """
    found = json.loads((folder / VOCABULARY / f"{number}.json").read_text(encoding="utf-8"))
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise ValueError(f"{VOCABULARY}/{number}.json is no list of strings")
    return found
