"""The audit: the attack on every policy, with two releases on which its answer is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deid_assets.extending import ConfigError, Phi
from deid_assets.extending.audits import (
    AuditResult,
    Case,
    Control,
    Injector,
    Material,
    Measurement,
    Need,
    Plot,
    Policy,
    Rule,
    Table,
    conclude,
    summary_of,
)
from deid_hips.attack import RECALLS, AttackFinding, AttackOptions, attack, attack_on_nothing
from deid_hips.drawing import hips_png
from deid_hips.ranking import Interval

TITLE = "What an attacker finds of what was missed"
PRECISION, AREA = (
    "share of the attacker's picks that is real",
    "chance that a missed identifier ranks above a replacement",
)
CONTROL_RECALL = 0.9
SURE, COLD = 0.9, 0.6
"""The area whose interval must lie above ``SURE`` behind plain marks, and not above ``COLD`` where
nothing is left.
"""
MARK = "[X]"


class Hips:
    """Attacks each policy at several recalls, and with the misses of the ensemble.

    Args:
        recalls: Shares of the identifiers that are redacted; the rest is dropped at random.
        drop: Category to the share of it that is dropped at every recall.
        most: Largest upper end of the share of the attacker's picks that is real, for a policy to
            pass.
        least_leftovers: Where a release has fewer, the audit proves nothing.
    """

    name = "hips"
    version = "0.3.0"
    title = summary_of("deid_hips", "hips")
    needs = frozenset({Need.GOLD, Need.POLICIES})
    blind_spots = (
        "The attacker knows the tool, and nothing about the patients, nor lists of real names.",
        (
            "Misses drawn at random are easier to hide than those of a detector, which misses whole"
            " kinds."
        ),
        "Identifiers that the annotators did not mark are neither counted nor attacked.",
        "Halves and draws of one seed; another seed gives other halves.",
    )

    def __init__(
        self,
        *,
        recalls: Sequence[float] = RECALLS,
        drop: Mapping[str, float] | None = None,
        most: float = 0.5,
        least_leftovers: int = 20,
    ) -> None:
        self._recalls, self._most, self._least = tuple(recalls), most, least_leftovers
        try:
            self._drop = {Phi(label): float(share) for label, share in (drop or {}).items()}
        except (AttributeError, TypeError, ValueError):
            raise ConfigError("drop must name categories and shares, as in {NAME = 0.1}") from None
        Injector(0.0, self._drop)
        AttackOptions(self._recalls)

    def run(self, material: Material) -> AuditResult:
        setting = AttackOptions(self._recalls, self._drop, material.seed)
        findings = attack(material.cases, material.policies, key=material.key, setting=setting)
        rows = [each.to_json() for each in findings]
        fewest = min((each.result.leftovers for each in findings), default=0)
        return conclude(
            self,
            figures=[number for each in findings for number in _measure(each)],
            controls=[_attack_marked(material), _empty(material)],
            rules=[self._rule(policy, findings) for policy in material.policies],
            plots=[Plot(name="picked", title=TITLE, png=hips_png(rows, title=TITLE))],
            tables=[_tabulate_findings(findings), _by_category(findings)],
            counts={
                "notes": len(material.cases),
                "policies": len(material.policies),
                "fewest_missed_identifiers": fewest,
            },
            void=(
                ""
                if fewest >= self._least
                else (
                    f"a release has {fewest} missed identifiers, at least {self._least} are needed;"
                    " annotate more notes"
                )
            ),
        )

    def _rule(self, policy: Policy, findings: Sequence[AttackFinding]) -> Rule:
        worst = max(
            (
                each.result.precision
                for each in findings
                if each.policy == policy.name and each.result.precision
            ),
            key=lambda interval: interval[2],
            default=None,
        )
        said = "nothing was left" if worst is None else f"of the picks, up to {worst[2]:.3f} real"
        return Rule(
            name=f"missed identifiers hide under {policy.name}",
            passed=worst is None or worst[2] <= self._most,
            description=f"{said}, at most {self._most:.3f}",
        )


def _measure(found: AttackFinding) -> list[Measurement]:
    """Return area and precision, those that are defined."""
    group = f"{found.policy}, recall {found.recall}"
    base = found.result.base_rate
    known: list[tuple[str, Interval | None, float | None]] = [
        (PRECISION, found.result.precision, base),
        (AREA, found.result.auc, 0.5),
    ]
    return [
        Measurement(
            name=name,
            value=value,
            low=min(low, value),
            high=max(high, value),
            chance=chance,
            units=found.notes,
            group=group,
        )
        for name, interval, chance in known
        if interval is not None and chance is not None and found.notes > 1
        for value, low, high in [interval]
    ]


def _attack_marked(material: Material) -> Control:
    """Attack a policy that writes one mark for everything: what is left must be plain to see."""
    plain = Policy("plain_marks", lambda _text, _span, _context: MARK)
    setting = AttackOptions((CONTROL_RECALL,), seed=material.seed)
    covered = [Case(case.note, case.gold, case.gold) for case in material.cases]
    (found,) = attack(covered, [plain], key=material.key, setting=setting)
    area = next((number for number in _measure(found) if number.name == AREA), None)
    return Control(
        name="missed identifiers among plain marks",
        expected=True,
        reacted=area is not None and area.low > SURE,
        description=(
            f"every identifier but one in ten became {MARK}; the interval of the area lies above"
            f" {SURE}"
        ),
        measurement=area,
    )


def _empty(material: Material) -> Control:
    """Let the attacker rank a release in which nothing is left.

    What a draw takes for missed identifiers must not come first.
    """
    found, notes = attack_on_nothing(
        material.cases,
        material.policies[0],
        key=material.key,
        setting=AttackOptions(seed=material.seed),
        share=0.1,
    )
    return Control(
        name="a release in which nothing is left",
        expected=False,
        reacted=found.auc is not None and found.auc[1] > COLD,
        description=(
            "one replacement in ten called a missed identifier by a draw; the interval of the area"
            f" lies above {COLD}"
        ),
        measurement=None if found.auc is None or notes < 2 else _area(found.auc, notes),
    )


def _area(interval: Interval, notes: int) -> Measurement:
    value, low, high = interval
    return Measurement(
        name=AREA, value=value, low=min(low, value), high=max(high, value), chance=0.5, units=notes
    )


def _tabulate_findings(findings: Sequence[AttackFinding]) -> Table:
    lengths = sorted({length for each in findings for length in each.result.found_at})
    return Table(
        name="leftovers",
        title="Missed identifiers, and those among the attacker's first picks",
        columns=(
            "Policy",
            "Recall",
            "Identifiers",
            "Candidates",
            "Leftovers",
            *(f"In first {n}" for n in lengths),
        ),
        rows=tuple(
            (
                each.policy,
                str(each.recall),
                each.gold,
                each.result.candidates,
                each.result.leftovers,
                *(each.result.found_at.get(length, "n/a") for length in lengths),
            )
            for each in findings
        ),
    )


def _by_category(findings: Sequence[AttackFinding]) -> Table:
    rows: list[tuple[Any, ...]] = [
        (each.policy, str(each.recall), label, *counts)
        for each in findings
        for label, counts in each.result.by_group.items()
    ]
    return Table(
        name="by_category",
        title=(
            "Missed identifiers by category, and those among as many picks as there are missed"
            " identifiers"
        ),
        columns=("Policy", "Recall", "Category", "Leftovers", "Picked"),
        rows=tuple(rows),
    )
