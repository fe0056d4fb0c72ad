"""N-gram recall: the share of a source's n-grams that another corpus has too (Vakili et al. 2025).

Verbatim only, so that it is the least that was taken over.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deid_copying.grams import NumberSet, gram_set, mark_held, together
from deid_copying.tokens import Numbers, TokenFile

SIZES = (3, 5, 10)
"""Tokens of the n-grams, as published."""
SHARED = 4_000_000
"""N-grams in both corpora that are looked at for passages, at most; 32 MB."""


@dataclass(frozen=True, slots=True)
class GramRecall:
    """What a corpus has of the n-grams of a source.

    Args:
        unit: Words or sub-words.
        n: Tokens of an n-gram.
        marked: Whether only n-grams with a token of an identifier count.
        source: Different n-grams of the source.
        synthetic: How many of them the corpus has.
        baseline: How many of them the baseline has; none where there is no baseline.
    """

    unit: str
    n: int
    marked: bool
    source: int
    synthetic: int
    baseline: int | None

    @property
    def recall(self) -> float:
        """Share of the source's n-grams that the corpus has; 0 where the source has none."""
        return self.synthetic / self.source if self.source else 0.0

    @property
    def by_chance(self) -> float | None:
        """Share that the baseline has, which never saw the source."""
        if self.baseline is None:
            return None
        return self.baseline / self.source if self.source else 0.0

    @property
    def excess(self) -> float:
        """Recall above that of the baseline, or above nothing."""
        return self.recall - (self.by_chance or 0.0)

    def to_json(self) -> dict[str, Any]:
        """Return it as a document."""
        return {
            "unit": self.unit,
            "n": self.n,
            "identifiers": self.marked,
            "source_ngrams": self.source,
            "shared": self.synthetic,
            "recall": self.recall,
            "baseline_recall": self.by_chance,
            "excess": self.excess,
        }


@dataclass(frozen=True, slots=True)
class Recalls:
    """Recalls of a corpus, and the n-grams that it shares with the source.

    Args:
        rows: By n, overall before identifiers.
        shared: Numbers of the n-grams of the size asked for that it shares with the source,
            sorted, shape (shared,).
        by_chance: The same of the baseline; none where there is no baseline.
        cut: Whether there are more than ``SHARED`` of them, and the rest was left out.
    """

    rows: Sequence[GramRecall]
    shared: Numbers = field(repr=False)
    by_chance: Numbers = field(repr=False)
    cut: bool


@dataclass(frozen=True, slots=True)
class ComparedCorpora:
    """What is compared.

    Args:
        source: The site's own notes.
        synthetic: The notes that must not tell of them.
        baseline: Notes of a generator that never saw the source.
        folder: Of files that are written on the way and removed.
    """

    source: TokenFile
    synthetic: TokenFile
    baseline: TokenFile | None
    folder: Path


def recalls(corpora: ComparedCorpora, sizes: Sequence[int] = SIZES, *, passage: int = 0) -> Recalls:
    """Return the recall of each size, and the shared n-grams of ``passage`` tokens."""
    rows: list[GramRecall] = []
    shared = [np.empty(0, np.uint64)] * 2
    cut = False
    for n in sorted({*sizes, *([passage] if passage else [])}):
        found, own, is_cut = _of_size(corpora, n, keep=n == passage)
        rows += found if n in sizes else []
        if n == passage:
            shared = own
            cut = is_cut
    return Recalls(rows, shared[0], shared[-1], cut)


def _of_size(
    corpora: ComparedCorpora, n: int, *, keep: bool
) -> tuple[list[GramRecall], list[Numbers], bool]:
    folder = corpora.folder / f"grams-{n}"
    others = [corpora.synthetic, *([corpora.baseline] if corpora.baseline else [])]
    source = gram_set(corpora.source, n, folder / "source")
    sets = [gram_set(one, n, folder / str(number)) for number, one in enumerate(others)]
    told = corpora.source.annotated > 0
    marked = gram_set(corpora.source, n, folder / "marked", marked=True) if told else None
    counts, shared, cut = _count(source, sets, marked, keep=keep)
    shutil.rmtree(folder)
    rows = [_row(corpora, n, counts[0], is_marked=False)]
    if told:
        rows.append(_row(corpora, n, counts[1], is_marked=True))
    return rows, shared, cut


def _row(corpora: ComparedCorpora, n: int, counts: Sequence[int], *, is_marked: bool) -> GramRecall:
    held = int(counts[2]) if corpora.baseline else None
    return GramRecall(corpora.source.unit, n, is_marked, int(counts[0]), int(counts[1]), held)


def _count(
    source: NumberSet, others: Sequence[NumberSet], marked: NumberSet | None, *, keep: bool
) -> tuple[np.ndarray, list[Numbers], bool]:
    """Return counts, shape (2, 1 + others): of all, of marked; and what source and others share."""
    counts = np.zeros((2, 1 + len(others)), np.int64)
    kept: list[list[Numbers]] = [[np.empty(0, np.uint64)] for _ in others]
    cut = False
    real = [source, *([marked] if marked is not None else [])]
    for ranges in together(*real, *others):
        for row, numbers in enumerate(ranges[: len(real)]):
            counts[row, 0] += len(numbers)
            for column, other in enumerate(ranges[len(real) :], 1):
                held = mark_held(numbers, other)
                counts[row, column] += int(held.sum())
                if keep and row == 0:
                    own = kept[column - 1]
                    left = SHARED - sum(map(len, own))
                    own.append(numbers[held][:left])
                    cut = cut or int(held.sum()) > left
    return counts, [np.concatenate(own) for own in kept], cut
