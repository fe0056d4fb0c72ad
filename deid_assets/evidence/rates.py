"""How many identifiers are probably left in notes that nobody annotated, from rates measured on
notes that people did.
"""

from __future__ import annotations

from dataclasses import dataclass

from deid_assets.evaluation.counts import Counts
from deid_assets.evaluation.intervals import wilson


@dataclass(frozen=True, slots=True)
class ExpectedNumber:
    """A number that is expected, between a low and a high one.

    Args:
        value: What is expected.
        low: With the better ends of the 95 % intervals of the rates.
        high: With their worse ends; ``None`` where no bound follows from the rates.
    """

    value: float
    low: float
    high: float | None

    def __str__(self) -> str:
        high = "no upper bound" if self.high is None else _short(self.high)
        return f"{_short(self.value)} [{_short(self.low)}, {high}]"


def _short(number: float) -> str:
    return f"{number:,.1f}" if number < 100 else f"{number:,.0f}"


def estimate_missed(replaced: int, counts: Counts) -> ExpectedNumber | None:
    """Return how many identifiers are probably left beside those that were replaced.

    Of ``replaced`` spans the share ``precision`` was real; these are the share ``recall`` of all
    that there were. Left are ``replaced * precision * (1 - recall) / recall``.

    Args:
        replaced: Spans replaced in notes without annotations.
        counts: On annotated notes: spans covered, needlessly predicted, and missed.

    Returns:
        ``None`` where nothing was annotated or nothing of it found: no number follows.

    Source:
        Vakili (2025), Preserving the Privacy of Language Models.
    """
    if not counts.tp:
        return None
    recall_low, recall_high = wilson(counts.tp, counts.gold)
    precise_low, precise_high = wilson(counts.tp, counts.tp + counts.fp)
    recall, precision = counts.tp / counts.gold, counts.tp / (counts.tp + counts.fp)
    return ExpectedNumber(
        _estimate_left(replaced, precision, recall) or 0.0,
        _estimate_left(replaced, precise_low, recall_high) or 0.0,
        _estimate_left(replaced, precise_high, recall_low),
    )


def _estimate_left(replaced: int, precision: float, recall: float) -> float | None:
    return replaced * precision * (1 - recall) / recall if recall else None


def estimate_notes(notes: int, covered: int, annotated: int) -> ExpectedNumber | None:
    """Return in how many of some notes something is probably left.

    Args:
        notes: That nobody annotated.
        covered: Annotated notes of which everything was covered.
        annotated: Annotated notes with identifiers.

    Returns:
        ``None`` where no note with identifiers was annotated.
    """
    if not annotated:
        return None
    low, high = wilson(covered, annotated)
    return ExpectedNumber(notes * (1 - covered / annotated), notes * (1 - high), notes * (1 - low))


def estimate_per_thousand(notes: int, counts: Counts) -> ExpectedNumber | None:
    """Return how many identifiers would be left in a thousand notes such as the annotated ones,
    were they not annotated.

    Args:
        notes: Annotated notes.
        counts: Their spans, covered and missed.

    Returns:
        ``None`` where there is no annotated span.
    """
    if not (notes and counts.gold):
        return None
    low, high = wilson(counts.tp, counts.gold)
    held = counts.gold * 1000 / notes
    return ExpectedNumber(held * counts.fn / counts.gold, held * (1 - high), held * (1 - low))
