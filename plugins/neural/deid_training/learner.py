"""What a trainer says of a training: its model, batches, loss, rates and scores."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Generic, TypeVar

import torch

Part = TypeVar("Part")
"""What the loss is computed of at once: a batch, or a share of it."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of a part.

    Args:
        total: Summed over what is counted, or one mean.
        count: Words, tokens or means; the learning curve shows the mean over an epoch.
        divisor: What ``total`` is divided by for the gradient; ``count`` where not given.
    """

    total: torch.Tensor
    count: int = 1
    divisor: int | None = None


@dataclass(frozen=True, slots=True)
class EpochScore:
    """How good the weights are after an epoch.

    Args:
        score: Greater is better; where there is none, the last epoch is the best.
        dev_f1: Strict F1 on the development notes, where it was measured.
        ends: Whether the training ends here.
        notes: JSON values that are added to the epoch's point of the curve.
    """

    score: float | None = None
    dev_f1: float | None = None
    ends: bool = False
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """Settings of a loop.

    Args:
        epochs: At most.
        clip: Longest gradient of a step; none where not given.
        patience: Epochs without a better score before the training ends.
        least: Score up to which nothing is learnt yet, so that ``patience`` does not begin.
        phase: Number under which epochs are reported.
        remedy: What to do where the loss is no number.
        has_dropout: Whether the model is in training mode.
    """

    epochs: int
    clip: float | None = 1.0
    patience: int | None = None
    least: float = -math.inf
    phase: int = 0
    remedy: str = "lower learning_rate"
    has_dropout: bool = True


class Learner(ABC, Generic[Part]):
    """What a loop trains, on what, and by which loss.

    Attributes:
        model: On its device; of its parameters, those that require gradients are stored.
        optimizer: Its groups hold their highest learning rates.
    """

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer

    @abstractmethod
    def batches(self, epoch: int) -> Iterable[Sequence[Part]]:
        """Yield the batches of an epoch, numbered from 0; gradients of parts are accumulated.

        Seeds by the number, so that a resumed run draws what an uninterrupted one draws.
        """

    @abstractmethod
    def loss(self, part: Part) -> Loss:
        """Return the loss of a part."""

    @abstractmethod
    def rate(self, step: int) -> float:
        """Return the share of the highest learning rate at a step, from 0."""

    def end_part(self, part: Part) -> None:
        """Do what is to be done once the gradient of a part was added to that of the step."""
        del part

    def judge(self, epoch: int, loss: float) -> EpochScore:
        """Return how good the weights are after an epoch, from 1, with its mean loss."""
        del epoch, loss
        return EpochScore()

    def list_clipped(self) -> Sequence[torch.nn.Parameter]:
        """Return the parameters whose gradients are clipped together."""
        return [each for each in self.model.parameters() if each.requires_grad]

    def resume(self, curve: Sequence[Mapping[str, Any]]) -> None:
        """Take up state of its own from the curve of a killed run."""
        del curve


def stretches(steps: int, *every: int | None) -> list[range]:
    """Return the steps of each epoch of a training that counts steps.

    Args:
        steps: In all.
        every: An epoch ends after each multiple of any of these numbers.
    """
    ends = {end for size in every if size for end in range(size, steps, size)}
    return [range(first, end) for first, end in pairwise([0, *sorted(ends), steps])]
