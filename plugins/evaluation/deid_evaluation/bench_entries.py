"""What a bake-off found, ready to be shown: names, counts and measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deid_assets.extending import Profile
from deid_assets.extending.scoring import Comparison, Coverage, Estimate, Evaluation
from deid_evaluation.agreement import Agreement


@dataclass(frozen=True, slots=True)
class Expense:
    """Time and memory of a detector.

    Args:
        notes: Notes that were timed.
        notes_per_s: By wall time, without start-up.
        chars_per_s: Code points, by wall time.
        start_s: Until the first answer, in seconds.
        peak_bytes: Resident memory of its process at most; 0 where not known.
    """

    notes: int
    notes_per_s: float
    chars_per_s: float
    start_s: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class BenchEntry:
    """One detector of a bake-off.

    Args:
        name: How it is shown.
        version: Of the detector.
        fault: Why it has no result, or empty.
        failed: Notes that it gave no answer for.
        blind: Labels that it cannot find by design.
        expense: ``None`` where it was not timed.
        evaluation: ``None`` without gold and where there is a fault.
        within: Gold spans covered of those labels that it can find; ``None`` where there is nothing
            to measure.
        within_share: Share of all gold spans that these are.
    """

    name: str
    version: str = ""
    fault: str = ""
    failed: int = 0
    blind: Sequence[str] = ()
    expense: Expense | None = None
    evaluation: Evaluation | None = None
    within: Estimate | None = None
    within_share: float | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """An estimate of identifiers that no detector marked.

    Args:
        label: Whose.
        marked: Those that at least one marked.
        value: Estimate of the others.
        low: Lower bound of its 95 % interval.
        high: Upper bound.
        method: Name of the estimator.
    """

    label: str
    marked: int
    value: float
    low: float
    high: float
    method: str


@dataclass(frozen=True, slots=True)
class Bakeoff:
    """Everything that a bake-off shows. It holds no note text.

    Args:
        profile: Which categories count, under which labels.
        entries: In the order they were named; the first is the one that others are compared with.
        notes: Notes that were read.
        gold: What the gold is, in words; empty without gold.
        comparison: Intervals by bootstrap of every entry with an evaluation.
        coverage: Who marks what, with gold.
        pairs: Two detectors to their agreement, without gold.
        missing: Estimates of what all missed, without gold.
        assumptions: What the estimates rest on.
    """

    profile: Profile
    entries: Sequence[BenchEntry]
    notes: int
    gold: str = ""
    comparison: Comparison | None = None
    coverage: Coverage | None = None
    pairs: Mapping[tuple[str, str], Agreement] = field(default_factory=dict)
    missing: Sequence[Missing] = ()
    assumptions: Sequence[str] = ()
