"""Training with differential privacy that can be repeated, for experiments on made notes.

DP-SGD (Abadi et al. 2016), gradients by opacus; draws and noise follow from the seed, and a note is
the unit. For notes of one's own see ``deid_causal.private``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from deid_assets.extending import TrainingError
from deid_causal.steps import Pair, adamw, batch_of
from deid_training.learner import Learner, LoopSettings, Loss
from deid_training.loop import Loop
from deid_training.optimize import device_of, generator, linear_rate

UNBOUNDED = 1e9
"""Length of a gradient at which nothing is clipped."""


@dataclass(frozen=True, slots=True)
class Course:
    """How a model is trained, with noise or without.

    Args:
        steps: Of the optimiser.
        batch: Notes that a step reads on average.
        length: Most tokens of a note; the rest is not read, so that a note is one record.
        learning_rate: At its highest.
        clip: Longest gradient of a note.
    """

    steps: int = 240
    batch: int = 32
    length: int = 40
    learning_rate: float = 4e-3
    clip: float = 1.0


def train_private(
    model: Any,
    rows: Sequence[Sequence[int]],
    course: Course,
    *,
    noise: float,
    end: int,
    seed: int,
    make_optimizer: Callable[..., torch.optim.Optimizer] = adamw,
) -> None:
    """Train a causal model in place, each note's gradient clipped and noise added to their sum.

    Notes are drawn independently for every step (Poisson), as the accountants assume. Without noise
    nothing is clipped.

    Args:
        model: Of transformers.
        rows: Tokens of each note, an end token first.
        course: Of the training.
        noise: As in ``Guarantee``.
        end: Token that fills.
        seed: Of draws and noise.
        make_optimizer: What the noisy gradients are given to.

    Raises:
        TrainingError: There is no note, or the loss is no number.
    """
    from opacus import GradSampleModule  # noqa: PLC0415 - heavy

    if not rows:
        raise TrainingError("there is no note to train on; give some")
    wrapped: Any = GradSampleModule(model, loss_reduction="sum")
    plain = make_optimizer(model, learning_rate=course.learning_rate, weight_decay=0.0)
    optimizer = _add_noise(plain, course, noise=noise, seed=seed)
    learner = PrivateLearner(wrapped, optimizer, rows, course, end=end, seed=seed)
    # opacus clips, note by note
    settings = LoopSettings(epochs=1, clip=None, remedy="lower the learning rate")
    try:
        with warnings.catch_warnings():
            # tokens need no gradient: what PyTorch warns of is meant
            warnings.simplefilter("ignore")
            Loop(learner, settings).run()
    finally:
        wrapped.remove_hooks()
        _forget(model)
    model.eval()


def _add_noise(optimizer: torch.optim.Optimizer, course: Course, *, noise: float, seed: int) -> Any:
    """Return an optimiser of opacus, which clips the gradients and adds noise."""
    from opacus.optimizers import DPOptimizer  # noqa: PLC0415 - heavy

    return DPOptimizer(
        optimizer,
        noise_multiplier=noise,
        max_grad_norm=course.clip if noise else UNBOUNDED,
        expected_batch_size=course.batch,
        generator=torch.Generator().manual_seed(seed),
    )


class PrivateLearner(Learner[list[Pair]]):
    """Learns notes that are drawn independently for every step.

    Args:
        model: That keeps the gradient of each note.
        optimizer: That clips them and adds noise to their sum.
        rows: Tokens of each note.
        course: Of the training.
        end: Token that fills.
        seed: Of the draws.
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        rows: Sequence[Sequence[int]],
        course: Course,
        *,
        end: int,
        seed: int,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self._rows = rows
        self._course = course
        self._end = end
        self._rng = generator(seed, 71)

    def batches(self, epoch: int) -> Iterator[list[list[Pair]]]:
        """Yield the notes of every step, which may be none."""
        del epoch
        share = min(1.0, self._course.batch / len(self._rows))
        for _ in range(self._course.steps):
            chosen = np.flatnonzero(self._rng.random(len(self._rows)) < share).tolist()
            read = [self._rows[at][: self._course.length] for at in chosen]
            yield [[Pair(list(row[:1]), list(row[1:])) for row in read]]

    def loss(self, part: list[Pair]) -> Loss:
        """Return the sum of the notes' mean losses."""
        if not part:
            return Loss(self._nothing())
        batch = batch_of(part, self._end, device_of(self.model))
        logits = self.model(input_ids=batch.ids, attention_mask=batch.mask, use_cache=False).logits[
            :, :-1
        ]
        targets = batch.targets[:, 1:]
        losses = torch.nn.functional.cross_entropy(
            logits.float().flatten(0, 1), targets.flatten(), ignore_index=-100, reduction="none"
        ).view(len(part), -1)
        return Loss((losses.sum(1) / (targets >= 0).sum(1).clamp_min(1)).sum())

    def _nothing(self) -> torch.Tensor:
        """Return the loss of no note; the step still adds its noise, as the accountants assume."""
        parameters = list(self.model.parameters())
        for one in parameters:
            one.grad_sample = one.new_zeros((0, *one.shape))  # type: ignore[attr-defined]
        return 0 * parameters[0].sum()

    def rate(self, step: int) -> float:
        """Return the share of the highest learning rate."""
        return linear_rate(step, steps=self._course.steps, warm_up=0.05)


def _forget(model: torch.nn.Module) -> None:
    """Remove what opacus hung on the parameters."""
    for one in model.parameters():
        for name in ("grad_sample", "summed_grad", "_forward_counter", "_current_grad_sample"):
            if hasattr(one, name):
                delattr(one, name)
