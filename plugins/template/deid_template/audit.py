"""Asks how much of what there was to find was covered: a whole audit, to copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deid_assets.extending.audits import (
    AuditResult,
    Case,
    Control,
    Injector,
    Material,
    Measurement,
    Need,
    Rule,
    conclude,
)
from deid_assets.extending.measuring import is_touched, union

WANTED = "identifiers missed"


class MissedAudit:
    """Measures the share of identifiers that nothing covers.

    Args:
        most: Largest upper end of the interval that passes.
    """

    name = "template"
    version = "0.1.0"
    title = "How many identifiers did nothing cover?"
    needs = frozenset({Need.GOLD})
    blind_spots = (
        "What the annotators did not mark is not counted.",
        "An identifier counts as covered where one of its characters is.",
    )

    def __init__(self, *, most: float = 0.05) -> None:
        self._most = most

    def run(self, material: Material) -> AuditResult:
        found = _measure_missed(material.cases)
        dropped = [
            replace(case, found=Injector(0.5, seed=material.seed).keep(case.gold))
            for case in material.cases
        ]
        perfect = [replace(case, found=case.gold) for case in material.cases]
        return conclude(
            self,
            figures=[found],
            controls=[
                self._control(
                    "half of the identifiers uncovered", _measure_missed(dropped), expected=True
                ),
                self._control("all identifiers covered", _measure_missed(perfect), expected=False),
            ],
            rules=[
                Rule(
                    name="few missed",
                    passed=found.high <= self._most,
                    description=f"upper end {found.high:.3f}, at most {self._most:.3f}",
                )
            ],
            counts={"notes": len(material.cases)},
        )

    def _control(self, name: str, measured: Measurement, *, expected: bool) -> Control:
        return Control(
            name=name,
            expected=expected,
            reacted=measured.low > self._most,
            description=f"reacts where the lower end is above {self._most:.3f}",
            measurement=measured,
        )


def _measure_missed(cases: Sequence[Case]) -> Measurement:
    missed = trials = 0
    for case in cases:
        covered = union((span.start, span.end) for span in case.found)
        missed += sum(not is_touched((span.start, span.end), covered) for span in case.gold)
        trials += len(case.gold)
    return Measurement.share(
        WANTED, missed, trials, chance="nothing is guessed", unit="identifiers"
    )
