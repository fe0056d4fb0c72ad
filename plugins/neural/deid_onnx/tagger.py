"""Notes in, spans out, around any network: tokens, inputs, emissions, legal tags, scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from deid_assets import Note, Span, SpanSet
from deid_assets.extending import OUTSIDE, PluginError, WordLabels, entities, inputs, tokenize
from deid_assets.extending.decoding import Scores, by_label, constraints, marginals, viterbi
from deid_onnx.families import Emissions, Input, Network
from deid_onnx.folder import TaggerFolder

CHAIN_FILE = "transitions.npz"
_DIGITS = 4  # of a score; further ones are noise of the arithmetic
_DECODED = 32  # notes whose tags are chosen together
_ROWS = 128  # inputs that are decoded in one array
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class TransitionScores:
    """Scores of tag pairs and of first and last tags, as ``viterbi`` takes them."""

    transitions: Scores
    start: Scores
    end: Scores

    def best(self, emissions: Sequence[Emissions]) -> list[NDArray[np.int64]]:
        """Return the best tags of each input."""
        return _by_length(
            emissions,
            partial(viterbi, transitions=self.transitions, start=self.start, end=self.end),
        )

    def shares(self, emissions: Sequence[Emissions]) -> list[Scores]:
        """Return the probability of each tag at each token of each input."""
        return _by_length(
            emissions,
            partial(marginals, transitions=self.transitions, start=self.start, end=self.end),
        )


def _by_length(
    emissions: Sequence[Emissions], decode: Callable[[Scores, list[int]], list[Found]]
) -> list[Found]:
    """Return what ``decode`` gives for each input.

    Arrays are decoded token by token, all their inputs at once: the time goes with the longest. So
    inputs of like length are decoded together.
    """
    order = sorted(range(len(emissions)), key=lambda number: len(emissions[number]))
    found: dict[int, Found] = {}
    for at in range(0, len(order), _ROWS):
        some = order[at : at + _ROWS]
        found.update(zip(some, decode(*_pad([emissions[number] for number in some])), strict=True))
    return [found[number] for number in range(len(emissions))]


def _pad(emissions: Sequence[Emissions]) -> tuple[Scores, list[int]]:
    lengths = [len(rows) for rows in emissions]
    padded = np.zeros((len(lengths), max(lengths), emissions[0].shape[1]), dtype=np.float32)
    for number, rows in enumerate(emissions):
        padded[number, : len(rows)] = rows
    return padded, lengths


def read_chain(folder: TaggerFolder) -> TransitionScores:
    """Return the CRF's scores where the folder has them.

    Else they are scores that only forbid what is no legal sequence.

    Raises:
        PluginError: The file is broken or was made for other tags.
    """
    path = folder.path / CHAIN_FILE
    if not path.exists():
        return TransitionScores(*constraints(folder.tags, folder.scheme))
    try:
        with np.load(path, allow_pickle=False) as arrays:
            chain = TransitionScores(
                *(arrays[name].astype(np.float32) for name in ("transitions", "start", "end"))
            )
    except (ValueError, KeyError, OSError, EOFError) as error:
        raise PluginError(
            f"{path} is broken ({type(error).__name__}); export the model again"
        ) from error
    count = len(folder.tags)
    if (chain.transitions.shape, chain.start.shape, chain.end.shape) != (
        (count, count),
        (count,),
        (count,),
    ):
        raise PluginError(
            f"{path} is not of the {count} tags of tagger.json; export the model again"
        )
    return chain


def write_chain(path: Path, chain: TransitionScores) -> None:
    """Write a CRF's scores where ``read_chain`` finds them."""
    np.savez(path / CHAIN_FILE, transitions=chain.transitions, start=chain.start, end=chain.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagger:
    """A network with all that stands around it.

    Args:
        folder: Tags, labels and grouping.
        network: Gives emissions.
        chain: Decodes them.
        source: Of the spans.
        together: Notes whose inputs the network gets at once. With 1, nothing of a note's result
            depends on others.
    """

    folder: TaggerFolder
    network: Network
    chain: TransitionScores
    source: str
    together: int = 1

    def detect(self, notes: Iterable[Note]) -> Iterator[SpanSet]:
        """Yield one set per note, in order.

        Tags are chosen for 32 notes at once, each input by itself.
        """
        waiting = iter(notes)
        while some := list(islice(waiting, max(_DECODED, self.together))):
            parts = [self.inputs(note) for note in some]
            flat = [part for note_parts in parts for part in note_parts]
            found = iter(self.spans(flat, self._emissions(parts)))
            for note, note_parts in zip(some, parts, strict=True):
                yield SpanSet.of(
                    note, [span for spans in islice(found, len(note_parts)) for span in spans]
                )

    def _emissions(self, parts: Sequence[Sequence[Input]]) -> list[Emissions]:
        """Return the scores of each input, note by note as the network may be given them."""
        found: list[Emissions] = []
        for at in range(0, len(parts), self.together):
            flat = [part for note_parts in parts[at : at + self.together] for part in note_parts]
            found += self.network.emissions(flat) if flat else []
        return found

    def inputs(self, note: Note) -> list[Input]:
        """Return what the network tags of a note; nothing where it is blank."""
        tokens = tokenize(note.text)
        return [
            Input(note.text, tokens[part.start : part.stop])
            for part in inputs(note.text, tokens, grouping=self.folder.grouping)
        ]

    def tags(self, note: Note) -> list[str]:
        """Return the tag of each token of a note."""
        parts = self.inputs(note)
        if not parts:
            return []
        return [
            self.folder.tags[tag]
            for path in self.chain.best(self.network.emissions(parts))
            for tag in path
        ]

    def word_labels(self, notes: Iterable[Note]) -> Iterator[WordLabels]:
        """Yield the probability of each label at each word of each note, in order."""
        for note in notes:
            parts = self.inputs(note)
            shares = self.chain.shares(self.network.emissions(parts)) if parts else []
            nothing = np.zeros((0, len(self.folder.tags)), dtype=np.float32)
            labels, found = by_label(np.concatenate([nothing, *shares]), self.folder.tags)
            yield WordLabels([token for part in parts for token in part.tokens], labels, found)

    def spans(self, parts: Sequence[Input], emissions: Sequence[Emissions]) -> list[list[Span]]:
        """Return the spans of each input.

        A span's score is the least marginal probability of its tokens' tags.
        """
        paths = self.chain.best(emissions)
        outside = self.folder.tags.index(OUTSIDE)
        marked = [number for number, path in enumerate(paths) if (path != outside).any()]
        found: list[list[Span]] = [[] for _ in parts]
        for number, shares in zip(
            marked, self.chain.shares([emissions[at] for at in marked]), strict=True
        ):
            found[number] = list(self._spans(parts[number], paths[number], shares))
        return found

    def _spans(self, part: Input, path: NDArray[np.int64], shares: Scores) -> Iterator[Span]:
        sure = shares[np.arange(len(path)), path]
        for first, last, label in entities([self.folder.tags[tag] for tag in path], part.tokens):
            category = self.folder.labels[label]
            yield Span(
                part.tokens[first][0],
                part.tokens[last][1],
                category,
                min(1.0, round(float(sure[first : last + 1].min()), _DIGITS)),
                self.source,
                label if label != category.value else "",
            )
