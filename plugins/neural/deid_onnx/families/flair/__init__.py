"""What a Flair network reads, made from tokens with NumPy alone.

Characters, rows of word tables, places to gather.

``tagger.json`` lists the embeddings under ``embeddings``; the words and characters are in
``vocabulary/<n>.json``. Training, detection with PyTorch and detection with ONNX all read through
``StackReader``, so they cannot differ here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import PluginError, windows
from deid_onnx.families import Emissions, Input, Run
from deid_onnx.families.flair.arrays import EmbeddingFeeds, Feeds, Line
from deid_onnx.families.flair.characters import Characters, CharacterStates, Letters
from deid_onnx.families.flair.words import BytePairs, Exact, VectorTable

__all__ = [
    "SPREADS",
    "UNKNOWN",
    "VOCABULARY",
    "BytePairs",
    "CharacterStates",
    "Characters",
    "EmbeddingFeeds",
    "Exact",
    "Feeds",
    "Letters",
    "Line",
    "LineNetwork",
    "StackReader",
    "VectorTable",
    "buckets",
    "load",
    "part",
    "vocabulary",
]

VOCABULARY = "vocabulary"
UNKNOWN = "<unk>"
SPREADS = True
"""Its networks can be spread over cores; an LSTM's steps cannot, they wait for one another."""
_INPUTS, _CHARACTERS = 32, 16_000  # in a batch, padding counted


def part(description: Mapping[str, Any], vocabulary: Sequence[str]) -> EmbeddingFeeds:
    """Return the reader of one embedding.

    Args:
        description: Its entry in ``tagger.json``.
        vocabulary: Its characters, words or pieces.

    Raises:
        ValueError: The kind is not known here.
    """
    kind = description["kind"]
    if kind == "flair":
        return CharacterStates(
            Characters(vocabulary), bool(description["backward"]), str(description["start"])
        )
    if kind == "character":
        return Letters(Characters(vocabulary))
    numbers = {item: number for number, item in enumerate(vocabulary)}
    if kind == "word":
        rows, shortest, longest = (
            int(description[key]) for key in ("buckets", "shortest", "longest")
        )
        return VectorTable(numbers, rows, shortest, longest)
    if kind == "onehot":
        return Exact(numbers)
    if kind == "bpemb":
        return BytePairs(numbers, int(description["unknown"]))
    raise ValueError(
        f"embedding kind {kind!r} cannot be read without PyTorch; use the detector 'flair'"
    )


@dataclass(frozen=True, slots=True)
class StackReader:
    """Arrays of a whole stack of embeddings.

    Args:
        parts: One per embedding, in the order of the stack.
    """

    parts: Sequence[EmbeddingFeeds]

    def feeds(self, lines: Sequence[Line]) -> Feeds:
        """Return the network's inputs for a batch.

        ``words`` (inputs, tokens) int64 numbers the different tokens; ``lengths`` (inputs,) int32;
        the arrays of part n have ``_n`` after their name.
        """
        numbers: dict[str, int] = {}
        words = np.zeros((len(lines), max(map(len, lines))), dtype=np.int64)
        for at, line in enumerate(lines):
            words[at, : len(line)] = [numbers.setdefault(token, len(numbers)) for token in line]
        feeds: Feeds = {
            "words": words,
            "lengths": np.array([len(line) for line in lines], dtype=np.int32),
        }
        different = list(numbers)
        for number, reader in enumerate(self.parts):
            feeds |= {
                f"{name}_{number}": array for name, array in reader.feeds(lines, different).items()
            }
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
        full = (
            not batches
            or len(batches[-1]) >= most
            or sizes[batches[-1][0]] * (len(batches[-1]) + 1) > characters
        )
        if full:
            batches.append([])
        batches[-1].append(number)
    return batches


@dataclass(frozen=True, slots=True)
class LineNetwork:
    """A network of this family, in whichever runtime.

    Args:
        score: Gives (inputs, tokens, tags) for a batch.
        longest: Tokens in one window; a longer input is read in windows, of which each gives its
            own part.
        overlap: Tokens that neighbours share.
        most: Windows in a batch.
        workers: Batches that are scored at once.
    """

    score: Callable[[Sequence[Line]], NDArray[Any]]
    longest: int
    overlap: int
    most: int = _INPUTS
    workers: int = 1

    def spread(self, *, alone: bool, workers: int) -> LineNetwork:
        """Return the same network, which scores each input by itself, or several batches at once.

        Args:
            alone: The runtime's arithmetic depends on what is in a batch.
            workers: Threads of one core each.
        """
        return replace(self, most=1 if alone else self.most, workers=workers)

    def emissions(self, inputs: Sequence[Input]) -> list[Emissions]:
        """Return (tokens, tags), float32, for each input in order."""
        lines = [[given.text[start:end] for start, end in given.tokens] for given in inputs]
        pieces = [
            (number, window)
            for number, line in enumerate(lines)
            for window in windows(len(line), size=self.longest, overlap=self.overlap)
        ]
        texts = [lines[number][window.start : window.end] for number, window in pieces]
        batches = buckets(texts, most=self.most, characters=_CHARACTERS)
        found: dict[int, NDArray[Any]] = {}
        for batch, rows in zip(
            batches, self._score([[texts[at] for at in batch] for batch in batches]), strict=True
        ):
            found |= dict(zip(batch, rows, strict=True))
        whole: list[list[NDArray[Any]]] = [[] for _ in lines]
        for at, (number, window) in enumerate(pieces):
            whole[number].append(
                found[at][window.own_start - window.start : window.own_end - window.start]
            )
        return [np.concatenate(parts).astype(np.float32) for parts in whole]

    def _score(self, batches: Sequence[Sequence[Line]]) -> list[NDArray[Any]]:
        if self.workers == 1 or len(batches) < 2:
            return [self.score(batch) for batch in batches]
        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(self.score, batches))


def load(folder: Path, settings: Mapping[str, Any], run: Run) -> LineNetwork:
    """Return the network of an exported folder.

    Raises:
        PluginError: ``tagger.json`` or a vocabulary lacks something, or an embedding cannot be read
            without PyTorch.
    """
    try:
        reader = StackReader(
            [
                part(each, vocabulary(folder, number))
                for number, each in enumerate(settings["embeddings"])
            ]
        )
        longest, overlap = int(settings["longest"]), int(settings["overlap"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PluginError(
            f"{folder}: tagger.json or a vocabulary is broken ({type(error).__name__}: {error});"
            " export the model again"
        ) from error
    return LineNetwork(lambda lines: run(reader.feeds(lines)), longest, overlap)


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
