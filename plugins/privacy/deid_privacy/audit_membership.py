"""The audit ``membership``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deid_assets.extending.audits import AuditResult, Control, Material, Measurement, Rule, Table, conclude
from deid_assets.extending.measuring import auc
from deid_privacy.auditing import SURE, Samples, control, measured, opened, samples, work
from deid_privacy.controls import MOST, over_fitted
from deid_privacy.measures import FEWEST, Decision, check_sizes, estimated, grouped, ranking, threshold
from deid_privacy.membership import ATTACKS, Floats, Setup, check_disjoint, scores
from deid_privacy.scoring import Scorer

if TYPE_CHECKING:
    from deid_privacy.audits import Membership


def run(audit: Membership, material: Material) -> AuditResult:
    """Return the result; see ``Membership``.

    Raises:
        InputError: Sets overlap, are too small, or the model cannot be used.
    """
    seed = material.seed
    inside, outside, calibration = (
        samples(notes, most=audit.most, seed=seed)
        for notes in (material.training, material.held_out, material.calibration)
    )
    check_disjoint(calibration.texts, inside.texts, outside.texts)
    check_sizes(len(inside.texts), len(outside.texts), unit="samples")
    target = opened(material.model, outside.texts)
    references = [opened(material.reference, outside.texts)] if material.reference else []
    setup = Setup(target, references, calibration.texts, seed=seed)
    attacks = audit.attacks or ATTACKS
    both = [scores(part.texts, setup, attacks) for part in (inside, outside)]
    thresholds = scores(calibration.texts, setup, attacks)
    figures: list[Measurement] = []
    notes_left_out: list[str] = []
    for attack in both[0]:
        found, left_out = _of_attack(attack, (both[0][attack], both[1][attack]), (inside, outside))
        border = threshold(thresholds[attack], alpha=audit.alpha)
        decision = Decision.at(both[0][attack], both[1][attack], border)
        figures += [*found, *measured(decision.estimates(unit="samples"), group=attack, unit="samples")]
        notes_left_out += [f"{attack}: {reason}" for reason in left_out]
    areas = [one for one in figures if one.name == "AUC"]
    strongest = max(areas, key=lambda one: one.value)
    rule = Rule(
        name="no attack tells members apart",
        passed=all(bool(one.high <= audit.limit) for one in areas),
        description=f"the upper end of every AUC's interval is at most {audit.limit:g}; strongest: {strongest.group}",
    )
    return conclude(
        audit,
        figures=figures,
        controls=_controls(inside, outside, target, seed=seed),
        rules=[rule],
        tables=[_table(areas), *_left_out(notes_left_out)],
        counts={"in-set": len(inside.texts), "out-set": len(outside.texts), "calibration": len(calibration.texts)}
        | work(target, *references),
    )


def _of_attack(
    attack: str, values: tuple[Floats, Floats], sides: tuple[Samples, Samples]
) -> tuple[list[Measurement], list[str]]:
    """Return the figures of samples, and areas of notes and patients where there are enough of them."""
    found, left_out = ranking(*values, unit="samples")
    figures = measured(found, group=attack, unit="samples")
    for level, groups in (("notes", [one.notes for one in sides]), ("patients", [one.patients for one in sides])):
        means = [grouped(part, group) for part, group in zip(values, groups, strict=True)]
        if min(map(len, means)) < FEWEST:
            left_out.append(f"AUC of {level}: one side has {min(map(len, means))}, {FEWEST} are needed")
            continue
        area = estimated(f"AUC of {level}", means[0], means[1], auc, chance=0.5, unit=level)
        figures += measured([area], group=attack, unit=level)
    return figures, left_out


def _controls(inside: Samples, outside: Samples, target: Scorer, *, seed: int) -> list[Control]:
    """Return what the attack does on a tiny model that learnt half of a part of the in-set by heart."""
    half = min(MOST, len(inside.texts) // 2)
    learnt, unread = inside.texts[:half], inside.texts[half : 2 * half]
    scorer = Scorer(over_fitted(learnt, target.lm.kind, seed=seed))
    values = [np.array([-one.loss for one in scorer.tokens(part)]) for part in (learnt, unread, outside.texts)]
    told = "A tiny model of the same kind learns some samples by heart; the attack by loss is run on it."
    return [
        control(
            "over-fitted model",
            estimated("AUC", values[0], values[2], auc, chance=0.5, unit="samples"),
            expected=True,
            border=0.75,
            description=f"{told} What it learnt against the out-set.",
            unit="samples",
        ),
        control(
            "model that did not read them",
            estimated("AUC", values[1], values[2], auc, chance=0.5, unit="samples"),
            expected=False,
            border=SURE,
            description=f"{told} What it did not learn against the out-set.",
            unit="samples",
        ),
    ]


def _table(areas: Sequence[Measurement]) -> Table:
    rows = tuple((one.group, one) for one in sorted(areas, key=lambda one: -one.value))
    return Table(name="attacks", title="AUC of each attack on samples", columns=("attack", "AUC"), rows=rows)


def _left_out(reasons: Sequence[str]) -> list[Table]:
    rows = tuple((reason,) for reason in reasons)
    title = "Figures left out, for want of units for an interval"
    return [Table(name="left_out", title=title, columns=("figure",), rows=rows)] if rows else []
