"""The training loop of every network here.

Schedule, accumulation, clipping, the best weights, early stopping, a learning curve, and
checkpoints from which a killed run resumes to the same weights.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Generic

import torch

from deid_assets.extending import Epoch, Report, TrainingError
from deid_training.checkpoint import (
    Checkpoint,
    Tensors,
    copy_trained_weights,
    optimizer_tensors,
    put_weights,
    restore_optimizer,
)
from deid_training.learner import Learner, LoopSettings, Loss, Part

_LAYOUT = 1
"""Of a checkpoint's state; one of another layout is not resumed."""


@dataclass(slots=True)
class LoopProgress:
    """Progress of a run, as in its checkpoint.

    Args:
        epoch: Epochs that are done.
        step: Steps that are done.
        best: Best score so far.
        best_epoch: The epoch that had it, or the last, from 1.
        stale: Epochs since then.
        has_ended: Whether an ``EpochScore`` ended the training.
        is_done: Whether there is nothing left to do.
        curve: ``epoch``, ``loss``, ``learning_rate``, ``seconds``, ``dev_f1`` where it was
            measured, and the notes, for each epoch.
    """

    epoch: int = 0
    step: int = 0
    best: float | None = None
    best_epoch: int = 0
    stale: int = 0
    has_ended: bool = False
    is_done: bool = False
    curve: list[dict[str, Any]] = field(default_factory=list)


class Loop(Generic[Part]):
    """One run.

    Args:
        learner: What is trained.
        settings: Of the loop.
        checkpoint: Resumed from, and replaced after each epoch.
        report: Told each epoch, after it is stored; those of a killed run are told again.
    """

    def __init__(
        self,
        learner: Learner[Part],
        settings: LoopSettings,
        checkpoint: Checkpoint | None = None,
        report: Report | None = None,
    ) -> None:
        self._learner = learner
        self._settings = settings
        self._checkpoint = checkpoint
        self._report = report
        self._highest = [group["lr"] for group in learner.optimizer.param_groups]
        self._best: Tensors = {}
        self.progress = LoopProgress()

    def run(self) -> LoopProgress:
        """Train, and leave the weights of the best epoch in the model.

        Raises:
            TrainingError: The loss is no number, or the checkpoint is broken.
        """
        self._resume()
        progress = self.progress
        began = time.monotonic() - (progress.curve[-1]["seconds"] if progress.curve else 0.0)
        while not progress.is_done and progress.epoch < self._settings.epochs:
            loss = self._epoch()
            self._judge(loss, began)
            progress.is_done = self._is_last()
            if progress.is_done:
                put_weights(self._learner.model, self._best)
            self._save()
            self._tell(progress.curve[-1])
        return progress

    def _epoch(self) -> float:
        """Return the mean loss of one pass over the batches."""
        total = 0.0
        count = 0
        self._learner.model.train(self._settings.has_dropout)
        for parts in self._learner.batches(self.progress.epoch):
            for loss in self._step(parts):
                total += float(loss.total.detach())
                count += loss.count
        self.progress.epoch += 1
        return total / max(1, count)

    def _step(self, parts: Sequence[Part]) -> list[Loss]:
        """Make one step of the optimiser on the gradient of all parts."""
        optimizer = self._learner.optimizer
        share = self._learner.rate(self.progress.step)
        for group, highest in zip(optimizer.param_groups, self._highest, strict=True):
            group["lr"] = highest * share
        optimizer.zero_grad(set_to_none=True)
        losses = [self._backward(part) for part in parts]
        if self._settings.clip is not None:
            torch.nn.utils.clip_grad_norm_(self._learner.list_clipped(), self._settings.clip)
        optimizer.step()
        self.progress.step += 1
        return losses

    def _backward(self, part: Part) -> Loss:
        loss = self._learner.loss(part)
        if not torch.isfinite(loss.total):
            raise TrainingError(f"the loss is no number; {self._settings.remedy}")
        divisor = loss.count if loss.divisor is None else loss.divisor
        torch.autograd.backward(loss.total / max(1, divisor))
        self._learner.end_part(part)
        return Loss(loss.total.detach(), loss.count, divisor)

    def _judge(self, loss: float, began: float) -> None:
        """Add a point to the curve, and keep the weights where no epoch was better."""
        progress = self.progress
        found = self._learner.judge(progress.epoch, loss)
        point = {
            "epoch": progress.epoch,
            "loss": loss,
            "learning_rate": self._learner.optimizer.param_groups[0]["lr"],
            "seconds": time.monotonic() - began,
        }
        measured = {} if found.dev_f1 is None else {"dev_f1": found.dev_f1}
        progress.curve.append(point | measured | dict(found.notes))
        progress.has_ended = found.ends
        if found.score is None or progress.best is None or found.score > progress.best:
            progress.best = found.score
            progress.best_epoch = progress.epoch
            progress.stale = 0
            # without scores the last weights are the best, and are in the model
            self._best = {} if found.score is None else copy_trained_weights(self._learner.model)
        elif progress.best > self._settings.least:
            progress.stale += 1

    def _is_last(self) -> bool:
        patience = self._settings.patience
        is_stale = patience is not None and self.progress.stale >= patience
        return self.progress.has_ended or is_stale or self.progress.epoch >= self._settings.epochs

    def _tell(self, point: Mapping[str, Any]) -> None:
        if self._report is None:
            return
        names = ("epoch", "loss", "learning_rate", "seconds", "dev_f1")
        known = {name: point[name] for name in names if name in point}
        self._report(Epoch(phase=self._settings.phase, **known))

    def _save(self) -> None:
        if self._checkpoint is None:
            return
        left: dict[str, Tensors] = {}
        if not self.progress.is_done:
            moments = optimizer_tensors(self._learner.optimizer)
            left = {"optimizer": moments, "best": self._best}
        state = {"layout": _LAYOUT, "progress": asdict(self.progress)}
        self._checkpoint.save(state, model=copy_trained_weights(self._learner.model), **left)

    def _resume(self) -> None:
        """Take up what a killed run stored."""
        state = self._checkpoint.read() if self._checkpoint else None
        if state is None or self._checkpoint is None or state.get("layout") != _LAYOUT:
            return
        self.progress = LoopProgress(**state["progress"])
        put_weights(self._learner.model, self._checkpoint.tensors(state, "model"))
        if not self.progress.is_done:
            moments = self._checkpoint.tensors(state, "optimizer")
            restore_optimizer(self._learner.optimizer, moments)
            self._best = self._checkpoint.tensors(state, "best")
        self._learner.resume(self.progress.curve)
        for point in self.progress.curve:
            self._tell(point)
