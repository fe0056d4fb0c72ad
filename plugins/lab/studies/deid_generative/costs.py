"""The cheapest way from the words of a source to those of an output, where placeholders stand for
some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from deid_assets.extending import DetectorError
from deid_generative.placeholders import TextUnit

INSERT, DELETE, SPURIOUS, OPEN, EXTEND = 100, 50, 150, 20, 15
"""Costs in hundredths of a word.

One added, one left out, a placeholder for nothing, one for something, and per word of that. Words
in a placeholder's place are cheap, so that what is gone beside one was removed by
it."""
SAME, UNLIKE = 10, 150
"""Costs of a word in the place of another.

From the same in other letters to one without a letter in common.
"""
_NEVER = 1 << 40
MOST_CELLS = 6_000_000
"""Pairs of words in one table; 9 bytes each."""
MATCH, CHANGE, INSERTED, HOLE, EMPTY_HOLE = range(5)

Step = tuple[int, int, int, int]
"""Kind, first and last source word, output word; ``DELETED`` has no output word."""
DELETED = 5


def cheapest(before: Sequence[TextUnit], after: Sequence[TextUnit], offset: int) -> list[Step]:
    """Return the cheapest steps from one run of words to another.

    Words that are in both once, in the same order, are held fast where the table would grow too
    large.

    Args:
        before: Source words.
        after: Output words.
        offset: Number of the first of both.

    Raises:
        DetectorError: The table is too large even so.
    """
    if len(before) * len(after) <= MOST_CELLS:
        return [_shift(step, offset, offset) for step in _Table(before, after).steps()]
    steps: list[Step] = []
    anchors = [(-1, -1), *_anchors(before, after), (len(before), len(after))]
    for (first, out_first), (last, out_last) in pairwise(anchors):
        part, out_part = before[first + 1 : last], after[out_first + 1 : out_last]
        if len(part) * len(out_part) > MOST_CELLS:
            raise DetectorError(
                "the output differs from the note over too many words; use shorter windows"
            )
        found = _Table(part, out_part).steps()
        steps += (_shift(step, offset + first + 1, offset + out_first + 1) for step in found)
        if last < len(before):
            steps.append((MATCH, offset + last, offset + last, offset + out_last))
    return steps


def _shift(step: Step, by: int, out_by: int) -> Step:
    return step[0], step[1] + by, step[2] + by, step[3] + out_by


def _anchors(before: Sequence[TextUnit], after: Sequence[TextUnit]) -> list[tuple[int, int]]:
    """Return places of words that are in both texts once.

    The longest run in which their order agrees.
    """
    places, out_places = _once(before), _once(after)
    common = [text for text in out_places if text in places]
    ordered = sorted(common, key=places.__getitem__)
    matched = Indel.opcodes(ordered, common)
    anchors: list[tuple[int, int]] = []
    for code in matched:
        if code.tag == "equal":
            texts = ordered[code.src_start : code.src_end]
            anchors += [(places[text], out_places[text]) for text in texts]
    return anchors


def _once(found: Sequence[TextUnit]) -> dict[str, int]:
    seen: dict[str, int] = {}
    for index, word in enumerate(found):
        seen[word.text] = -1 if word.text in seen or word.is_hole else index
    return {text: index for text, index in seen.items() if index >= 0}


class _Table:
    """Costs of all pairs of beginnings, a row per output word; a row is computed at once.

    ``cost[i]`` of a row is that of the first ``i`` source words against the output words so far.
    """

    def __init__(self, before: Sequence[TextUnit], after: Sequence[TextUnit]) -> None:
        self._before, self._after = before, after
        self._index = np.arange(len(before) + 1, dtype=np.int64)
        self._kinds: list[NDArray[np.uint8]] = []
        self._from: list[NDArray[np.int32]] = []
        self._skipped: list[NDArray[np.int32]] = []
        self._words, self._changes = self._change_costs()

    def _change_costs(self) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        """Return the number of each source word's text, and by output text the cost of putting it
        in each's place.
        """
        texts = sorted({word.text for word in self._before})
        others = sorted({word.text for word in self._after})
        number = {text: n for n, text in enumerate(texts)}
        mine = np.array([number[word.text] for word in self._before], dtype=np.int64)
        if not texts or not others:
            return mine, {text: np.zeros(0, dtype=np.int64) for text in others}
        lower = [[text.casefold() for text in group] for group in (others, texts)]
        alike = cdist(*lower, dtype=np.uint8, workers=1)
        costs = SAME + (UNLIKE - SAME) * (100 - alike.astype(np.int64)) // 100
        for row, text in enumerate(others):
            if text in number:
                costs[row, number[text]] = 0
        return mine, dict(zip(others, costs, strict=True))

    def steps(self) -> list[Step]:
        cost = self._leave_out(np.where(self._index, _NEVER, 0))
        for word in self._after:
            cost = self._leave_out(self._row(word, cost))
        return self._back()

    def _leave_out(self, cost: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row in which source words may also be left out, and remember from where."""
        least, at = _least_so_far(cost - self._index * DELETE)
        self._skipped.append(at)
        return least + self._index * DELETE

    def _row(self, word: TextUnit, cost: NDArray[np.int64]) -> NDArray[np.int64]:
        size = len(self._index)
        changed = np.full(size, _NEVER, dtype=np.int64)
        if size > 1:
            changed[1:] = cost[:-1] + self._changes[word.text][self._words]
        options = [(CHANGE, changed, self._index - 1)]
        if word.is_hole:
            least, at = _least_so_far(cost - self._index * EXTEND)
            held = np.full(size, _NEVER, dtype=np.int64)
            held[1:] = least[:-1] + self._index[1:] * EXTEND + OPEN
            same = np.array([False, *(one.text == word.text for one in self._before)])
            changed[~same] = _NEVER
            options += [
                (HOLE, held, np.concatenate(([0], at[:-1]))),
                (EMPTY_HOLE, cost + SPURIOUS, self._index),
            ]
        else:
            options.append((INSERTED, cost + INSERT, self._index))
        table = np.stack([costs for _, costs, _ in options])
        best = table.argmin(axis=0)
        self._kinds.append(np.array([kind for kind, _, _ in options], dtype=np.uint8)[best])
        self._from.append(
            np.stack([origin for _, _, origin in options])[best, self._index].astype(np.int32)
        )
        lowest: NDArray[np.int64] = table[best, self._index]
        return lowest

    def _back(self) -> list[Step]:
        steps: list[Step] = []
        at = len(self._before)
        for row in range(len(self._after), -1, -1):
            begin = int(self._skipped[row][at])
            steps += ((DELETED, n, n, row) for n in range(at - 1, begin - 1, -1))
            if not row:
                break
            kind, origin = int(self._kinds[row - 1][begin]), int(self._from[row - 1][begin])
            is_match = kind == CHANGE and self._before[begin - 1].text == self._after[row - 1].text
            last = begin - 1 if kind in {CHANGE, HOLE} else origin
            steps.append((MATCH if is_match else kind, origin, max(origin, last), row - 1))
            at = origin
        return steps[::-1]


def _least_so_far(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the least value up to each place, and where it is.

    The latest place of those that tie.
    """
    least = np.minimum.accumulate(values)
    at = np.maximum.accumulate(np.where(values == least, np.arange(len(values)), 0))
    return least, at.astype(np.int32)
