"""Fine-tuning: phases, early stopping on strict F1, and new starts.

It starts anew where a run predicts nothing but ``O``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from deid_assets.extending import Document, Epoch, Report, Task, TrainingError, labelled
from deid_onnx.families import Feeds, Run
from deid_onnx.tagger import Tagger
from deid_training.checkpoint import Checkpoint, Tensors, optimizer_tensors, restore_optimizer
from deid_training.optimize import adamw, generator, linear_rate, precision, set_rate
from deid_transformers.crf import LinearChain
from deid_transformers.examples import Batch, Example, Reading, read_batches
from deid_transformers.settings import TransformersSettings


class TagModel(torch.nn.Module):
    """An encoder with tag scores, and a chain over them where the recipe wants one.

    Args:
        model: An ``AutoModelForTokenClassification``.
        chain: Learnt scores of tag pairs, or none.
        weights: Loss weight of each tag, or none.
    """

    def __init__(self, model: Any, chain: LinearChain | None, weights: torch.Tensor | None) -> None:
        super().__init__()
        self.model = model
        self.chain = chain
        self.weights: torch.Tensor | None
        self.register_buffer("weights", weights, persistent=False)

    def forward(self, batch: Batch) -> tuple[torch.Tensor, int]:
        """Return the loss summed over the words, and how many of them look like more than ``O``."""
        kinds = {} if batch.kinds is None else {"token_type_ids": batch.kinds}
        scores = self.model(
            input_ids=batch.ids, attention_mask=batch.attention, **kinds
        ).logits.float()
        places = batch.firsts[..., None].expand(-1, -1, scores.shape[2])
        emissions = scores.gather(1, places)
        marked = int(((emissions.argmax(dim=2) != 0) & batch.words).sum())
        if self.chain:
            return self.chain.loss(emissions, batch.tags, batch.words), marked
        loss = torch.nn.functional.cross_entropy(
            emissions[batch.words], batch.tags[batch.words], weight=self.weights, reduction="sum"
        )
        return loss, marked


def runner(model: Any) -> Run:
    """Return a function that runs a model as ONNX Runtime runs an exported one."""
    device = next(model.parameters()).device

    def run(feeds: Feeds) -> NDArray[np.float32]:
        with torch.inference_mode():
            given = {name: torch.from_numpy(array).to(device) for name, array in feeds.items()}
            found: NDArray[np.float32] = model(**given).logits.float().cpu().numpy()
        return found

    return run


def strict_f1(tagger: Tagger, documents: Sequence[Document], *, native: bool) -> float:
    """Return the F1 of spans whose range and label are both right, over all documents together."""
    right = found = expected = 0
    for document, spans in zip(
        documents, tagger.detect([each.note for each in documents]), strict=True
    ):
        gold = set(labelled(document.spans, native=native))
        said = {(span.start, span.end, (span.native_label or span.label.value)) for span in spans}
        right, found, expected = right + len(gold & said), found + len(said), expected + len(gold)
    return 2 * right / (found + expected) if found + expected else 0.0


@dataclass(slots=True)
class Progress:
    """Progress of a run, as in its checkpoint."""

    phase: int = 0
    attempt: int = 0
    epoch: int = 0
    best_f1: float = -1.0
    best_epoch: int = 0
    stale: int = 0
    silent: int = 0
    curve: list[dict[str, Any]] = field(default_factory=list)
    restarts: list[dict[str, int]] = field(default_factory=list)


class Tuning:
    """One run over all phases.

    Args:
        task: Documents, labels, seed.
        settings: Of the recipe.
        phases: Examples of each phase.
        build: Attempt number to a model at its start.
        tagger: Model to tagger, for the scores on the development notes.
        checkpoint: Resumed from, and written after each epoch.
        report: Called after each epoch.
        reading: How an epoch reads its examples.
    """

    def __init__(
        self,
        *,
        task: Task,
        settings: TransformersSettings,
        phases: Sequence[Sequence[Example]],
        build: Callable[[int], TagModel],
        tagger: Callable[[TagModel], Tagger],
        checkpoint: Checkpoint,
        report: Report,
        reading: Reading,
    ) -> None:
        self._task, self._settings, self._phases = task, settings, phases
        self._build, self._tagger, self._checkpoint, self._report, self._reading = (
            build,
            tagger,
            checkpoint,
            report,
            reading,
        )
        self.progress = Progress()
        self._best: Tensors = {}
        self._start: Tensors = {}

    def run(self) -> TagModel:
        """Return the model of the last phase's best epoch.

        Raises:
            TrainingError: Every attempt predicted nothing but ``O``, or the loss is no number.
        """
        state = self._checkpoint.read()
        if state:
            self.progress = Progress(**state["progress"])
            self._best = self._checkpoint.tensors(state, "best")
            self._start = self._checkpoint.tensors(state, "start")
            for point in self.progress.curve:
                self._report(Epoch(**point))
        model = self._build(self.progress.attempt)
        while self.progress.phase < len(self._phases):
            model = self._phase(model, state)
            state = None
        model.load_state_dict(self._start)
        return model

    def _phase(self, model: TagModel, state: Mapping[str, Any] | None) -> TagModel:
        """Train until the phase ends or has to begin again.

        Returned is the model to continue with.
        """
        progress, settings = self.progress, self._settings
        if self._start:
            model.load_state_dict(self._start)
        optimizer = adamw(
            model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay
        )
        if state and progress.epoch:
            model.load_state_dict(self._checkpoint.tensors(state, "model"))
            restore_optimizer(optimizer, self._checkpoint.tensors(state, "optimizer"))
        began = time.monotonic() - (progress.curve[-1]["seconds"] if progress.epoch else 0.0)
        while progress.epoch < settings.epochs and progress.stale < settings.patience:
            self._epoch(model, optimizer, began)
            if progress.silent >= min(settings.collapse_after, settings.epochs):
                return self._again()
            self._save(model, optimizer)
        self._start = self._best
        self._best = {}
        progress.phase, progress.epoch, progress.stale, progress.silent, progress.best_f1 = (
            progress.phase + 1,
            0,
            0,
            0,
            -1.0,
        )
        self._save(model, None)
        return model

    def _epoch(self, model: TagModel, optimizer: torch.optim.Optimizer, began: float) -> None:
        progress, settings = self.progress, self._settings
        examples = self._phases[progress.phase]
        batches = -(-self._reading.count(examples) // settings.batch)
        rng = generator(self._task.seed, 3, progress.phase, progress.attempt, progress.epoch)
        total, words, marked = 0.0, 0, 0
        rate = settings.learning_rate
        model.train()
        for number, batch in enumerate(read_batches(examples, self._reading, rng=rng)):
            step = progress.epoch * batches + number
            rate = settings.learning_rate * linear_rate(
                step, steps=settings.epochs * batches, warm_up=settings.warm_up
            )
            set_rate(optimizer, rate)
            loss, seen = _step(model, optimizer, batch, clip=settings.clip, bf16=settings.bf16)
            total, words = total + loss, words + int(batch.words.sum())
            # a new head marks words until it has learnt not to
            marked += seen if number >= batches // 2 else 0
        progress.epoch += 1
        progress.silent = 0 if marked else progress.silent + 1
        f1 = self._score(model)
        point = {"phase": progress.phase, "epoch": progress.epoch, "loss": total / max(1, words)}
        progress.curve.append(
            {**point, "seconds": time.monotonic() - began, "dev_f1": f1, "learning_rate": rate}
        )
        self._report(Epoch(**progress.curve[-1]))
        self._judge(model, f1)

    def _score(self, model: TagModel) -> float | None:
        if not self._task.dev:
            return None
        model.eval()
        return strict_f1(self._tagger(model), self._task.dev, native=self._task.native)

    def _judge(self, model: TagModel, f1: float | None) -> None:
        """Keep the weights of the best epoch.

        Where there are no development notes, they are those of the last.
        """
        progress = self.progress
        if f1 is None or f1 > progress.best_f1:
            self._best = {
                name: value.detach().cpu().clone() for name, value in model.state_dict().items()
            }
            progress.best_f1, progress.best_epoch, progress.stale = (
                -1.0 if f1 is None else f1,
                progress.epoch,
                0,
            )
        elif progress.best_f1 > 0:
            progress.stale += 1

    def _again(self) -> TagModel:
        progress = self.progress
        progress.restarts.append(
            {"phase": progress.phase, "attempt": progress.attempt, "epochs": progress.epoch}
        )
        if progress.attempt >= self._settings.restarts:
            raise TrainingError(
                f"{progress.attempt + 1} runs predicted nothing but O; lower learning_rate, train"
                " for more epochs, or weight the labels with class_weights"
            )
        progress.attempt, progress.epoch, progress.stale, progress.silent, progress.best_f1 = (
            progress.attempt + 1,
            0,
            0,
            0,
            -1.0,
        )
        self._best = {}
        return self._build(progress.attempt)

    def _save(self, model: TagModel, optimizer: torch.optim.Optimizer | None) -> None:
        state = {"progress": {name: getattr(self.progress, name) for name in Progress.__slots__}}
        moments = optimizer_tensors(optimizer) if optimizer else {}
        self._checkpoint.save(
            state, model=model.state_dict(), optimizer=moments, best=self._best, start=self._start
        )


def _step(
    model: TagModel, optimizer: torch.optim.Optimizer, batch: Batch, *, clip: float, bf16: bool
) -> tuple[float, int]:
    device = next(model.parameters()).device
    moved = batch.to(device)
    with precision(model, bf16=bf16):
        loss, marked = model(moved)
    if not torch.isfinite(loss):
        raise TrainingError("the loss is no number; lower learning_rate, or the class_weights")
    optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(loss / batch.words.sum())
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return float(loss.detach()), marked
