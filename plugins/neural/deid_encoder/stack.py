"""Several opinions on a word, weighed into one probability.

The encoder, a smaller tagger and ``rules`` err in different words, so that together they know more
than the best of them (stacked generalisation: Wolpert 1992). Three weights are fitted on
development notes, which neither network has learnt from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import Span, Token
from deid_compact.words import Floats, WordScores

_LEAST = 1e-4
"""Probabilities nearer to 0 or 1 than this say no more."""
_STEPS = 50
_CONVERGED = 1e-6
_RIDGE = 1e-3


@dataclass(frozen=True, slots=True)
class Opinions:
    """Opinions on the words of a note, each (words,).

    Args:
        own: Probability that the encoder gives.
        second: Probability that the smaller tagger gives.
        found: Score of the span of ``rules`` in which a word begins, or 0.
    """

    own: Floats
    second: Floats
    found: Floats

    def features(self) -> NDArray[np.float64]:
        """Return what is weighed, last 1 for the bias: (words, 4)."""
        return np.stack(
            [_logit(self.own), _logit(self.second), self.found, np.ones(len(self.own))], axis=1
        )


@dataclass(frozen=True, slots=True)
class Stack:
    """Weights of a logistic regression on ``Opinions``.

    Args:
        own: Of the encoder's logit.
        second: Of the smaller tagger's.
        found: Of the score of ``rules``.
        bias: Added.
    """

    own: float
    second: float
    found: float
    bias: float

    def probabilities(self, opinions: Opinions) -> Floats:
        """Return the probability that each word is marked: (words,)."""
        weights = np.array([self.own, self.second, self.found, self.bias])
        return _logistic(opinions.features() @ weights).astype(np.float32)

    def as_json(self) -> dict[str, float]:
        """Return what a model folder keeps."""
        return asdict(self)


def weigh(
    stack: Stack, scores: WordScores, second: WordScores, spans: Sequence[Span]
) -> WordScores:
    """Return the encoder's scores with the probability that all opinions together give.

    Args:
        stack: The weights.
        scores: Of the encoder.
        second: Of the smaller tagger, on the same words.
        spans: Of ``rules``.
    """
    return replace(scores, marked=stack.probabilities(opinions_of(scores, second, spans)))


def opinions_of(scores: WordScores, second: WordScores, spans: Sequence[Span]) -> Opinions:
    """Return the opinions on the words of a note."""
    return Opinions(scores.marked, second.marked, score_found(scores.words, spans))


def score_found(words: Sequence[Token], spans: Sequence[Span]) -> Floats:
    """Return the score of the span in which each word begins, or 0: (words,)."""
    last = max((end for _, end in words), default=0)
    at = np.zeros(last + 1, dtype=np.float32)
    for span in spans:
        np.maximum(at[span.start : span.end], span.score, out=at[span.start : span.end])
    return at[np.array([start for start, _ in words], dtype=np.int64)]


def fit_stack(opinions: Sequence[Opinions], marked: Sequence[NDArray[np.bool_]]) -> Stack:
    """Return the weights of greatest likelihood, found by Newton's method.

    Args:
        opinions: On the words of development notes.
        marked: Whether each word is marked by hand.
    """
    features = np.concatenate([each.features() for each in opinions])
    wanted = np.concatenate(marked).astype(np.float64)
    weights = np.array([1.0, 0.0, 0.0, 0.0])
    for _ in range(_STEPS):
        said = _logistic(features @ weights)
        slope = features.T @ (said - wanted) + _RIDGE * weights
        curve = (features * (said * (1 - said))[:, None]).T @ features
        step = np.linalg.solve(curve + _RIDGE * np.eye(len(weights)), slope)
        weights -= step
        if np.abs(step).max() < _CONVERGED:
            break
    own, second, found, bias = weights.tolist()
    return Stack(own, second, found, bias)


def _logit(probabilities: Floats) -> NDArray[np.float64]:
    clipped = np.clip(probabilities.astype(np.float64), _LEAST, 1 - _LEAST)
    return np.log(clipped) - np.log1p(-clipped)


def _logistic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-np.clip(values, -50, 50)))
