"""How much is known of what redaction missed in a batch, and whether that is as much as a release
must show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deid_assets.evaluation.counts import Counts
from deid_assets.evaluation.intervals import wilson
from deid_assets.quality.verdict import Verdict


@dataclass(frozen=True, slots=True)
class ReleaseRequirements:
    """Requirements of a release on gold.

    Args:
        gold: Whether a batch that was not measured stays.
        spans: Gold spans from which on a batch counts as measured.
        notes: Annotated notes that are asked for.
        lower_bound: Smallest lower end of the 95 % interval of the share of gold spans covered.
    """

    gold: bool
    spans: int
    notes: int = 0
    lower_bound: float = 0.0


@dataclass(frozen=True, slots=True)
class BatchMeasurement:
    """Measurement of a batch on its gold.

    Args:
        notes: Notes of the batch.
        annotated: Notes that people annotated.
        held_out: Those of them that no tagger is trained on, and so may be scored.
        covered: Gold spans of these notes, covered and left.
        wanted: What a release must show.
    """

    notes: int
    annotated: int
    held_out: int
    covered: Counts
    wanted: ReleaseRequirements

    @property
    def lower(self) -> float | None:
        """Lower end of the 95 % Wilson interval of the share of gold spans covered.

        ``None`` without gold.
        """
        return wilson(self.covered.tp, self.covered.gold)[0] if self.covered.gold else None

    @property
    def measured(self) -> bool:
        """Whether there is gold enough to say anything."""
        return self.covered.gold >= max(self.wanted.spans, 1)

    @property
    def reason(self) -> str:
        """Reason why the batch was not measured, a sentence; empty where it was."""
        if self.measured:
            return ""
        if not self.annotated:
            return f"None of the {self.notes:,} notes is annotated."
        if not self.held_out:
            return (
                f"Taggers are trained on all {self.annotated:,} annotated notes, so none can be"
                " scored."
            )
        return (
            f"The {self.held_out:,} annotated notes hold {self.covered.gold:,} identifiers, fewer"
            f" than the {max(self.wanted.spans, 1):,} of gates.min_gold_spans."
        )

    @property
    def shortfall(self) -> str:
        """Requirement that the gold does not meet, a sentence; empty where it meets all."""
        if not self.measured:
            return self.reason
        if self.held_out < self.wanted.notes:
            return (
                f"{self.held_out:,} notes are annotated, fewer than the {self.wanted.notes:,} of"
                " release.annotated_notes."
            )
        lower = self.lower or 0.0
        if lower < self.wanted.lower_bound:
            return (
                f"The share of annotated spans covered may be as low as {lower:.4f}, "
                f"below the {self.wanted.lower_bound:.4f} of release.lower_bound."
            )
        return ""

    @property
    def needed(self) -> str:
        """What there is beside what is wanted, in a few words; empty where nothing is missing."""
        if not self.shortfall:
            return ""
        if not self.measured:
            there = f"{self.covered.gold:,}" if self.covered.gold else "no"
            return f"{there} annotated identifiers, {max(self.wanted.spans, 1):,} wanted"
        if self.held_out < self.wanted.notes:
            return f"{self.held_out:,} annotated notes, {self.wanted.notes:,} wanted"
        return (
            f"at least {self.lower or 0.0:.4f} of the annotated identifiers covered,"
            f" {self.wanted.lower_bound:.4f} wanted"
        )

    def to_json(self) -> dict[str, Any]:
        """Return what a manifest says.

        ``measured``, with the reason where it was not, and the figures.
        """
        figures = {
            "annotated_notes": self.held_out,
            "gold_spans": self.covered.gold,
            "covered": self.covered.tp,
        }
        lower = self.lower
        return {
            "measured": self.measured,
            "measurement": {
                "reason": self.reason,
                **figures,
                "lower": None if lower is None else round(lower, 4),
            },
        }

    def judge(self) -> Verdict:
        """Check that the batch was measured as the release asks.

        Where nothing is asked it may be not applicable.
        """
        short = self.shortfall if self.wanted.gold else ""
        lower = self.lower
        counts: dict[str, int | float] = {
            "annotated_notes": self.held_out,
            "wanted_notes": self.wanted.notes,
            "annotated_spans": self.covered.gold,
            "wanted_spans": self.wanted.spans,
            "wanted_lower": self.wanted.lower_bound,
            **({} if lower is None else {"lower": round(lower, 4)}),
        }
        verdict = Verdict(
            "measured",
            passed=not short,
            blocking=True,
            counts=counts,
            description=short
            or "People annotated enough notes of the batch to know what was missed.",
            reasons=[f"{self.needed}: annotate a sample with `deid sample`"] if short else [],
            waits=True,
        )
        return verdict.unless(
            not self.measured,
            f"not measured. {self.reason} release.require asks for no annotated notes",
        )
