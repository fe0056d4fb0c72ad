"""Training examples: for each token its keys and its tag."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from deid_assets.extending import OUTSIDE, Grouping, inputs, limit_lengths
from deid_crf.keys import Keys, keys_of
from deid_crf.statistics import Tally, keys, tally, total
from deid_crf.view import NoteView
from deid_crf.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class NoteExample:
    """One training note.

    Args:
        view: The note.
        tags: One per token.
        owner: Whose note it is.
    """

    view: NoteView
    tags: Sequence[str]
    owner: str = field(default="", repr=False)


def examples(
    views: Sequence[NoteView],
    tags: Sequence[Sequence[str]],
    owners: Sequence[str],
    *,
    min_patients: int,
) -> tuple[list[NoteExample], list[Keys], Tally]:
    """Return the notes, each channel's keys of all their tokens, and the tally of their words.

    Args:
        views: The notes.
        tags: Of each note's tokens.
        owners: Whose note each is.
        min_patients: Words of fewer patients are not seen.
    """
    words: dict[str, list[str]] = defaultdict(list)
    labels: dict[str, list[str]] = defaultdict(list)
    for view, of_note, owner in zip(views, tags, owners, strict=True):
        words[owner] += view.lows
        labels[owner] += [tag[2:] or OUTSIDE for tag in of_note]
    own = {owner: tally(words[owner], labels[owner]) for owner in words}
    counted = total(own.values())
    known = [
        one
        for view, owner in zip(views, owners, strict=True)
        for one in keys(view.lows, counted, own[owner], min_patients=min_patients)
    ]
    notes = [
        NoteExample(view, of_note, owner)
        for view, of_note, owner in zip(views, tags, owners, strict=True)
    ]
    return notes, [*keys_of(views, Vocabulary(), Keys(known, np.arange(len(known))))], counted


def sequences(
    note: NoteExample, *, grouping: Grouping, longest: int, keep_empty: float, draw: random.Random
) -> Iterator[range]:
    """Yield the sequences of a training note, as ranges of tokens.

    A sentence without a span and without a prediction is left out with the chance ``1 -
    keep_empty``; what is before it and what is after it are then sequences of their own.

    Args:
        note: The note.
        grouping: Consecutive sentences in one sequence, or a chunk of ``N words``, which is left
            out or not as a whole.
        longest: Tokens in one sequence.
        keep_empty: From 0 to 1.
        draw: Source of chance.
    """
    in_chunks = isinstance(grouping, str)
    # Chunks are what is joined already; a sentence may be left out of what is joined.
    parts = inputs(note.view.text, note.view.tokens, grouping=grouping if in_chunks else 1)
    joined = 1 if in_chunks else int(grouping)
    told = {number for first, stop, _ in note.view.predictions for number in range(first, stop)}
    for group in range(0, len(parts), joined):
        first = stop = -1
        for part in parts[group : group + joined]:
            empty = {OUTSIDE}.issuperset(note.tags[part.start : part.stop]) and told.isdisjoint(
                part
            )
            if empty and draw.random() >= keep_empty:
                if first < stop:
                    yield range(first, stop)
                first = stop = -1
                continue
            first, stop = (part.start if stop < 0 else first), part.stop
        if first < stop:
            yield from limit_lengths([range(first, stop)], longest)
