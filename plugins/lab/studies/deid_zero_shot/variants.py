"""The masked variants of a window: which sub-tokens are masked, and which one is predicted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.int64]
GAP = 2
"""Sub-tokens between two words that one variant hides, at least."""


class VariantQuery(NamedTuple):
    """The query of a variant.

    Args:
        word: Number of the word.
        place: Of the sub-token within the window.
        target: The true sub-token.
    """

    word: int
    place: int
    target: int


@dataclass(slots=True)
class Variants:
    """The different variants of one window, each with its queries.

    Args:
        ids: Sub-tokens of the window.
    """

    ids: Array
    masked: list[Array] = field(default_factory=list)
    questions: list[list[VariantQuery]] = field(default_factory=list)
    _known: dict[bytes, int] = field(default_factory=dict)

    def ask(self, masked: Array, question: VariantQuery) -> None:
        """Add a question; where the same places are masked for another one, both share a variant.

        Args:
            masked: Places within the window, sorted.
            question: Its place is among them.
        """
        key = masked.tobytes()
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self.masked)
            self.masked.append(masked)
            self.questions.append([])
        self.questions[number].append(question)

    @property
    def asked(self) -> int:
        """Number of queries over all variants."""
        return sum(map(len, self.questions))


def reveal(variants: Variants, number: int, pieces: range, related: Array) -> None:
    """Ask for the sub-tokens of a word from left to right.

    All of them are masked at first; each is shown once it was asked for, while the same word
    elsewhere stays masked (Myntti 2025, section 1.6).

    Args:
        variants: Of the window.
        number: Of the word.
        pieces: Its places within the window.
        related: Places within the window of the same word elsewhere; its own may be among them.
            Sorted.
    """
    own = np.arange(pieces.start, pieces.stop)
    elsewhere = related[(related < pieces.start) | (related >= pieces.stop)]
    for shown, place in enumerate(own):
        masked = np.sort(np.concatenate([elsewhere, own[shown:]]))
        variants.ask(masked, VariantQuery(number, int(place), int(variants.ids[place])))


class Hidden(NamedTuple):
    """A word as one variant hides it, or several of one sub-token that hide the same places.

    Args:
        words: Number of each.
        pieces: Places of each, of one length.
        elsewhere: Places that are hidden with them.
    """

    words: list[int]
    pieces: list[range]
    elsewhere: Array

    def places(self, shown: int) -> Array:
        """Return what is hidden after some sub-tokens have been shown; nothing once all have."""
        own = self.pieces[0][shown:]
        return (
            np.concatenate([self.elsewhere, np.asarray(own, np.int64)])
            if own
            else np.zeros(0, np.int64)
        )


def hide_many(variants: Variants, words: Iterable[tuple[int, range, Array]], *, most: int) -> None:
    """Ask for words from left to right as ``reveal`` does, many that stand apart in each variant.

    Words of as many sub-tokens come together, so that few variants are needed. Words that would
    hide a place of each other, or stand within ``GAP`` sub-tokens, never do.

    Args:
        variants: Of the window.
        words: Number, places within the window, and those of the same word elsewhere, of each.
        most: Places that one variant may hide; a word that alone hides more has one to itself.
    """
    runs: list[tuple[list[Hidden], int, int]] = []
    for item in sorted(_merge(words), key=lambda item: -len(item.pieces[0])):
        places = item.places(0)
        bits = sum(1 << (int(place) + GAP) for place in set(places.tolist()))
        around = 0
        for shift in range(GAP + 1):
            around |= bits << shift | bits >> shift
        for at, (members, taken, count) in enumerate(runs):
            if not taken & bits and count + len(places) <= most:
                members.append(item)
                runs[at] = (members, taken | around, count + len(places))
                break
        else:
            runs.append(([item], around, len(places)))
    for members, _, _ in runs:
        for shown in range(len(members[0].pieces[0])):
            masked = np.unique(np.concatenate([item.places(shown) for item in members]))
            for item in members:
                for number, pieces in zip(item.words, item.pieces, strict=True):
                    if place := pieces[shown : shown + 1]:
                        variants.ask(
                            masked,
                            VariantQuery(number, place.start, int(variants.ids[place.start])),
                        )


def _merge(words: Iterable[tuple[int, range, Array]]) -> list[Hidden]:
    """Return the words, with those of one sub-token that are hidden together as one."""
    found: list[Hidden] = []
    alike: dict[bytes, Hidden] = {}
    for number, pieces, related in words:
        elsewhere = related[(related < pieces.start) | (related >= pieces.stop)]
        item = Hidden([number], [pieces], elsewhere)
        if len(pieces) > 1:
            found.append(item)
            continue
        known = alike.setdefault(np.sort(item.places(0)).tobytes(), item)
        if known is item:
            found.append(item)
        else:
            known.words.append(number)
            known.pieces.append(pieces)
    return found
