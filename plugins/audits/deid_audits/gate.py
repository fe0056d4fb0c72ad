"""The release gate of a model: refused, with the reason, where a rule fails."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from deid_assets.extending.audits import AuditResult, Outcome
from deid_audits.checklist import FOUND, Answer, answers
from deid_audits.facts import Facts
from deid_audits.lineage import Lineage, Trained, lineage


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a model may leave.

    Args:
        reasons: Why not, a line each; none where it may.
        lineage: What it rests on.
        answers: The checklist.
        trained: What the model's card says that it read.
    """

    reasons: tuple[str, ...]
    lineage: Lineage
    answers: tuple[Answer, ...]
    trained: Trained

    @property
    def released(self) -> bool:
        """Whether it may leave."""
        return not self.reasons

    def to_json(self) -> dict[str, Any]:
        """Return it under plain names."""
        return {
            "released": self.released,
            "reasons": list(self.reasons),
            "raw_sources": list(self.lineage.raw),
            "read_by_card": dict(self.trained.rows),
            "checklist": [
                {"item": each.item.name, "law": each.item.law, "evidence": each.evidence} for each in self.answers
            ],
        }


def judge(
    results: Sequence[AuditResult], facts: Facts, *, trained: Trained | None = None, today: dt.date | None = None
) -> Decision:
    """Return whether a model may leave, by the rules of its facts.

    A rule that nothing answers is a failed one. A raw source without a permit, one that the model was trained on
    directly, one that the ledger does not have, and a card that says otherwise refuse the model unless ``permits`` is
    switched off.

    Args:
        results: Of audits of the model.
        facts: Of the model, with the rules.
        trained: What the model's card says, where it was read; see ``sources``.
        today: Day on which permits must hold; the present one when not given.
    """
    found, read = lineage(facts, today=today), trained or Trained()
    answered = tuple(answers(results, facts, found))
    rules = facts.rules
    reasons = [
        *_of_audits(results, rules.audits),
        *(reason for category, least in rules.recall.items() for reason in _of_recall(results, category, least)),
        *((*found.faults, *read.faults) if rules.permits else ()),
        *(
            f"checklist: {each.item.law}, {each.item.name}: no evidence"
            for each in answered
            if each.item.law in rules.checklist and each.is_gap
        ),
    ]
    laws = {each.item.law for each in answered}
    reasons += [
        f"checklist: no law {law!r}; there are {', '.join(sorted(laws))}" for law in rules.checklist if law not in laws
    ]
    return Decision(tuple(reasons), found, answered, read)


def _of_audits(results: Sequence[AuditResult], wanted: Sequence[str]) -> Iterator[str]:
    for name in wanted:
        found = [result for result in results if result.audit == name]
        if not found:
            yield f"audit {name}: not assessed: there is no result"
        for result in found:
            if result.outcome is not Outcome.PASSED:
                yield f"audit {name}: {result.outcome.value}: {result.reason}"


def _of_recall(results: Sequence[AuditResult], category: str, least: float) -> Iterator[str]:
    lows = [
        figure.low for result in results if result.audit == "residue" and result.outcome is not Outcome.VOID
        for figure in result.figures if figure.name == FOUND and figure.group == category
    ]  # fmt: skip
    if not lows:
        yield f"recall of {category}: not assessed: audit residue has no such figure"
    elif min(lows) < least:
        yield f"recall of {category}: lower end {min(lows):.3f}, at least {least:.3f} is asked"
