"""How numbers are written in every report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from deid_assets.evaluation.score import Counts, Evaluation, Scheme, wilson

UNDEFINED = "n/a"
"""Written where a ratio has nothing below the line."""


def amount(number: float) -> str:
    """Return a whole number with thousands separators, or another one with three decimals."""
    if isinstance(number, int):
        return f"{number:,}"
    return f"{number:,.3f}"


def ratio(value: float | None) -> str:
    """Return three decimals.

    What is short of 1 never reads as 1.000, and what is above 0 never as 0.000.
    """
    if value is None:
        return UNDEFINED
    return f"{min(max(value, 0.001), 0.999) if 0 < value < 1 else value:.3f}"


@dataclass(frozen=True, slots=True)
class Share:
    """A share of units with its 95 % Wilson interval."""

    hits: int
    trials: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """Hits per trial."""
        return self.hits / self.trials


@dataclass(frozen=True, slots=True)
class Estimate(Share):
    """A proportion with its 95 % Wilson interval, as reports write it."""

    def __str__(self) -> str:
        return f"{ratio(self.value)} [{ratio(self.low)}, {ratio(self.high)}]"


def estimate(hits: int, trials: int) -> Estimate | None:
    """Return a proportion with its interval, or ``None`` where nothing was tried."""
    return Estimate(hits, trials, *wilson(hits, trials)) if trials else None


def recall_of(counts: Counts) -> Estimate | None:
    """Return the recall with its interval, or ``None`` where there was nothing to find."""
    return estimate(counts.tp, counts.gold)


def show_value(value: Estimate | None) -> str:
    """Return ``0.981 [0.962, 0.991]``, or ``n/a``."""
    return UNDEFINED if value is None else str(value)


def rank_detectors(evaluations: Mapping[str, Evaluation]) -> list[tuple[str, Evaluation]]:
    """Return the detectors that cover most first.

    By share of gold spans covered, then strict F1, then name.
    """

    def rank(entry: tuple[str, Evaluation]) -> tuple[float, float, str]:
        name, evaluation = entry
        recall, f1 = evaluation.micro(Scheme.COVERED).recall, evaluation.micro(Scheme.STRICT).f1
        return 1.0 if recall is None else -recall, 1.0 if f1 is None else -f1, name

    return sorted(evaluations.items(), key=rank)


def axis_floor(estimates: Iterable[Estimate | None]) -> float:
    """Return where an axis up to 1 starts so that every interval fits.

    A multiple of 0.1, below 1.
    """
    lowest = min((found.low for found in estimates if found), default=0.0)
    return int(lowest * 10) / 10
