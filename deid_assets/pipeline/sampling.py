"""The draw of the notes that are searched, what was found, and what it says of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import exp, lgamma, log, log1p

from deid_assets.core.detector import Failed
from deid_assets.core.errors import InputError
from deid_assets.core.keys import Key
from deid_assets.core.span import Span

_STEPS = 60
"""Halvings of [0, 1]: the bound is found to 1e-18, which is finer than a float near 1."""

HIT = "residual-hit"
"""Reason for which a note is withheld: the ensemble finds something in its redacted text."""

Hits = Mapping[str, tuple[Span, ...] | Failed]
"""Note id to what was found in the text that was kept, in offsets of the original, or why there was
no answer.
"""


@dataclass(frozen=True, slots=True)
class SearchSample:
    """Draw of the notes that are searched.

    Args:
        key: Which notes are drawn follows from it and their ids, and nobody without it knows.
        size: Notes drawn; 0 takes all.
        limit: Largest share of notes with a hit that the draw may leave likely; above it all are
            searched.
    """

    key: Key = field(repr=False)
    size: int = 1000
    limit: float = 0.01

    def __str__(self) -> str:
        if not self.size:
            return "all redacted notes"
        limit = f"over {100 * self.limit:g}%"
        return f"{self.size:,} redacted notes drawn by key, in all if {limit} may have hits"

    def of(self, note_ids: Iterable[str]) -> frozenset[str]:
        """Return the ids that are drawn."""
        ranked = sorted(
            note_ids, key=lambda note_id: (self.key.seed("residual sample", note_id), note_id)
        )
        return frozenset(ranked[: self.size or len(ranked)])


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Result of a search of redacted notes.

    Args:
        hits: Of the first look, for the notes that were searched.
        again: Of the last look, for the notes that were redacted again.
        drawn: Notes that were drawn; all, where there was no draw.
        drawn_hits: Drawn notes with a hit or without an answer.
        notes: Notes there are.
    """

    hits: Hits
    again: Hits
    drawn: int
    drawn_hits: int
    notes: int

    @property
    def bound(self) -> float:
        """Largest share of notes with a hit that the draw leaves likely, one-sided at 95 %."""
        return upper_bound(self.drawn_hits, self.drawn)

    @property
    def is_whole(self) -> bool:
        """Whether every note was searched."""
        return len(self.hits) == self.notes

    def hits_of(self, note_id: str) -> tuple[Span, ...] | Failed | None:
        """Return what the last look at a note found; ``None`` where it was not searched."""
        return self.again.get(note_id, self.hits.get(note_id))

    def withheld(self, stage: str) -> dict[str, Failed]:
        """Return the notes that are withheld, by id."""
        last = {**self.hits, **self.again}
        return {
            note_id: hit if isinstance(hit, Failed) else Failed(note_id, stage, HIT)
            for note_id, hit in last.items()
            if hit
        }


def upper_bound(hits: int, trials: int, *, confidence: float = 0.95) -> float:
    """Return the one-sided upper confidence bound of a proportion, exact for a draw with
    replacement.

    For a draw without replacement from few it is too high, never too low. 0 of 1,000 gives 0.0030.

    Args:
        hits: ``0 <= hits <= trials``.
        trials: Size of the sample; 0 says nothing, and gives 1.
        confidence: In (0, 1).

    Raises:
        InputError: A number is outside its range.

    Source:
        Clopper and Pearson (1934), Biometrika 26(4), 404-413.
    """
    if not (0 <= hits <= trials and 0 < confidence < 1):
        raise InputError(
            f"a bound needs 0 <= hits <= trials and a confidence in (0, 1), got {hits} of {trials}"
        )
    if hits == trials:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _at_most(hits, trials, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def _at_most(hits: int, trials: int, share: float) -> float:
    """Return the probability of at most so many hits."""
    if share in {0.0, 1.0}:
        return 1.0 - share
    whole = lgamma(trials + 1)
    return sum(
        exp(
            whole
            - lgamma(count + 1)
            - lgamma(trials - count + 1)
            + count * log(share)
            + (trials - count) * log1p(-share)
        )
        for count in range(hits + 1)
    )
