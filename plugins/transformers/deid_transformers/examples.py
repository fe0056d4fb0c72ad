"""Training examples: sequences of sub-tokens with the tags of the words they own, in batches of like length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from deid_assets.core.errors import ConfigError
from deid_assets.core.tagging import OUTSIDE
from deid_assets.core.trainer import Document, Task
from deid_onnx.pieces import Pieces, Row, padded, rows

_CHUNK = 16  # batches that are sorted by length together


@dataclass(frozen=True, slots=True)
class Example:
    """One sequence.

    Args:
        row: Its sub-tokens.
        tags: Numbers of the tags of the words that it owns.
    """

    row: Row
    tags: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batch:
    """Examples as tensors: (examples, positions), and (examples, words) for the first sub-tokens and tags.

    Args:
        ids: Sub-tokens.
        attention: 1 where there is one.
        firsts: Positions of the words' first sub-tokens; 0 past an example's last word.
        tags: Numbers; 0 past an example's last word.
        words: True where there is one.
    """

    ids: torch.Tensor
    attention: torch.Tensor
    firsts: torch.Tensor
    tags: torch.Tensor
    words: torch.Tensor


def read_examples(documents: Iterable[Document], task: Task, *, tags: Sequence[str], pieces: Pieces) -> list[Example]:
    """Return the examples of documents; each word is owned by exactly one."""
    numbers = {tag: number for number, tag in enumerate(tags)}
    found = []
    for document in documents:
        for sequence in task.sequences(document):
            known = np.array([numbers[tag] for tag in sequence.tags], dtype=np.int64)
            words = pieces.of(sequence.note.text, sequence.tokens)
            found += [
                Example(row, known[row.word : row.word + len(row.firsts)])
                for row in rows(words, pieces.settings, source=0)
            ]
    return found


def read_batches(examples: Sequence[Example], *, size: int, pad: int, rng: np.random.Generator) -> Iterator[Batch]:
    """Yield the examples once, in a random order of batches of like length."""
    order = rng.permutation(len(examples))
    chunk = size * _CHUNK
    groups: list[NDArray[np.int64]] = []
    for at in range(0, len(order), chunk):
        part = sorted(order[at : at + chunk], key=lambda number: len(examples[number].row.ids))
        groups += [np.array(part[start : start + size]) for start in range(0, len(part), size)]
    for group in rng.permutation(len(groups)):
        yield _batch([examples[number] for number in groups[group]], pad)


def _batch(examples: Sequence[Example], pad: int) -> Batch:
    arrays = padded([example.row.ids for example in examples], pad=pad)
    shape = (len(examples), max(len(example.tags) for example in examples))
    firsts, tags, words = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for number, example in enumerate(examples):
        count = len(example.tags)
        firsts[number, :count], tags[number, :count], words[number, :count] = example.row.firsts, example.tags, 1
    given = (arrays["input_ids"], arrays["attention_mask"], firsts, tags, words.astype(bool))
    return Batch(*(torch.from_numpy(array) for array in given))


def tag_weights(
    examples: Sequence[Example], tags: Sequence[str], wanted: str | Mapping[str, float]
) -> torch.Tensor | None:
    """Return the loss weight of each tag, or ``None`` where all are 1.

    Args:
        examples: Of the first phase.
        tags: In the order of the scores.
        wanted: As the setting ``class_weights``.

    Raises:
        ConfigError: A label is weighted that there is not.
    """
    if wanted == "none":
        return None
    labels = [tag.partition("-")[2] or OUTSIDE for tag in tags]
    if isinstance(wanted, str):
        counts = Counter(labels[tag] for example in examples for tag in example.tags.tolist())
        mean = sum(counts.values()) / max(1, len(counts))
        return torch.tensor([(mean / max(1, counts[label])) ** 0.5 for label in labels], dtype=torch.float32)
    if unknown := sorted(set(wanted) - set(labels)):
        raise ConfigError(f"class_weights names {unknown[0]!r}; the labels are {', '.join(dict.fromkeys(labels))}")
    return torch.tensor([wanted.get(label, 1.0) for label in labels], dtype=torch.float32)
