"""The audit ``membership``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deid_assets import Note
from deid_assets.extending.audits import (
    AuditResult,
    Control,
    Material,
    Measurement,
    Table,
    conclude,
)
from deid_assets.extending.measuring import auc
from deid_audits.models import gradients
from deid_audits.models.auditing import (
    AuditProgress,
    Samples,
    make_measurements,
    open_scorer,
    samples,
    work,
)
from deid_audits.models.controls import MOST, overfit, plant
from deid_audits.models.judging import (
    figures_of_attacks,
    reacts,
    rules_of,
    table_of_areas,
    tables_left_out,
)
from deid_audits.models.measures import check_sizes, estimate_measure
from deid_audits.models.membership import ATTACKS, Floats, Setup, check_disjoint, scores
from deid_audits.models.options import OfMembership
from deid_audits.models.scoring import Scorer
from deid_audits.models.shadows import FEWEST as FEWEST_SHADOWS
from deid_audits.models.shadows import halves, ratios, read_shadows

SHADOWS, GRADIENT = "shadow_models", "gradient"


def run(audit: OfMembership, material: Material) -> AuditResult:
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
    check_sizes(len(set(inside.patients)), len(set(outside.patients)), unit="patients")
    target = open_scorer(material.model, outside.texts)
    references = [open_scorer(material.reference, outside.texts)] if material.reference else []
    setup = Setup(target, references, calibration.texts, seed=seed)
    attacks = audit.attacks or ATTACKS
    progress = AuditProgress(material.report, _steps(attacks))
    scored = _score(audit, material, (inside, outside, calibration), setup, progress)
    progress.begin()
    figures, left_out = figures_of_attacks(
        scored.of_sets, scored.of_sets[0], (inside, outside), alpha=audit.alpha
    )
    areas = [one for one in figures if one.name == "AUC"]
    progress.begin()
    return conclude(
        audit,
        figures=figures,
        controls=_controls(
            inside, outside, calibration, target, seed=seed, of_shadows=bool(audit.shadows)
        ),
        rules=rules_of(figures, limit=audit.limit, low_limit=audit.low_limit),
        tables=[table_of_areas(areas), *scored.tables, *tables_left_out(left_out)],
        counts={
            "in-set": len(inside.texts),
            "out-set": len(outside.texts),
            "calibration": len(calibration.texts),
        }
        | work(target, *references),
    )


@dataclass(frozen=True, slots=True)
class _Scored:
    """Scores by attack of the in-set, the out-set and the calibration notes, with tables."""

    of_sets: list[dict[str, Floats]]
    tables: list[Table]


def _score(
    audit: OfMembership,
    material: Material,
    sets: Sequence[Samples],
    setup: Setup,
    progress: AuditProgress,
) -> _Scored:
    """Run the attacks on the three sets."""
    attacks, target = audit.attacks or ATTACKS, setup.target
    plain = [name for name in attacks if name != GRADIENT]
    of_sets: list[dict[str, Floats]] = []
    for part in sets:
        progress.begin()
        of_sets.append(scores(part.texts, setup, plain) if plain else {})
    tables: list[Table] = []
    if GRADIENT in attacks:
        progress.begin()
        found = [gradients.scores(part.texts, target) for part in sets]
        for values, of_groups in zip(of_sets, found, strict=True):
            values[GRADIENT] = of_groups[gradients.WHOLE]
        tables.append(_groups(found[0], found[1]))
    if audit.shadows:
        of_shadows = _shadows(audit.shadows, material, sets, target)
        for values, own in zip(of_sets, of_shadows.ratios, strict=True):
            values[SHADOWS] = own
        tables.append(of_shadows.table)
    return _Scored(of_sets, tables)


def _steps(attacks: Sequence[str]) -> list[str]:
    of_sets = [f"scores of {name} samples" for name in ("training", "held-out", "calibration")]
    of_gradients = ["gradients"] if GRADIENT in attacks else []
    return [*of_sets, *of_gradients, "intervals", "the control: a copy of the model learns samples"]


@dataclass(frozen=True, slots=True)
class _OfShadows:
    """Ratios of the in-set, the out-set and the calibration notes, and what each shadow model gives
    in the target's place.
    """

    ratios: list[Floats]
    table: Table


def _shadows(
    folder: Path, material: Material, sets: Sequence[Samples], target: Scorer
) -> _OfShadows:
    """Attack the target, and each shadow model in its place, with the shadow models that are left.

    Raises:
        InputError: The folder is not one of shadow models, or they were trained on other notes.
    """
    shadows = read_shadows(folder)
    texts = [text for part in sets for text in part.texts]
    given, read = shadows.scores([*material.training, *material.held_out], texts, target)
    own = np.array([-one.loss for one in target.tokens(texts)])
    ends = np.cumsum([len(part.texts) for part in sets])
    asked = np.arange(len(texts)) < ends[1]
    rows: list[tuple[str, Measurement]] = []
    for number in range(shadows.count):
        others = np.arange(shadows.count) != number
        values = ratios(given[number], given[others], read[others])
        area = estimate_measure(
            "AUC",
            values[asked & read[number]],
            values[asked & ~read[number]],
            auc,
            chance=0.5,
            unit="samples",
        )
        rows += [
            (str(number + 1), one)
            for one in make_measurements([area], group=f"shadow model {number + 1}", unit="samples")
        ]
    title = "AUC of the likelihood ratio of shadow models, on each of them in the target's place"
    table = Table(name=SHADOWS, title=title, columns=("shadow model", "AUC"), rows=tuple(rows))
    return _OfShadows(np.split(ratios(own, given, read), ends[:-1]), table)


def _groups(inside: Mapping[str, Floats], outside: Mapping[str, Floats]) -> Table:
    """Return the area of the norm of each group of weights."""
    rows = []
    for group in inside:
        area = estimate_measure(
            "AUC", inside[group], outside[group], auc, chance=0.5, unit="samples"
        )
        rows += [(group, one) for one in make_measurements([area], group=group, unit="samples")]
    title = "AUC of the gradient's norm, by group of weights"
    return Table(name=GRADIENT, title=title, columns=("weights", "AUC"), rows=tuple(rows))


def _controls(
    inside: Samples,
    outside: Samples,
    others: Samples,
    target: Scorer,
    *,
    seed: int,
    of_shadows: bool,
) -> list[Control]:
    """Return what the attack does on a copy of the target that was trained on held-out samples, and
    on the target itself.
    """
    found = _controls_by_loss(outside, others, target, seed=seed)
    if not of_shadows:
        return found
    half = min(MOST, len(inside.texts) // 2)
    return [
        *found,
        *_controls_of_shadows(
            inside.texts[:half],
            inside.texts[half : 2 * half],
            outside.texts[:half],
            target,
            seed=seed,
        ),
    ]


def _controls_by_loss(
    outside: Samples, others: Samples, target: Scorer, *, seed: int
) -> list[Control]:
    learnt = Samples(outside.texts[:MOST], outside.notes[:MOST], outside.patients[:MOST])
    copied = Scorer(plant(target.lm, learnt.texts, seed=seed))
    told = (
        "held-out samples against samples for calibration, which it never read; the attack by loss"
        " is run on it."
    )
    found = []
    for name, scorer, expected, what in (
        (
            "samples planted in the target",
            copied,
            True,
            "A copy of the target learns held-out samples by heart:",
        ),
        ("the target without them", target, False, "The target itself:"),
    ):
        values = [
            np.array([-one.loss for one in scorer.tokens(part.texts)]) for part in (learnt, others)
        ]
        found.append(
            reacts(
                name,
                values[0],
                values[1],
                f"{what} {told}",
                expected=expected,
                owners=(learnt.patients, others.patients),
            )
        )
    return found


def _controls_of_shadows(
    learnt: Sequence[str],
    unread: Sequence[str],
    others: Sequence[str],
    target: Scorer,
    *,
    seed: int,
) -> list[Control]:
    """Return what tiny shadow models tell of an over-fitted tiny model, and of one that read
    neither side.
    """
    fitted = Scorer(overfit(learnt, target.lm.kind, seed=seed))
    values = [np.array([-one.loss for one in fitted.tokens(part)]) for part in (learnt, unread)]
    texts = [*learnt, *unread]
    read = halves(
        [Note(f"control-{at}", text) for at, text in enumerate(texts)], FEWEST_SHADOWS, seed=seed
    )
    given = []
    for own in (*read, None):
        part = (
            others
            if own is None
            else [text for text, inside in zip(texts, own, strict=True) if inside]
        )
        scorer = Scorer(overfit(part, target.lm.kind, seed=seed + 1))
        given.append([-one.loss for one in scorer.tokens(texts)])
    shadows, stranger = np.array(given[:-1]), np.array(given[-1])
    told = f"{FEWEST_SHADOWS} tiny shadow models learn halves of some samples by heart."
    found = []
    for name, own, expected, what in (
        (
            "shadow models of an over-fitted model",
            np.concatenate(values),
            True,
            "The target learnt half of these.",
        ),
        ("shadow models of another model", stranger, False, "The target learnt others."),
    ):
        ratio = ratios(own, shadows, read)
        found.append(
            reacts(
                name,
                ratio[: len(learnt)],
                ratio[len(learnt) :],
                f"{told} {what}",
                expected=expected,
            )
        )
    return found
