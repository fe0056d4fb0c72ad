"""Membership inference: was this text among those that the model was trained on?"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import InputError
from deid_audits.models import gradients
from deid_audits.models.scoring import PATTERNS, Scorer, TextScores

Floats = NDArray[np.float64]
ATTACKS = (
    "energy",
    "loss",
    "reference",
    "zlib",
    "likelihood_ratio",
    "neighbourhood",
    "min_k",
    "min_k_plus",
    "rmia",
    "gradient",
)
NEED_REFERENCE = frozenset({"reference", "likelihood_ratio", "rmia"})
LOWEST = 0.2
"""Share of the tokens that min-k looks at (Shi et al. 2024)."""
NEIGHBOURS = 10
NEIGHBOUR_PARTS = 2
"""Parts of its words, of about seven, that a masked model is asked for."""
REPLACED = 0.15
"""Share of the words that a neighbour has others for."""
RUN, COPIED, MOST_COPIED = 8, 0.75, 0.1
"""Words in a row; share of them that a copy of a text has; share of a set that may be copies, as
forms of a hospital are.
"""
_WORDS = re.compile(r"\w+")
GAMMA = 1.0
"""Factor by which a text's ratio must exceed that of a text of the population (Zarifzadeh et al.
2024).
"""


@dataclass(frozen=True, slots=True)
class Setup:
    """Materials of the attacks, the same for every set that is scored.

    Args:
        target: The model under attack.
        references: Models that did not read its training text; the last one alone where an attack
            takes one.
        calibration: Texts like those of the in-set, none of them a member: thresholds, RMIA's
            population, and the words of neighbours come from them.
        patterns: Mask patterns of energies.
        seed: Of every draw.
    """

    target: Scorer
    references: Sequence[Scorer]
    calibration: Sequence[str]
    patterns: int = PATTERNS
    seed: int = 1
    _population: dict[str, Floats] = field(default_factory=dict, repr=False)


def check_disjoint(
    calibration: Sequence[str], inside: Sequence[str], outside: Sequence[str] = ()
) -> None:
    """Refuse a calibration set that shares a text with what is judged by it.

    Nor may held-out or calibration texts be those of the training with a few changes: a model tells
    neither from the other, and passes.

    Raises:
        InputError: One does.
    """
    for side, texts in (("in-set", inside), ("out-set", outside)):
        if shared := len(set(calibration) & set(texts)):
            raise InputError(
                f"the calibration set shares {shared} texts with the {side}; a threshold is taken"
                " from other texts, give notes that are in neither"
            )
    if shared := len(set(inside) & set(outside)):
        raise InputError(
            f"the in-set shares {shared} texts with the out-set; a text is in one of them"
        )
    for side, texts in (("out-set", outside), ("calibration set", calibration)):
        copied = _count_copied(texts, inside)
        if copied > MOST_COPIED * len(texts):
            raise InputError(
                f"{copied} of the {len(texts)} texts of the {side} are texts of the in-set with"
                " other line ends, letters or a few other words; give notes that the model was not"
                " trained on in any form"
            )


def _count_copied(texts: Sequence[str], others: Sequence[str]) -> int:
    """Return how many texts say what others say, but for a few words."""
    known = {run for text in others for run in _runs(text)}
    found = 0
    for text in texts:
        runs = _runs(text)
        found += bool(runs) and sum(run in known for run in runs) >= COPIED * len(runs)
    return found


def _runs(text: str) -> list[tuple[str, ...]]:
    """Return every few words in a row, without regard to case, blanks and punctuation."""
    words = _WORDS.findall(text.casefold())
    return [tuple(words[at : at + RUN]) for at in range(max(1, len(words) - RUN + 1)) if words]


def scores(
    texts: Sequence[str], setup: Setup, attacks: Sequence[str] = ATTACKS
) -> dict[str, Floats]:
    """Return the score of each text under each attack; the higher, the likelier a member.

    Attacks that need a reference are left out where there is none.

    Raises:
        InputError: An attack is not known.
    """
    if unknown := sorted(set(attacks) - set(ATTACKS)):
        raise InputError(f"unknown attack {unknown[0]!r}; choose of {', '.join(ATTACKS)}")
    wanted = [name for name in attacks if setup.references or name not in NEED_REFERENCE]
    own = setup.target.tokens(texts)
    losses = np.array([one.loss for one in own])
    found = {"loss": -losses, **_of_tokens(texts, own)}
    if {"energy", "likelihood_ratio"} & set(wanted):
        found["energy"] = setup.target.energies(texts, patterns=setup.patterns, seed=setup.seed)
    if setup.references:
        others = np.array(
            [[one.loss for one in reference.tokens(texts)] for reference in setup.references]
        )
        found["reference"] = others[-1] - losses
        if "likelihood_ratio" in wanted:
            theirs = setup.references[-1].energies(texts, patterns=setup.patterns, seed=setup.seed)
            found["likelihood_ratio"] = found["energy"] - theirs
        if "rmia" in wanted:
            found["rmia"] = rmia(_ratio(losses, others), _population(setup))
    if "neighbourhood" in wanted:
        found["neighbourhood"] = _neighbourhood(texts, losses, setup)
    if "gradient" in wanted:
        found["gradient"] = gradients.scores(texts, setup.target)[gradients.WHOLE]
    return {name: found[name] for name in wanted}


def _of_tokens(texts: Sequence[str], own: Sequence[TextScores]) -> dict[str, Floats]:
    return {
        "zlib": np.array([zlib_ratio(text, one) for text, one in zip(texts, own, strict=True)]),
        "min_k": np.array([min_k(one) for one in own]),
        "min_k_plus": np.array([min_k(one, normalised=True) for one in own]),
    }


def zlib_ratio(text: str, own: TextScores) -> float:
    """Return minus the text's information under the model per byte that zlib needs (Carlini et al.
    2021).
    """
    return float(own.logp.sum()) / max(1, len(zlib.compress(text.encode())))


def min_k(own: TextScores, *, normalised: bool = False, share: float = LOWEST) -> float:
    """Return the mean logarithm of the least likely share of the tokens (Shi et al. 2024).

    Args:
        own: Of the text.
        normalised: Whether each is first set against mean and deviation over the vocabulary:
            min-k++ (Zhang et al. 2025).
        share: Of the tokens; at least one.
    """
    if not len(own.logp):
        return 0.0
    values = (own.logp - own.mean) / own.std if normalised else own.logp
    count = max(1, round(share * len(values)))
    return float(np.sort(values)[:count].mean())


def _ratio(losses: Floats, others: Floats) -> Floats:
    """Return the logarithm of the target's probability against the references' mean, per token."""
    ratio: Floats = -losses - np.log(np.exp(-others).mean(axis=0))
    return ratio


def rmia(ratios: Floats, population: Floats, *, gamma: float = GAMMA) -> Floats:
    """Return the share of the population that each text's likelihood ratio exceeds (Zarifzadeh et
    al. 2024), offline.

    Args:
        ratios: Logarithms, of the texts.
        population: The same of texts that are no members.
        gamma: Factor by which it must exceed.
    """
    border = np.sort(population) + np.log(gamma)
    shares: Floats = np.searchsorted(border, ratios, side="right") / max(1, len(border))
    # Beyond the whole population the ratio itself ranks, by less than one step.
    spread = 1 / (1 + np.exp(-ratios))
    return shares + spread / (len(border) + 1) / 2


def _population(setup: Setup) -> Floats:
    if "ratios" not in setup._population:  # noqa: SLF001 - its own cache
        losses = np.array([one.loss for one in setup.target.tokens(setup.calibration)])
        others = np.array(
            [
                [one.loss for one in reference.tokens(setup.calibration)]
                for reference in setup.references
            ]
        )
        setup._population["ratios"] = _ratio(losses, others)  # noqa: SLF001
    return setup._population["ratios"]  # noqa: SLF001


def _neighbourhood(texts: Sequence[str], losses: Floats, setup: Setup) -> Floats:
    """Return how much less likely a text's neighbours are (Mattern et al. 2023).

    A neighbour has other words in places drawn at random, taken from the calibration texts. A
    masked model is asked for ``NEIGHBOUR_PARTS`` of the text and of its neighbours, at the same
    places: all of it would take 77 readings a text.
    """
    words = [word for text in setup.calibration for word in text.split()] or ["and"]
    made = [neighbour for text in texts for neighbour in neighbours(text, words, seed=setup.seed)]
    masked = setup.target.lm.kind == "masked"
    own = setup.target.losses(texts, parts=NEIGHBOUR_PARTS) if masked else losses
    theirs = setup.target.losses(made, parts=NEIGHBOUR_PARTS).reshape(len(texts), NEIGHBOURS)
    found: Floats = theirs.mean(axis=1) - own
    return found


def neighbours(text: str, words: Sequence[str], *, seed: int, count: int = NEIGHBOURS) -> list[str]:
    """Return variants of a text with some words replaced by others, drawn by the seed and
    the text.
    """
    rng = random.Random(f"{seed} {text}")  # noqa: S311 - simulation
    own = text.split()
    found = []
    for _ in range(count):
        changed = list(own)
        for place in rng.sample(range(len(own)), max(1, round(REPLACED * len(own)))) if own else ():
            changed[place] = rng.choice(words)
        found.append(" ".join(changed))
    return found


def shadow_ratio(own: Floats, inside: Floats, outside: Floats) -> Floats:
    """Return the log-likelihood ratio of each text's score under shadow models that read it or not.

    The online attack of Carlini et al. (2022), with one variance over all texts, as it advises for
    few shadow models. A text that all shadow models read, or none, is given the other mean by the
    mean gap of the other texts.

    Args:
        own: (texts,), scores under the target, the higher the likelier.
        inside: (shadow models, texts), under models that read the text; NaN where one did not.
        outside: The same under models that did not; NaN where one did.
    """
    means = [_mean(part) for part in (inside, outside)]
    gap = float(np.nan_to_num(_mean(means[0] - means[1])))
    read, unread = (
        np.where(np.isnan(one), other + sign * gap, one)
        for one, other, sign in ((means[0], means[1], 1), (means[1], means[0], -1))
    )
    spread = _mean(np.concatenate([(inside - read) ** 2, (outside - unread) ** 2]).ravel())
    ratio: Floats = ((own - unread) ** 2 - (own - read) ** 2) / (
        2 * max(float(np.nan_to_num(spread)), 1e-12)
    )
    return ratio


def _mean(values: Floats) -> Floats:
    """Return the mean along the first axis of what is a number; NaN where nothing is."""
    count = np.sum(~np.isnan(values), axis=0)
    mean: Floats = np.where(count, np.nansum(values, axis=0) / np.maximum(count, 1), np.nan)
    return mean
