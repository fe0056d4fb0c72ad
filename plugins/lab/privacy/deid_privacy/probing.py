"""Probes: is something told by a model's inner states, and do other words for a text still show
that it was learnt?
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from deid_assets.extending import InputError
from deid_assets.extending.measuring import auc
from deid_audits.models.measures import AttackEstimate, difference, estimate_measure
from deid_audits.models.planted import PlantedPerson
from deid_audits.models.scoring import Scorer

Floats = NDArray[np.float64]
FOLDS = 5


def states(scorer: Scorer, texts: Sequence[str], *, batch: int = 32) -> Floats:
    """Return the mean of the last hidden states over each text's tokens: (texts, width)."""
    rows = [np.concatenate([[scorer.lm.opens], one.ids]) for one in scorer.encode(texts)]
    found = []
    for at in range(0, len(rows), batch):
        ids, mask = scorer.pad(rows[at : at + batch])
        with torch.inference_mode():
            last = scorer.lm.model.base_model(input_ids=ids, attention_mask=mask)[0]
            weights = mask[..., None].to(last.dtype)
            found.append(((last * weights).sum(1) / weights.sum(1)).float().cpu().numpy())
    return np.concatenate(found).astype(np.float64)


def probe(
    features: Floats, labels: Sequence[bool], *, seed: int = 1, decay: float = 1e-2
) -> AttackEstimate:
    """Return how well a logistic regression tells the labels from the features.

    AUC of texts it was not fitted on.

    Args:
        features: (texts, width).
        labels: What is to be told.
        seed: Of the folds.
        decay: Of the squared weights.

    Raises:
        InputError: There are too few texts of one label for an interval.
    """
    truth = np.asarray(labels, dtype=bool)
    folds = np.random.default_rng(seed).permutation(len(truth)) % FOLDS
    scores = np.zeros(len(truth))
    for fold in range(FOLDS):
        learnt, left = folds != fold, folds == fold
        mean, spread = features[learnt].mean(0), features[learnt].std(0) + 1e-9
        weights = _fit((features[learnt] - mean) / spread, truth[learnt], decay)
        own = (features[left] - mean) / spread @ weights[:-1]
        # Ranks within a fold: regressions of other folds have another level.
        scores[left] = own.argsort().argsort() / max(1, left.sum() - 1)
    return estimate_measure(
        "AUC of the probe", scores[truth], scores[~truth], auc, chance=0.5, seed=seed, unit="texts"
    )


def _fit(features: Floats, truth: NDArray[np.bool_], decay: float) -> Floats:
    """Return the weights of a logistic regression, the constant last, by Newton's method."""
    given = np.hstack([features, np.ones((len(features), 1))])
    weights = np.zeros(given.shape[1])
    ridge = decay * len(given) * np.eye(given.shape[1])
    ridge[-1, -1] = 1e-6
    for _ in range(25):
        share = 1 / (1 + np.exp(-np.clip(given @ weights, -30, 30)))
        slope = given.T @ (share - truth) + ridge @ weights
        curve = (given * (share * (1 - share))[:, None]).T @ given + ridge
        step = np.linalg.solve(curve, slope)
        weights = weights - step
        if np.abs(step).max() < 1e-8:
            break
    return np.asarray(weights, dtype=np.float64)


def paraphrase_gap(
    planted: Sequence[PlantedPerson],
    controls: Sequence[PlantedPerson],
    scorer: Scorer,
    *,
    seed: int = 1,
) -> AttackEstimate:
    """Return by how much membership by loss falls when members are asked in other words, with its
    interval.

    Both sides are asked in the same words, so that their form tells nothing.

    Raises:
        InputError: There are too few people for an interval.
    """
    if not planted or not controls:
        raise InputError("the paraphrase probe needs planted people and controls; plant some")
    values = []
    for paraphrase in (0, 1):
        for side in (planted, controls):
            texts = [one.sentence(paraphrase=paraphrase) for one in side]
            values.append(np.array([-one.loss for one in scorer.tokens(texts)]))
    found = difference(values[0], values[2], values[1], values[3], seed=seed)
    name = "AUC in their own words - AUC in other words"
    return AttackEstimate(name, found.value, found.low, found.high, found.chance, found.units)
