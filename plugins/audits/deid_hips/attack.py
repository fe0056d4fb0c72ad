"""Hiding in plain sight, measured.

Can an attacker tell what was missed from what was put in its place?

The attack is the "parrot attack" of Carrell et al. (2019): the attacker has the same tool and notes
of their own, so they know what its output looks like, learn to tell missed identifiers from
replacements there, and rank the identifiers of the release by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import InputError, Phi
from deid_assets.extending.audits import Case, Injector, Key, Policy
from deid_hips.features import featurize, words_written
from deid_hips.leftovers import ReleasedNote, release, split
from deid_hips.logistic import Logistic, fit
from deid_hips.ranking import Interval, Yield, judge

RECALLS = (0.8, 0.9, 0.95, 0.97, 0.99)
TRAINING_SHARE = 0.3
"""Share that the attacker drops in notes of their own, to have missed identifiers to learn from."""
KNOWN_KEYS = 4
"""Keys under which the attacker runs the tool, to see what words it writes."""
FOUND_AT = (10, 50, 100)
MIN_MISSES = 10
DETECTED = "detected"
"""Word in place of a recall: the detector's own misses."""


@dataclass(frozen=True, slots=True)
class AttackOptions:
    """Options of the attack.

    Args:
        recalls: Shares of the gold that are redacted; the rest is dropped at random.
        shares: Other shares to drop, per category, at every recall.
        seed: Of draws, halves and intervals.
    """

    recalls: Sequence[float] = RECALLS
    shares: Mapping[Phi, float] = field(default_factory=dict)
    seed: int = 1

    def __post_init__(self) -> None:
        if wrong := [recall for recall in self.recalls if not 0 < recall < 1]:
            raise InputError(f"a recall to draw is between 0 and 1, got {wrong[0]}")


@dataclass(frozen=True, slots=True)
class AttackFinding:
    """The yield of the attack on one release.

    Args:
        policy: Its name.
        recall: Share of the gold that was redacted, as asked for; ``detected`` where a detector's
            misses are used.
        gold: Identifiers there were in the attacked half.
        notes: Notes of that half in which there is something to look at.
        result: What the attacker got.
    """

    policy: str
    recall: float | str
    gold: int
    notes: int
    result: Yield

    def to_json(self) -> dict[str, Any]:
        """Return the figures under plain names; intervals are [value, lower, upper] at 95 %.

        ``by_category`` has missed identifiers, and those of them among the first as many as there
        are of them.
        """
        return {
            "policy": self.policy,
            "recall": self.recall,
            "gold": self.gold,
            "candidates": self.result.candidates,
            "leftovers": self.result.leftovers,
            "base_rate": self.result.base_rate,
            "auc": _list_bounds(self.result.auc),
            "precision": _list_bounds(self.result.precision),
            "by_category": {label: list(counts) for label, counts in self.result.by_group.items()},
            "found_at": {str(length): found for length, found in self.result.found_at.items()},
        }


def attack(
    cases: Sequence[Case], policies: Sequence[Policy], *, key: Key, setting: AttackOptions
) -> list[AttackFinding]:
    """Return the yield for each policy and recall, and for what the detector missed where it missed
    something.

    Half of the patients are the attacker's, half are attacked, under different keys. The attacker
    trains once per policy on identifiers missed at random, and once more on the detector's own
    misses where there are at least ten.

    Args:
        cases: Notes with gold and with what was detected; where ``found`` is the gold itself, only
            random draws are used.
        policies: How they are redacted.
        key: Stands for the installation's; the attacker's are derived from it.
        setting: Recalls and seed.

    Raises:
        InputError: There are too few notes, or no gold.
        PolicyError: A policy cannot be carried out.
    """
    own, attacked = split(cases, key=Key(key.derive("hips", str(setting.seed))))
    return [
        finding
        for policy in policies
        for finding in _on_policy(own, attacked, policy, key, setting)
    ]


