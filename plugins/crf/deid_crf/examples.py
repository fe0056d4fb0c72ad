"""Training notes as CRFsuite reads them: for each token the numbers of its attributes, and its tag."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
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
        owner: Whose note it is.
    """

    view: View
    tags: Sequence[str]
    keys: Sequence[Keys] = field(default=(), repr=False)
    owner: str = field(default="", repr=False)


def examples(
    views: Sequence[View], tags: Sequence[Sequence[str]], owners: Sequence[str], *, min_patients: int
) -> tuple[list[Example], Tally]:
    """Return the notes with the keys of their tokens, and the tally of their words.

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
    found = []
    for view, of_note, owner in zip(views, tags, owners, strict=True):
        statistics = keys(view.lows, counted, own[owner], min_patients=min_patients)
        found.append(Example(view, of_note, keys_of(view, statistics), owner))
    return found, counted


class Attributes:
    """The attributes that enough patients have, numbered.

    Args:
        notes: Training notes.
        channels: What is looked at.
        min_patients: Attributes of fewer are left out: they hold what is one patient's own, and generalise little.
    """

    def __init__(self, notes: Sequence[Example], channels: Sequence[Channel], *, min_patients: int) -> None:
        self._channels = channels
        named: list[dict[Hashable, list[list[str]]]] = [{} for _ in channels]
        counted: Counter[str] = Counter()
        by_owner: dict[str, list[Example]] = defaultdict(list)
        for note in notes:
            by_owner[note.owner].append(note)
        for of_owner in by_owner.values():
            counted.update(_said(of_owner, channels, named))
        kept = sorted(name for name, patients in counted.items() if patients >= min_patients)
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


def _said(
    notes: Sequence[Example], channels: Sequence[Channel], named: Sequence[dict[Hashable, list[list[str]]]]
) -> set[str]:
    """Return all attributes of a patient's notes; what is new of their keys is put into ``named``, by channel."""
    said: set[str] = set()
    for note in notes:
        for channel, of_channel, known in zip(channels, note.keys, named, strict=True):
            for key in {*of_channel, channel.edge}:
                if key not in known:
                    known[key] = [channel.named(key, offset) for offset in channel.offsets]
                said.update(*known[key])
    return said


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
