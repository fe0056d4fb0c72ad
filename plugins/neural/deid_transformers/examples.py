"""Training examples.

Sequences of sub-tokens with the tags of the words they own, in batches of like length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from deid_assets.extending import OUTSIDE, ConfigError, Document, Task
from deid_onnx.pieces import Pieces, SubTokenRow, pad_rows

_CHUNK = 16  # batches that are sorted by length together


@dataclass(frozen=True, slots=True)
class SequenceExample:
    """One sequence.

    Args:
        row: Its sub-tokens.
        tags: Numbers of the tags of the words that it owns.
    """

    row: SubTokenRow
    tags: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SequenceTensors:
    """Examples as tensors.

    (examples, positions), and (examples, words) for the first sub-tokens and tags.

    Args:
        ids: Sub-tokens.
        attention: 1 where there is one.
        kinds: What their words look like; none where the encoder does not read it.
        firsts: Positions of the words' first sub-tokens; 0 past an example's last word.
        tags: Numbers; 0 past an example's last word.
        words: True where there is one.
    """

    ids: torch.Tensor
    attention: torch.Tensor
    kinds: torch.Tensor | None
    firsts: torch.Tensor
    tags: torch.Tensor
    words: torch.Tensor

    def to(self, device: torch.device) -> SequenceTensors:
        """Return the batch on a device."""
        kinds = None if self.kinds is None else self.kinds.to(device)
        ids, attention, firsts, tags, words = (
            part.to(device)
            for part in (self.ids, self.attention, self.firsts, self.tags, self.words)
        )
        return SequenceTensors(ids, attention, kinds, firsts, tags, words)


def read_examples(
    documents: Iterable[Document], task: Task, *, tags: Sequence[str], pieces: Pieces
) -> list[SequenceExample]:
    """Return the examples of documents; each word is owned by exactly one."""
    numbers = {tag: number for number, tag in enumerate(tags)}
    found = []
    for document in documents:
        for sequence in task.sequences(document):
            known = np.array([numbers[tag] for tag in sequence.tags], dtype=np.int64)
            found += [
                SequenceExample(row, known[row.word : row.word + len(row.firsts)])
                for row in pieces.rows(sequence.note.text, sequence.tokens, source=0)
            ]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochOptions:
    """Options for reading examples in an epoch.

    Args:
        size: Of a batch.
        pad: Number of the sub-token that fills shorter sequences.
        mask: Of the one that stands for a hidden word's.
        hide: Share of the words that are hidden.
        keep_empty: Share of the examples without a span that are read.
    """

    size: int
    pad: int
    mask: int = 0
    hide: float = 0.0
    keep_empty: float = 1.0

    def count(self, examples: Sequence[SequenceExample]) -> int:
        """Return how many of the examples are read."""
        empty = sum(not example.tags.any() for example in examples)
        return (
            len(examples) - empty + max(round(self.keep_empty * empty), int(empty == len(examples)))
        )


def read_batches(
    examples: Sequence[SequenceExample], reading: EpochOptions, *, rng: np.random.Generator
) -> Iterator[SequenceTensors]:
    """Yield the examples once, in a random order of batches of like length."""
    order = rng.permutation(len(examples))
    if reading.keep_empty < 1:
        is_full = np.array([example.tags.any() for example in examples])
        order = np.concatenate([order[is_full[order]], order[~is_full[order]]])[
            : reading.count(examples)
        ]
        order = rng.permutation(order)
    size = reading.size
    chunk = size * _CHUNK
    groups: list[NDArray[np.int64]] = []
    for at in range(0, len(order), chunk):
        part = sorted(order[at : at + chunk], key=lambda number: len(examples[number].row.ids))
        groups += [np.array(part[start : start + size]) for start in range(0, len(part), size)]
    for group in rng.permutation(len(groups)):
        yield _batch([examples[number] for number in groups[group]], reading, rng)


def _batch(
    examples: Sequence[SequenceExample], reading: EpochOptions, rng: np.random.Generator
) -> SequenceTensors:
    arrays = pad_rows([example.row for example in examples], pad=reading.pad)
    if reading.hide:
        _hide(arrays["input_ids"], examples, reading, rng)
    shape = (len(examples), max(len(example.tags) for example in examples))
    firsts, tags, words = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for number, example in enumerate(examples):
        count = len(example.tags)
        firsts[number, :count], tags[number, :count], words[number, :count] = (
            example.row.firsts,
            example.tags,
            1,
        )
    return SequenceTensors(
        ids=torch.from_numpy(arrays["input_ids"]),
        attention=torch.from_numpy(arrays["attention_mask"]),
        kinds=torch.from_numpy(arrays["token_type_ids"]) if "token_type_ids" in arrays else None,
        firsts=torch.from_numpy(firsts),
        tags=torch.from_numpy(tags),
        words=torch.from_numpy(words.astype(bool)),
    )


def _hide(
    ids: NDArray[np.int64],
    examples: Sequence[SequenceExample],
    reading: EpochOptions,
    rng: np.random.Generator,
) -> None:
    """Put the mask over the sub-tokens of some of the words that the examples own."""
    for number, example in enumerate(examples):
        stops = np.append(example.row.firsts[1:], len(example.row.ids) - 1)
        chosen = rng.random(len(stops)) < reading.hide
        for first, stop in zip(example.row.firsts[chosen], stops[chosen], strict=True):
            ids[number, first:stop] = reading.mask


def tag_weights(
    examples: Sequence[SequenceExample], tags: Sequence[str], wanted: str | Mapping[str, float]
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
        return torch.tensor(
            [(mean / max(1, counts[label])) ** 0.5 for label in labels], dtype=torch.float32
        )
    if unknown := sorted(set(wanted) - set(labels)):
        raise ConfigError(
            f"class_weights names {unknown[0]!r}; the labels are {', '.join(dict.fromkeys(labels))}"
        )
    return torch.tensor([wanted.get(label, 1.0) for label in labels], dtype=torch.float32)
