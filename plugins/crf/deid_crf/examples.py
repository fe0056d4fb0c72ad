"""Training notes as CRFsuite reads them: for each token the numbers of its attributes, and its tag."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deid_assets.core.tagging import OUTSIDE, limited, sentences
from deid_crf.channels import Channel, Keys, keys_of
from deid_crf.statistics import Tally, keys, tally, total
from deid_crf.view import View

Item = list[bytes]
"""Numbers of the attributes of a token, in decimal digits."""


@dataclass(frozen=True, slots=True)
class Example:
    """One training note.

    Args:
        view: The note.
        tags: One per token.
        keys: Of each channel, one per token.
    """

    view: View
    tags: Sequence[str]
    keys: Sequence[Keys] = field(default=(), repr=False)


def examples(views: Sequence[View], tags: Sequence[Sequence[str]], *, min_notes: int) -> tuple[list[Example], Tally]:
    """Return the notes with the keys of their tokens, and the tally of their words.

    Args:
        views: The notes.
        tags: Of each note's tokens.
        min_notes: Words of fewer notes are not seen.
    """
    own = [tally(view.lows, [tag[2:] or OUTSIDE for tag in of_note]) for view, of_note in zip(views, tags, strict=True)]
    counted = total(own)
    found = []
    for view, of_note, mine in zip(views, tags, own, strict=True):
        statistics = keys(view.lows, counted, mine, min_notes=min_notes)
        found.append(Example(view, of_note, keys_of(view, statistics)))
    return found, counted


class Attributes:
    """The attributes that are in enough notes, numbered.

    Args:
        notes: Training notes.
        channels: What is looked at.
        min_notes: Attributes of fewer notes are left out: they hold what is one patient's own, and generalise little.
    """

    def __init__(self, notes: Sequence[Example], channels: Sequence[Channel], *, min_notes: int) -> None:
        self._channels = channels
        named: list[dict[Hashable, list[list[str]]]] = [{} for _ in channels]
        counted: Counter[str] = Counter()
        for note in notes:
            seen: set[str] = set()
            for channel, of_channel, known in zip(channels, note.keys, named, strict=True):
                for key in {*of_channel, channel.edge}:
                    if key not in known:
                        known[key] = [channel.named(key, offset) for offset in channel.offsets]
                    seen.update(*known[key])
            counted.update(seen)
        kept = sorted(name for name, notes_ in counted.items() if notes_ >= min_notes)
        self.numbers: Mapping[str, int] = {name: number for number, name in enumerate(kept)}
        digits = {name: b"%d" % number for name, number in self.numbers.items()}
        self._items = [
            {key: [[digits[name] for name in names if name in digits] for names in at] for key, at in known.items()}
            for known in named
        ]

    def items(self, note: Example) -> list[Item]:
        """Return a training note's tokens."""
        count = len(note.view.tokens)
        found: list[Item] = [[] for _ in range(count)]
        for channel, of_channel, known in zip(self._channels, note.keys, self._items, strict=True):
            reach = max(map(abs, channel.offsets))
            gap = [known[channel.edge]] * reach
            around = [*gap, *(known[key] for key in of_channel), *gap]
            for number, offset in enumerate(channel.offsets):
                for item, at in zip(found, around[reach + offset :], strict=False):
                    item.extend(at[number])
        return found


def sequences(note: Example, *, grouping: int, longest: int, keep_empty: float, draw: random.Random) -> Iterator[range]:
    """Yield the sequences of a training note, as ranges of tokens.

    A sentence without a span and without an opinion is left out with the chance ``1 - keep_empty``; what is before
    it and what is after it are then sequences of their own.

    Args:
        note: The note.
        grouping: Consecutive sentences in one sequence.
        longest: Tokens in one sequence.
        keep_empty: From 0 to 1.
        draw: Source of chance.
    """
    parts = sentences(note.view.text, note.view.tokens)
    opinion = note.view.opinion or [OUTSIDE] * len(note.tags)
    for group in range(0, len(parts), grouping):
        first = stop = -1
        for part in parts[group : group + grouping]:
            rows = slice(part.start, part.stop)
            empty = {OUTSIDE}.issuperset(note.tags[rows]) and {OUTSIDE}.issuperset(opinion[rows])
            if empty and draw.random() >= keep_empty:
                if first < stop:
                    yield range(first, stop)
                first = stop = -1
                continue
            first, stop = (part.start if stop < 0 else first), part.stop
        if first < stop:
            yield from limited([range(first, stop)], longest)
