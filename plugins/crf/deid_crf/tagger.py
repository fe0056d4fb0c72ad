"""A model at work: notes in, the probabilities of their tags out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import Grouping, Note, inputs
from deid_crf.channels import channels
from deid_crf.keys import keys_of
from deid_crf.lattice import (
    ROWS_AT_ONCE,
    Numbers,
    Posterior,
    Room,
    SequenceBatch,
    TransitionWeights,
    parts_of,
    posterior,
)
from deid_crf.model import Model
from deid_crf.search import best
from deid_crf.sources import Sources
from deid_crf.statistics import WordStatistics
from deid_crf.view import NoteView
from deid_crf.vocabulary import MAX_WORDS, Vocabulary
from deid_crf.weights import KeyTable

LONGEST = 20_000
"""Tokens in one sequence; a longer one is cut, in training as in use."""
BATCH_ROWS = 32_768
"""Tokens whose probabilities are held at once; a sequence is never cut for it."""


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """A sequence of a note.

    Args:
        note: Number of the note among those given.
        first: Number of the sequence's first token in the note.
        rows: Where its tokens are.
    """

    note: int
    first: int
    rows: range


@dataclass(frozen=True, slots=True)
class Solved:
    """Sequences and their probabilities.

    Args:
        parts: The sequences, with rows of what follows.
        posterior: Of each row.
        best: Gives the best legal tag of each row.
    """

    parts: Sequence[TokenSequence]
    posterior: Posterior = field(repr=False)
    best: Callable[[], Numbers] = field(repr=False)


class CrfTagger:
    """A model with its tables and sources.

    Args:
        model: As read.
        room: Memory to work in, which taggers may share that are asked one after another; of its
            own when not given.

    Raises:
        PluginError: The detector that was asked in training is not installed.
        InputError: A list is broken.
    """

    def __init__(self, model: Model, room: Room | None = None) -> None:
        self.model, self.room = model, room or Room()
        self._sources = Sources(model.predictions_of, model.lists)
        self._statistics = WordStatistics(model.statistics)
        self._vocabulary = Vocabulary()
        self._tables = [KeyTable(channel, model.weights) for channel in channels(model.window)]
        self._chain = TransitionWeights.of(model.tags, model.scheme, model.weights.transitions)

    def views(self, notes: Sequence[Note]) -> list[NoteView]:
        """Return the notes as the model reads them."""
        return self._sources.views(notes)

    def solve(self, views: Sequence[NoteView]) -> Iterator[Solved]:
        """Yield every sequence of the notes once, in order, many at a time.

        What was yielded is void when the next is asked for.
        """
        pad = reach(self.model.window)
        numbers = self._numbers(views, pad)
        parts: list[TokenSequence] = []
        first = pad
        for note, view in enumerate(views):
            parts += [
                TokenSequence(note, part.start, range(first + part.start, first + part.stop))
                for part in _sequences(view, self.model.grouping)
            ]
            first += len(view.words) + pad
        for some in _batches(parts):
            yield self._solve(some, numbers)

    def _numbers(self, views: Sequence[NoteView], pad: int) -> list[NDArray[np.int32]]:
        """Return for each channel the row numbers of all tokens, with edges before, between and
        after the notes.
        """
        if len(self._vocabulary.words) > MAX_WORDS:
            self._vocabulary = Vocabulary()
        sizes = [len(view.words) for view in views]
        rows = rows_of(sizes, pad)
        found = []
        for table, keys in zip(
            self._tables, keys_of(views, self._vocabulary, self._statistics), strict=True
        ):
            table.make_room()
            numbers = np.full(len(rows) + pad * (len(sizes) + 1), table.edge, dtype=np.int32)
            numbers[rows] = table.numbers(keys)
            found.append(numbers)
        return found

    def _solve(
        self, parts: Sequence[TokenSequence], numbers: Sequence[NDArray[np.int32]]
    ) -> Solved:
        first, stop = parts[0].rows.start, parts[-1].rows.stop
        emissions = self.room.zeros("emissions", (stop - first, len(self.model.tags)))
        taken = np.empty((min(ROWS_AT_ONCE, len(emissions)), emissions.shape[1]), dtype=np.float32)
        for part in parts_of(len(emissions)):
            here = emissions[part]
            for table, of_channel in zip(self._tables, numbers, strict=True):
                table.add_to(here, of_channel, first + part.start, taken[: len(here)])
        moved = [
            TokenSequence(
                part.note, part.first, range(part.rows.start - first, part.rows.stop - first)
            )
            for part in parts
        ]
        batch = SequenceBatch.of([part.rows for part in moved])
        found = posterior(emissions, batch, self._chain, self.room)
        return Solved(moved, found, lambda: best(emissions, batch, self._chain, found))


def _sequences(view: NoteView, grouping: Grouping) -> list[range]:
    """Return a note's sequences, without a list of its tokens where one sequence holds all.

    No sentence is empty.
    """
    if not isinstance(grouping, str) and 0 < len(view.words) <= min(grouping, LONGEST):
        return [range(len(view.words))]
    return inputs(view.text, view.tokens, grouping=grouping, longest=LONGEST)


def reach(window: int) -> int:
    """Return how far the channels look to either side."""
    return max(max(map(abs, channel.offsets)) for channel in channels(window))


def rows_of(sizes: Sequence[int] | NDArray[np.int64], pad: int) -> NDArray[np.int64]:
    """Return the rows of the tokens of notes of these sizes, with so many rows before, between and
    after the notes.
    """
    notes = np.repeat(np.arange(len(sizes)), sizes)
    return np.arange(len(notes)) + pad * (notes + 1)


def _batches(parts: Sequence[TokenSequence]) -> Iterator[Sequence[TokenSequence]]:
    """Runs of sequences of at most ``BATCH_ROWS`` rows or one sequence, about as many rows
    in each.
    """
    rows = parts[-1].rows.stop - parts[0].rows.start if parts else 0
    wanted = rows / max(1, -(-rows // BATCH_ROWS))
    first = 0
    for number, part in enumerate(parts):
        begins = parts[first].rows.start
        if number > first and (
            part.rows.start - begins >= wanted or part.rows.stop - begins > BATCH_ROWS
        ):
            yield parts[first:number]
            first = number
    if first < len(parts):
        yield parts[first:]
