"""Errors of a system counted, and a bounded sample of them to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from heapq import heappush, heapreplace

from deid_evaluation.span_errors import SpanError, SpanErrorKind

PER_CELL = 100
"""Errors kept of every kind and label."""


@dataclass
class ErrorSample:
    """Counts every error, and keeps some of every kind and label.

    Which are kept depends on what they are, not on the order they come in, and not on their note:
    the same errors give the same sample. All errors that a reviewer has tagged are kept.

    Args:
        system: Whose errors they are.
        per_cell: How many are kept of every kind and label.
        tagged: Identities to keep whatever is drawn.
    """

    system: str
    per_cell: int = PER_CELL
    tagged: AbstractSet[str] = frozenset()
    counts: Counter[tuple[SpanErrorKind, str]] = field(default_factory=Counter)
    left: Counter[tuple[SpanErrorKind, str]] = field(default_factory=Counter)
    _kept: dict[tuple[SpanErrorKind, str], list[tuple[int, str, SpanError]]] = field(
        default_factory=dict, repr=False
    )

    def add(self, error: SpanError) -> str:
        """Count an error, keep it if it is drawn, and return its identity."""
        cell = error.kind, error.label
        self.counts[cell] += 1
        self.left[cell] += error.left > 0
        heap = self._kept.setdefault(cell, [])
        identity = error.identity(self.system)
        rank = 1 if identity in self.tagged else -int(identity, 16)
        entry = (rank, identity, error)
        if len(heap) < self.per_cell or (rank > 0 and heap[0][0] > 0):
            heappush(heap, entry)
        elif entry[0] > heap[0][0]:
            heapreplace(heap, entry)
        return identity

    def list_kept(self) -> Iterator[tuple[str, SpanError]]:
        """Yield identity and error.

        Kinds as in ``SpanErrorKind``, what is left first, then by note and place.
        """
        entries = [(identity, error) for heap in self._kept.values() for _, identity, error in heap]
        kinds = list(SpanErrorKind)
        order = sorted(
            entries,
            key=lambda entry: (kinds.index(entry[1].kind), -entry[1].left, *_where(entry[1])),
        )
        return iter(order)

    def total(self, kind: SpanErrorKind) -> int:
        """Errors of a kind, kept or not."""
        return sum(count for (of, _), count in self.counts.items() if of is kind)


def _where(error: SpanError) -> tuple[str, int, int]:
    return error.note_id, *error.place
