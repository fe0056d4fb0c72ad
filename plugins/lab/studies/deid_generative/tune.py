"""Fine-tuning on pairs.

Every epoch is judged on the development notes, and the best one is kept.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from deid_assets.extending import Epoch, Report, Task, TrainingError
from deid_assets.extending.measuring import StudyTable
from deid_causal.steps import Pair, adamw, batch_of, response_loss
from deid_generative.decode import Decoding
from deid_generative.judging import judge
from deid_generative.local import LocalModel, Speech
from deid_generative.pairs import pairs
from deid_generative.settings import GenerativeSettings
from deid_training.checkpoint import Checkpoint, Tensors, optimizer_tensors, restore_optimizer
from deid_training.optimize import generator, linear_rate, set_rate


@dataclass(slots=True)
class Progress:
    """Progress of a run, as in its checkpoint."""

    epoch: int = 0
    best: float = -1.0
    best_epoch: int = 0
    curve: list[dict[str, Any]] = field(default_factory=list)


class Tuning:
    """One run over all pairs; phases are learnt together.

    Args:
        task: Documents and seed.
        settings: Of the recipe.
        speech: Tokens of the model.
        decoding: How it is judged.
        stage: Resumed from, and written after each epoch.
        report: Told each epoch.
    """

    def __init__(
        self,
        task: Task,
        settings: GenerativeSettings,
        *,
        speech: Speech,
        decoding: Decoding,
        stage: Checkpoint,
        report: Report,
    ) -> None:
        self._task, self._settings, self._speech, self._decoding = task, settings, speech, decoding
        self._stage, self._report = stage, report
        documents = [document for phase in task.phases for document in phase]
        longest = min(
            settings.longest, settings.new.context if settings.base == "new" else settings.longest
        )
        self._pairs = [
            pair for document in documents for pair in pairs(document, speech, longest=longest)
        ]
        if not self._pairs:
            raise TrainingError("no training note has text; give annotated notes")
        self.progress = Progress()
        self._best: Tensors = {}

    def run(self, model: Any) -> Any:
        """Train, and return the model with the weights of its best epoch.

        Raises:
            TrainingError: The loss is no number, or no epoch removed anything from a development
                note.
        """
        settings, progress = self._settings, self.progress
        optimizer = adamw(
            model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay
        )
        if state := self._stage.read():
            self.progress = progress = Progress(**state["progress"])
            self._best = self._stage.tensors(state, "best")
            _put(model, self._stage.tensors(state, "model"))
            restore_optimizer(optimizer, self._stage.tensors(state, "optimizer"))
        began = time.monotonic() - (progress.curve[-1]["seconds"] if progress.curve else 0.0)
        while progress.epoch < settings.epochs:
            loss, rate = self._epoch(model, optimizer)
            self._judged(model, loss, rate, began)
            saved = {name: getattr(progress, name) for name in Progress.__slots__}
            self._stage.save(
                {"progress": saved},
                model=_trained(model),
                optimizer=optimizer_tensors(optimizer),
                best=self._best,
            )
        _put(model, self._best)
        return model.eval()

    def _epoch(self, model: Any, optimizer: torch.optim.Optimizer) -> tuple[float, float]:
        """Learn from every pair once, in an order drawn for this epoch.

        Return the mean loss and the last rate.
        """
        settings, epoch = self._settings, self.progress.epoch
        rng = generator(self._task.seed, 3, epoch)
        order = rng.permutation(len(self._pairs))
        size = settings.batch
        steps = -(-len(order) // size)
        total, count, rate = 0.0, 0, settings.learning_rate
        model.train()
        for number in range(steps):
            chosen = [self._pairs[n] for n in order[number * size : (number + 1) * size]]
            rate = settings.learning_rate * linear_rate(
                epoch * steps + number,
                steps=settings.epochs * steps,
                warm_up=settings.warm_up,
                falls=settings.schedule == "linear",
            )
            set_rate(optimizer, rate)
            loss, tokens = self._step(model, optimizer, chosen)
            total, count = total + loss, count + tokens
        return total / max(1, count), rate

    def _step(
        self, model: Any, optimizer: torch.optim.Optimizer, chosen: Sequence[Pair]
    ) -> tuple[float, int]:
        """Make one optimiser step; pairs of like length are computed together."""
        size = self._settings.micro_batch
        ordered = sorted(chosen, key=lambda pair: len(pair.prompt) + len(pair.answer))
        answers = sum(len(pair.answer) for pair in chosen)
        total = 0.0
        optimizer.zero_grad(set_to_none=True)
        for begin in range(0, len(ordered), size):
            batch = batch_of(ordered[begin : begin + size], self._speech.end, model.device)
            loss, _ = response_loss(model, batch)
            if not torch.isfinite(loss):
                raise TrainingError("the loss is no number; lower learning_rate")
            (loss / answers).backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        torch.nn.utils.clip_grad_norm_(trained, self._settings.clip)
        optimizer.step()
        return total, answers

    def _judged(self, model: Any, loss: float, rate: float, began: float) -> None:
        """Measure the model on the development notes, and keep its weights where no epoch was
        better.
        """
        progress, settings = self.progress, self._settings
        progress.epoch += 1
        model.eval()
        dev = self._task.dev[: settings.judged or None]
        found = judge(LocalModel(model, self._speech, self._decoding), dev) if dev else None
        table = found.table if found else None
        f1 = table.f1 if table else None
        chosen = None if table is None else worth(table, settings.choose)
        seconds = time.monotonic() - began
        measured = found.to_json() if found else {}
        covers = (
            {note_id: cover for note_id, cover in found.covers.items() if cover} if found else {}
        )
        progress.curve.append(
            {
                "epoch": progress.epoch,
                "loss": loss,
                "seconds": seconds,
                "measures": measured,
                "covers": covers,
            }
        )
        self._report(
            Epoch(
                phase=0,
                epoch=progress.epoch,
                loss=loss,
                seconds=seconds,
                dev_f1=f1,
                learning_rate=rate,
            )
        )
        if chosen is None or chosen > progress.best:
            progress.best, progress.best_epoch = -1.0 if chosen is None else chosen, progress.epoch
            self._best = _trained(model)


def worth(table: StudyTable, choose: str) -> float:
    """Return how good an epoch or a bias is.

    Of two that are alike, the one that removes less of what identifies nobody.
    """
    value = table.f1 if choose == "f1" else table.note_recall or 0.0
    return value - table.spurious_chars / max(1, table.other_chars) / 1_000


def _trained(model: Any) -> Tensors:
    """Return the parameters that are trained, by name."""
    return {
        name: parameter.detach().cpu().clone()
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }


def _put(model: Any, tensors: Tensors) -> None:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in tensors:
                parameter.copy_(tensors[name])
