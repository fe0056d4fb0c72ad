"""From the scores of a membership attack to figures, controls and what must hold of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending.audits import Control, Measurement, Rule, Table
from deid_assets.extending.measuring import auc
from deid_audits.models.auditing import SURE, Samples, control, make_measurements
from deid_audits.models.measures import (
    AT_RATE,
    Owners,
    ThresholdDecisions,
    average_groups,
    estimate_measure,
    ranking,
    threshold,
)

Floats = NDArray[np.float64]


def rules_of(figures: Sequence[Measurement], *, limit: float, low_limit: float) -> list[Rule]:
    """Return what must hold of the worst figure.

    Of every attack, and of samples, notes and patients alike.
    """
    worst = max((one for one in figures if one.name.startswith("AUC")), key=reach)
    rules = [
        Rule(
            name="no attack tells members apart",
            passed=reach(worst) <= limit,
            description=(
                f"the interval of every AUC ends at {limit:g} or below, and that of the attack"
                f" turned round as well; the farthest reaches {reach(worst):.3f}, {worst.name} by"
                f" {worst.group}, of {worst.units:,} {worst.unit}"
            ),
        )
    ]
    if low := [one for one in figures if one.name.startswith(AT_RATE)]:
        worst = max(low, key=lambda one: one.high)
        rules.append(
            Rule(
                name="no attack is sure of some members",
                passed=worst.high <= low_limit,
                description=(
                    "the upper end of the true positives at few false ones is at most"
                    f" {low_limit:g}; the highest is {worst.high:.3f}, {worst.name} by"
                    f" {worst.group}"
                ),
            )
        )
    return rules


def reach(area: Measurement) -> float:
    """Return how far an AUC's interval reaches from chance, on the side that is farther.

    Members that are told by a lower score are told as well.
    """
    return max(area.high, 1 - area.low)


def figures_of_attacks(
    scores: Sequence[Mapping[str, Floats]],
    attacks: Iterable[str],
    sides: tuple[Samples, Samples],
    *,
    alpha: float,
) -> tuple[list[Measurement], list[str]]:
    """Return the figures of each attack, and why some are left out.

    Args:
        scores: Attack to the scores of the in-set, the out-set and the calibration notes.
        attacks: Which of them, in order.
        sides: The in-set and the out-set.
        alpha: Share of the calibration notes that lie above the border of a decision.
    """
    inside, outside, calibration = scores
    figures: list[Measurement] = []
    left_out: list[str] = []
    for attack in attacks:
        values = inside[attack], outside[attack]
        found, lacking = _figures_of(attack, values, sides)
        border = threshold(calibration[attack], alpha=alpha)
        decided = ThresholdDecisions.at(*values, border).estimates(unit="samples")
        figures += [*found, *make_measurements(decided, group=attack, unit="samples")]
        left_out += [f"{attack}: {reason}" for reason in lacking]
    return figures, left_out


def _figures_of(
    attack: str, values: tuple[Floats, Floats], sides: tuple[Samples, Samples]
) -> tuple[list[Measurement], list[str]]:
    """Return the figures of samples, and areas of notes and patients where there are enough of
    them.
    """
    owners = sides[0].patients, sides[1].patients
    found, left_out = ranking(*values, owners=owners, unit="patients")
    figures = make_measurements(found, group=attack, unit="patients")
    for level, groups in (
        ("notes", [one.notes for one in sides]),
        ("patients", [one.patients for one in sides]),
    ):
        means = [average_groups(part, group) for part, group in zip(values, groups, strict=True)]
        own = [_owners(side.patients, group) for side, group in zip(sides, groups, strict=True)]
        area = estimate_measure(
            f"AUC of {level}",
            means[0],
            means[1],
            auc,
            chance=0.5,
            owners=(own[0], own[1]),
            unit="patients",
        )
        figures += make_measurements([area], group=attack, unit="patients")
    return figures, left_out


def _owners(patients: Sequence[str], groups: Sequence[str]) -> list[str]:
    """Return the patient of each group, in the order in which groups first stand."""
    owner = dict(zip(groups, patients, strict=True))
    return [owner[group] for group in dict.fromkeys(groups)]


def reacts(
    name: str,
    inside: Floats,
    outside: Floats,
    description: str,
    *,
    expected: bool,
    owners: Owners | None = None,
) -> Control:
    """Return a control that reacts where the AUC of two sets of scores is far from chance.

    Args:
        name: Of the control.
        inside: Scores of what was learnt: (samples,).
        outside: Scores of what was not: (samples,).
        description: What is compared.
        expected: Whether it must react.
        owners: Patients of both, which are resampled; samples where not given.
    """
    unit = "patients" if owners else "samples"
    area = estimate_measure("AUC", inside, outside, auc, chance=0.5, owners=owners, unit=unit)
    border = 0.75 if expected else SURE
    return control(name, area, expected=expected, border=border, description=description, unit=unit)


def table_of_areas(areas: Sequence[Measurement]) -> Table:
    """Return the AUC of each attack, the highest first."""
    rows = tuple((one.group, one) for one in sorted(areas, key=lambda one: -one.value))
    return Table(
        name="attacks",
        title="AUC of each attack on samples, patients resampled",
        columns=("attack", "AUC"),
        rows=rows,
    )


def tables_left_out(reasons: Sequence[str]) -> list[Table]:
    """Return the table of figures that are left out, where there are any."""
    rows = tuple((reason,) for reason in reasons)
    title = "Figures left out, for want of units for an interval"
    return [Table(name="left_out", title=title, columns=("figure",), rows=rows)] if rows else []
