"""The A/B/C protocol: does a membership score see that the names were replaced?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid_assets.extending import InputError
from deid_assets.extending.measuring import auc
from deid_audits.models.measures import AttackEstimate, difference, estimate_measure
from deid_audits.models.membership import Setup, check_disjoint, scores
from deid_audits.models.scoring import Scorer
from deid_audits.models.slots import Slot, rank_answers, summary


@dataclass(frozen=True, slots=True)
class Roles:
    """Texts of the protocol (Vakili and Dalianis 2023).

    Args:
        members: A: a random sample of what the model was trained on.
        out: Held-out texts of the same kind as A.
        named: B: texts with names that the model was trained on.
        twin: C: the same with every name replaced: what an attacker with the originals would have,
            had the names been replaced perfectly before training.
        matched: Held-out texts with names, like B in form, so that form does not tell in from out.
    """

    members: Sequence[str]
    out: Sequence[str]
    named: Sequence[str]
    twin: Sequence[str]
    matched: Sequence[str]


@dataclass(frozen=True, slots=True)
class Blindness:
    """Result for one attack.

    Args:
        attack: Its name.
        random: AUC of A against its out-set.
        named: AUC of B against the matched out-set.
        twin: AUC of C against it.
        gap: AUC(B) - AUC(C).
        unmatched: AUC of B against the out-set of A, in which form alone may tell.
    """

    attack: str
    random: AttackEstimate
    named: AttackEstimate
    twin: AttackEstimate
    gap: AttackEstimate
    unmatched: AttackEstimate


def check_twin(named: Sequence[str], twin: Sequence[str]) -> None:
    """Refuse a twin that differs from its original in more than its names.

    Raises:
        InputError: It has another number of texts or of words, or is the same.
    """
    if len(named) != len(twin):
        raise InputError(
            f"the twin has {len(twin)} texts and its original {len(named)}; give one for each"
        )
    for number, (one, other) in enumerate(zip(named, twin, strict=True)):
        if len(one.split()) != len(other.split()):
            raise InputError(
                f"text {number}: its twin is of another length; a twin differs in the words of"
                " names alone"
            )
        if one == other:
            raise InputError(f"text {number}: its twin is the same text; replace its names")


def blindness(roles: Roles, setup: Setup, attacks: Sequence[str]) -> list[Blindness]:
    """Return the protocol's figures for each attack.

    Raises:
        InputError: The twin does not fit, sets overlap, or there is too little for an interval.
    """
    check_twin(roles.named, roles.twin)
    check_disjoint(setup.calibration, [*roles.members, *roles.named], [*roles.out, *roles.matched])
    parts = [roles.members, roles.out, roles.named, roles.twin, roles.matched]
    found = scores([text for part in parts for text in part], setup, attacks)
    ends = np.cumsum([len(part) for part in parts])[:-1]
    results = []
    for attack, values in found.items():
        members, out, named, twin, matched = np.split(values, ends)
        results.append(
            Blindness(
                attack,
                estimate_measure("AUC(A)", members, out, auc, chance=0.5),
                estimate_measure("AUC(B)", named, matched, auc, chance=0.5),
                estimate_measure("AUC(C)", twin, matched, auc, chance=0.5),
                difference(named, twin, matched),
                estimate_measure("AUC(B), unmatched", named, out, auc, chance=0.5),
            )
        )
    return results


def entity_level(
    questions: Sequence[Slot], scorer: Scorer, *, reference: Scorer | None = None
) -> list[AttackEstimate]:
    """Return the measure that does react to names.

    Where the true name ranks among others in its own sentence.

    Raises:
        InputError: There is too little for an interval.
    """
    return summary(rank_answers(questions, scorer, reference=reference), unit="people")
