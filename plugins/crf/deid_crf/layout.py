"""The layout of many notes at once: the line, the field and the chunk of each token, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import tokenize
from deid_crf.view import NoteView
from deid_crf.vocabulary import Numbers, Vocabulary
from deid_crf.words import REMEMBERED, short_shape

COLON = 1
"""Number of the colon among words and normal forms."""
FIELD_STEPS = (1, 2, 3, 4, 5, 8, 13, 21)
FAR = len(FIELD_STEPS)
MAX_CHUNK = 24


@dataclass(frozen=True, slots=True)
class LineLayout:
    """The lines that hold tokens.

    Args:
        first: First token of each.
        size: Tokens of each.
        top: How many lines of the note are before each.
        bottom: How many are after it.
        of: Line of each token.
    """

    first: Numbers
    size: Numbers
    top: Numbers
    bottom: Numbers
    of: Numbers


@dataclass(frozen=True, slots=True)
class Fields:
    """The field of each token: what is before the last colon of its line.

    Args:
        last: The last word, as the number of a normal form; 0 where there is none.
        both: The word before it; 0 where there is none.
        step: How many tokens ago the colon was, in steps; ``FAR`` where there is none.
        before: The last word of the first field of the line before each line.
    """

    last: Numbers
    both: Numbers
    step: Numbers
    before: Numbers


@dataclass(frozen=True, slots=True)
class TokenLayout:
    """All tokens of many notes, one after another.

    Args:
        words: Numbers of the words.
        lows: Numbers of their normal forms.
        note: Number of the note of each.
        starts: Where each begins in ``text``.
        ends: Where each ends.
        text: The notes, with a line break between them.
        is_first: Whether a note begins with the token.
        is_last: Whether a note ends with it.
    """

    words: Numbers
    lows: Numbers
    note: Numbers
    starts: Numbers
    ends: Numbers
    text: str = field(repr=False)
    is_first: NDArray[np.bool_]
    is_last: NDArray[np.bool_]

    @classmethod
    def of(cls, views: Sequence[NoteView], vocabulary: Vocabulary) -> TokenLayout:
        """Return the tokens of notes."""
        words = vocabulary.numbers([*chain.from_iterable(view.words for view in views)])
        sizes = np.array([len(view.words) for view in views], dtype=np.int64)
        note = np.repeat(np.arange(len(views)), sizes)
        borders = np.concatenate(
            [np.zeros((0, 2), dtype=np.int64), *(view.borders for view in views)]
        )
        lengths = np.array([len(view.text) + 1 for view in views], dtype=np.int64)
        borders += (np.cumsum(lengths) - lengths)[note][:, None]
        is_new = np.diff(note, prepend=-1, append=len(views)) != 0
        text = "\n".join([view.text for view in views])
        return cls(
            words,
            vocabulary.low(words),
            note,
            borders[:, 0],
            borders[:, 1],
            text,
            is_new[:-1],
            is_new[1:],
        )

    def before(self, numbers: Numbers) -> Numbers:
        """Return of each token what the one before it in the note has, 0 for a first one."""
        return np.where(self.is_first, 0, np.roll(numbers, 1))

    def after(self, numbers: Numbers) -> Numbers:
        """Return of each token what the one after it in the note has, 0 for a last one."""
        return np.where(self.is_last, 0, np.roll(numbers, -1))


def lines(tokens: TokenLayout) -> LineLayout:
    """Return the lines of the notes."""
    chars = np.frombuffer(tokens.text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    number = np.searchsorted(np.flatnonzero(chars == ord("\n")), tokens.starts)
    is_new = np.diff(number, prepend=-1) != 0
    first = np.flatnonzero(is_new)
    note = tokens.note[first]
    at = np.arange(len(first))
    first_of_note = np.searchsorted(note, note)
    stop_of_note = np.searchsorted(note, note, side="right")
    return LineLayout(
        first,
        np.diff(first, append=len(number)),
        at - first_of_note,
        stop_of_note - 1 - at,
        np.cumsum(is_new) - 1,
    )


def fields(tokens: TokenLayout, where: LineLayout, vocabulary: Vocabulary) -> Fields:
    """Return the field of each token."""
    at = np.arange(len(tokens.lows))
    is_colon = tokens.lows == COLON
    colons = np.flatnonzero(is_colon)
    begins = where.first[where.of[colons]]
    label = vocabulary.label(tokens.words)
    near, far = (np.where(colons - ago >= begins, label[colons - ago], 0) for ago in (1, 2))
    last, both = np.where(near, near, far), np.where(near, far, 0)
    passed = np.cumsum(is_colon) - is_colon
    """Colons before each token."""
    latest = np.concatenate([[-1], colons])[passed]
    inside = latest >= where.first[where.of] if len(at) else np.zeros(0, bool)
    step = np.where(inside, np.searchsorted(FIELD_STEPS, at - latest - 1, side="right"), FAR)
    last_of, both_of = (
        np.where(inside, np.concatenate([[0], each])[passed], 0) for each in (last, both)
    )
    with_colon, first = np.unique(where.of[colons], return_index=True)
    of_line = np.zeros(len(where.first) + 1, dtype=np.int64)
    ends_line = colons[first] == where.first[with_colon] + where.size[with_colon] - 1
    of_line[with_colon + 1] = np.where(ends_line, 0, last[first])
    return Fields(last_of, both_of, step, np.where(where.top, of_line[:-1], 0))


def chunks(tokens: TokenLayout) -> tuple[list[str], Numbers, Numbers]:
    """Return the shapes of what stands between blanks, and for each token the number of its shape
    and its place there.

    A chunk of one token has no shape, number 0.
    """
    is_new = np.ones(len(tokens.starts), dtype=bool)
    is_new[1:] = tokens.starts[1:] != tokens.ends[:-1]
    first = np.flatnonzero(is_new)
    size = np.diff(first, append=len(is_new))
    many = np.flatnonzero(size > 1)
    stops = tokens.ends[first[many] + np.minimum(size[many], MAX_CHUNK) - 1]
    borders = zip(tokens.starts[first[many]].tolist(), stops.tolist(), strict=True)
    names = [_shape(tokens.text[start:stop]) for start, stop in borders]
    numbers = {"": 0}
    of_chunk = np.zeros(len(first), dtype=np.int64)
    of_chunk[many] = [numbers.setdefault(name, len(numbers)) for name in names]
    chunk = np.cumsum(is_new) - 1
    place = np.minimum(np.arange(len(is_new)) - first[chunk], MAX_CHUNK) if len(chunk) else chunk
    return [*numbers], of_chunk[chunk], place


@lru_cache(REMEMBERED)
def _shape(text: str) -> str:
    return "".join([short_shape(text[start:end]) for start, end in tokenize(text)])[:MAX_CHUNK]
