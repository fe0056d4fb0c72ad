"""The loss of a tagger whose pieces may be any of several outputs, and the temperature that
calibrates it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

_TEMPERATURES = tuple(round(0.6 + 0.1 * step, 1) for step in range(25))


def marks_loss(scores: Tensor, targets: Tensor, allowed: Tensor, smoothing: float = 0.0) -> Tensor:
    """Return the mean of -log P(one of the allowed outputs), smoothed.

    Args:
        scores: (pieces, outputs).
        targets: (pieces,), rows of ``allowed``.
        allowed: (targets, outputs), which outputs are right.
        smoothing: Share of the loss that asks for all outputs alike.
    """
    whole = scores.logsumexp(-1)
    right = scores.masked_fill(~allowed[targets], -torch.inf).logsumexp(-1)
    loss = (whole - right).mean()
    if not smoothing:
        return loss
    return (1 - smoothing) * loss - smoothing * scores.log_softmax(-1).mean()


def fit_temperature(pairs: Sequence[tuple[Tensor, Tensor]], allowed: Tensor) -> float:
    """Return the number by which scores are divided so that the loss on the development notes is
    least (Guo 2017).

    Args:
        pairs: Scores and targets, as for ``marks_loss``; without any, 1.
        allowed: (targets, outputs).
    """
    if not pairs:
        return 1.0
    scores = torch.cat([each for each, _ in pairs])
    targets = torch.cat([each for _, each in pairs])
    losses = [
        float(marks_loss(scores / temperature, targets, allowed)) for temperature in _TEMPERATURES
    ]
    return _TEMPERATURES[losses.index(min(losses))]
