"""Variants as arrays for the network, in batches of like length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deid_zero_shot.encoding import Specials
from deid_zero_shot.variants import Variants

Array = NDArray[np.int64]
_WIDEST = 48_000_000
"""Scores of the vocabulary that one run may hold, so that a large vocabulary takes no more memory
than a small one.
"""


class Ask(Protocol):
    """Runs the network once."""

    def __call__(
        self, ids: Array, mask: Array, rows: Array, places: Array, targets: Array
    ) -> NDArray[np.float32]:
        """Return the natural logarithm of the probability of each target: (questions,).

        Args:
            ids: (variants, positions).
            mask: (variants, positions), 1 where there is a sub-token.
            rows: (questions,), variant of each.
            places: (questions,), position of each.
            targets: (questions,), the sub-token whose probability is wanted.
        """
        ...


@dataclass(slots=True)
class ScoringCost:
    """What scoring cost.

    Args:
        runs: Of the network.
        variants: Rows over all runs.
        positions: Sub-tokens over all rows, padding counted.
        asked: Questions.
    """

    runs: int = 0
    variants: int = 0
    positions: int = 0
    asked: int = 0


@dataclass(frozen=True, slots=True)
class _Row:
    window: int
    variant: int


def answers(
    windows: Sequence[Variants],
    ask: Ask,
    specials: Specials,
    *,
    batch: int,
    vocabulary: int,
    spent: ScoringCost,
) -> Iterator[tuple[int, int, float]]:
    """Yield window, word and the logarithm for each question.

    A word's come in the order of its sub-tokens.

    Args:
        windows: Of one note.
        ask: The network.
        specials: Of the model.
        batch: Most variants in a run.
        vocabulary: How many sub-tokens it has.
        spent: Counted up.
    """
    rows = [
        _Row(number, variant)
        for number, found in enumerate(windows)
        for variant in range(len(found.masked))
    ]
    rows.sort(key=lambda row: (len(windows[row.window].ids), row.window, row.variant))
    got: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for some in _batches(rows, windows, batch=batch, most=max(1, _WIDEST // vocabulary)):
        for (window, word, place), value in _run(some, windows, ask, specials, spent):
            got.setdefault((window, word), []).append((place, value))
    for (window, word), values in got.items():
        for _, value in sorted(values):
            yield window, word, value


def _batches(
    rows: Sequence[_Row], windows: Sequence[Variants], *, batch: int, most: int
) -> Iterator[list[_Row]]:
    found: list[_Row] = []
    asked = 0
    for row in rows:
        count = len(windows[row.window].questions[row.variant])
        if found and (len(found) >= batch or asked + count > most):
            yield found
            found, asked = [], 0
        found.append(row)
        asked += count
    if found:
        yield found


def _run(
    some: Sequence[_Row],
    windows: Sequence[Variants],
    ask: Ask,
    specials: Specials,
    spent: ScoringCost,
) -> Iterator[tuple[tuple[int, int, int], float]]:
    longest = max(len(windows[row.window].ids) for row in some) + 2
    ids = np.full((len(some), longest), specials.pad, dtype=np.int64)
    mask = np.zeros_like(ids)
    asked: list[tuple[int, int, int, int, int]] = []
    for at, row in enumerate(some):
        variants = windows[row.window]
        size = len(variants.ids)
        ids[at, 0], ids[at, size + 1] = specials.before, specials.after
        ids[at, 1 : size + 1] = variants.ids
        ids[at, variants.masked[row.variant] + 1] = specials.mask
        mask[at, : size + 2] = 1
        asked += [
            (at, row.window, question.word, question.place, question.target)
            for question in variants.questions[row.variant]
        ]
    at, window, word, place, target = np.array(asked, dtype=np.int64).T
    found = ask(ids, mask, at, place + 1, target)
    spent.runs, spent.variants = spent.runs + 1, spent.variants + len(some)
    spent.positions, spent.asked = spent.positions + ids.size, spent.asked + len(asked)
    keys = zip(window.tolist(), word.tolist(), place.tolist(), strict=True)
    return zip(keys, map(float, found), strict=True)