def _on_policy(
    own: Sequence[Case], attacked: Sequence[Case], policy: Policy, key: Key, setting: AttackOptions
) -> list[AttackFinding]:
    model, known = _attacker(own, policy, key, setting)
    findings = []
    for recall in setting.recalls:
        injector = Injector(1 - recall, setting.shares, setting.seed)
        released = release(_drop(attacked, injector), policy, key=key)
        findings.append(
            _finding(policy, recall, attacked, released, _score(model, released, known), setting)
        )
    if any(case.found is not case.gold for case in (*own, *attacked)):
        missed = release(own, policy, key=_key_of(key, 0))
        if sum(_truth(missed)) >= MIN_MISSES:
            model = _train(missed, known)
        released = release(attacked, policy, key=key)
        findings.append(
            _finding(policy, DETECTED, attacked, released, _score(model, released, known), setting)
        )
    return findings


def attack_on_nothing(
    cases: Sequence[Case], policy: Policy, *, key: Key, setting: AttackOptions, share: float
) -> tuple[Yield, int]:
    """Return the yield on a release in which nothing is left, with replacements taken for
    missed identifiers by a draw.

    The attacker is the one of ``attack``; there is nothing that it could find.

    Args:
        cases: As for ``attack``.
        policy: How they are redacted.
        key: As for ``attack``.
        setting: Its seed counts.
        share: Of the replacements that are taken for missed identifiers.

    Returns:
        The yield, and the notes that hold a replacement.

    Raises:
        InputError: As for ``attack``.
    """
    own, attacked = split(cases, key=Key(key.derive("hips", str(setting.seed))))
    model, known = _attacker(own, policy, key, setting)
    released = release(_perfect(attacked), policy, key=key)
    note_of = [number for number, note in enumerate(released) for _ in note.candidates]
    drawn = np.random.default_rng([setting.seed, 7]).random(len(note_of)) < share
    result = judge(
        _score(model, released, known), drawn.tolist(), note_of, at=(), seed=setting.seed
    )
    return result, len(set(note_of))


def _attacker(
    own: Sequence[Case], policy: Policy, key: Key, setting: AttackOptions
) -> tuple[Logistic | None, frozenset[str]]:
    """Return what the attacker learnt from notes of their own, and the words that the
    tool writes.
    """
    known = frozenset[str]().union(
        *(
            words_written(release(_perfect(own), policy, key=_key_of(key, number)))
            for number in range(1, KNOWN_KEYS + 1)
        )
    )
    dropped = Injector(TRAINING_SHARE, seed=setting.seed + 1_000)
    return _train(release(_drop(own, dropped), policy, key=_key_of(key, 0)), known), known


def _key_of(key: Key, number: int) -> Key:
    return Key(key.derive("attacker", str(number)))


def _perfect(cases: Sequence[Case]) -> list[Case]:
    return [replace(case, found=case.gold) for case in cases]


def _drop(cases: Sequence[Case], injector: Injector) -> list[Case]:
    return [replace(case, found=injector.keep(case.gold)) for case in cases]


def _train(released: Sequence[ReleasedNote], known: frozenset[str]) -> Logistic | None:
    """Return the attacker's model.

    ``None`` where the policy writes nothing, so that all that is left is real.
    """
    truth = _truth(released)
    return None if all(truth) else fit(featurize(released, known=known), truth)


def _score(
    model: Logistic | None, released: Sequence[ReleasedNote], known: frozenset[str]
) -> NDArray[np.float64]:
    rows = featurize(released, known=known)
    return np.zeros(len(rows)) if model is None else model.scores(rows)


def _truth(released: Sequence[ReleasedNote]) -> list[bool]:
    return [each.is_leftover for note in released for each in note.candidates]


def _finding(  # noqa: PLR0917 - called from two places, with the same names
    policy: Policy,
    recall: float | str,
    attacked: Sequence[Case],
    released: Sequence[ReleasedNote],
    scores: NDArray[np.float64],
    setting: AttackOptions,
) -> AttackFinding:
    note_of = [number for number, note in enumerate(released) for _ in note.candidates]
    gold = sum(span.label not in policy.may_leave for case in attacked for span in case.gold)
    groups = [each.label.value for note in released for each in note.candidates]
    result = judge(scores, _truth(released), note_of, at=FOUND_AT, seed=setting.seed, groups=groups)
    return AttackFinding(policy.name, recall, gold, len(set(note_of)), result)


def _list_bounds(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)
