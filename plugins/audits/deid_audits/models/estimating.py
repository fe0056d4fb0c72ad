"""How long audits of language models take, from a batch that the model reads and a few steps of
what it draws.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from deid_assets.extending.audits import Material
from deid_audits.models.audit_extraction import (
    CONTROL_BURN_IN,
    CONTROL_LENGTH,
    CONTROL_TEXTS,
    draw_texts,
    generator_of,
)
from deid_audits.models.auditing import open_scorer, samples
from deid_audits.models.canaries import read_canaries
from deid_audits.models.controls import MOST, PLANTING
from deid_audits.models.generating import Continuing
from deid_audits.models.membership import ATTACKS, NEIGHBOUR_PARTS, NEIGHBOURS
from deid_audits.models.options import OfCanaries, OfExtraction, OfMembership
from deid_audits.models.planted import Canary
from deid_audits.models.scoring import PATTERNS, SHARE, Scorer

_BATCH = 20
"""Texts that the measured batch has."""
_LEARNING = 3
"""What a step of training takes, in readings."""
_STEPS = 4
"""Tokens, or steps of a generator, that are drawn to measure."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a model reads.

    Args:
        seconds: Of one token in one reading.
        tokens: Of a text on average.
        readings: Of a text for the scores of its tokens.
    """

    seconds: float
    tokens: float
    readings: int


def pace(scorer: Scorer, texts: Sequence[str]) -> Pace:
    """Return how fast a model reads such texts, by one batch of them."""
    batch = list(texts[:_BATCH])
    tokens = float(np.mean([len(one.ids) for one in scorer.encode(batch)]))
    began = time.perf_counter()
    scorer.tokens(batch)
    readings = 1 if scorer.lm.kind == "causal" else round(1 / SHARE)
    spent = time.perf_counter() - began
    return Pace(spent / (len(batch) * readings * max(1.0, tokens)), tokens, readings)


def of_membership(audit: OfMembership, material: Material) -> float:
    """Return the seconds of ``membership``; those of shadow models are not in it."""
    sets = [
        samples(notes, most=audit.most, seed=material.seed)
        for notes in (material.training, material.held_out, material.calibration)
    ]
    scorer = open_scorer(material.model, sets[1].texts)
    own = pace(scorer, sets[1].texts)
    causal = scorer.lm.kind == "causal"
    readings = {
        "energy": 1 if causal else PATTERNS,
        "likelihood_ratio": 1 if causal else PATTERNS,
        "neighbourhood": NEIGHBOURS * (1 if causal else NEIGHBOUR_PARTS),
        "gradient": _LEARNING * own.readings,
        "reference": own.readings if material.reference else 0,
    }
    each = own.readings + sum(readings.get(name, 0) for name in audit.attacks or ATTACKS)
    texts = sum(len(part.texts) for part in sets)
    learnt = min(MOST, len(sets[1].texts)) * PLANTING[scorer.lm.kind] * _LEARNING
    return own.seconds * own.tokens * (texts * each + learnt)


def of_canaries(audit: OfCanaries, material: Material, *, own: Pace | None = None) -> float:
    """Return the seconds of ``canaries`` at a pace, which is measured where it is not given."""
    if material.canaries is None:
        return 0.0
    canaries = read_canaries(material.canaries)
    texts = [one.text for one in canaries]
    scorer = open_scorer(material.model, texts)
    read = texts_of_canaries(audit, scorer, canaries, models=2 if material.reference else 1)
    own = own or pace(scorer, texts)
    return own.seconds * own.tokens * read


def texts_of_canaries(
    audit: OfCanaries, scorer: Scorer, canaries: Sequence[Canary], *, models: int
) -> float:
    """Return how many texts of a canary's length ``canaries`` reads, counted and not measured."""
    secret = float(
        np.mean([len(one.ids) for one in scorer.encode([one.secret for one in canaries])])
    )
    readings = 1 if scorer.lm.kind == "causal" else secret
    again = [other for one in canaries for other in one.again()]
    asked = (models + 1) * (len(canaries) + len(again)) + (len(canaries) if again else 0)
    learnt = (
        sum(bool(one.repeats) for one in (*canaries, *again)) * PLANTING[scorer.lm.kind] * _LEARNING
    )
    return asked * (1 + audit.candidates) * readings + learnt


def of_extraction(audit: OfExtraction, material: Material) -> float:
    """Return the seconds of ``extraction``.

    Of a batch whose first steps are drawn, and of the control.
    """
    texts = [case.note.text for case in material.cases]
    scorer = open_scorer(material.model, texts)
    settings = generator_of(audit)
    causal = scorer.lm.kind == "causal"
    own = pace(scorer, texts)
    learnt = own.seconds * own.tokens * MOST * PLANTING[scorer.lm.kind] * _LEARNING
    short = replace(settings, burn_in=0, steps=_STEPS, rounds=min(settings.rounds, _STEPS))
    length = _STEPS if causal else audit.length
    began = time.perf_counter()
    draw_texts(scorer, _batch_of(audit, scorer), length=length, own=short, seed=material.seed)
    step = (time.perf_counter() - began) / _STEPS
    return step * steps_of_extraction(audit, scorer) + learnt


def steps_of_extraction(audit: OfExtraction, scorer: Scorer) -> float:
    """Return how many steps ``extraction`` draws, those of the control too; counted."""
    settings, batch = generator_of(audit), _batch_of(audit, scorer)
    causal = scorer.lm.kind == "causal"
    steps = audit.length if causal else settings.rounds or audit.steps
    length = CONTROL_LENGTH[scorer.lm.kind]
    control = length if causal else (settings.rounds or 2 * CONTROL_BURN_IN) * length / audit.length
    return steps * ceil(audit.texts / batch) + control * ceil(CONTROL_TEXTS / batch)


def _batch_of(audit: OfExtraction, scorer: Scorer) -> int:
    """Return how many texts are drawn together."""
    return Continuing().batch if scorer.lm.kind == "causal" else generator_of(audit).batch
