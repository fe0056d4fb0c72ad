"""Training: lower blocks read once, upper ones trained on their states, the best epoch kept.

The states behind the frozen blocks are computed once and kept in bfloat16, 770 bytes a piece, so
that an epoch costs only the blocks that learn. A killed run resumes after its last whole epoch.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from deid_assets.extending import Epoch, Report, TrainingError
from deid_compact.labels import NO_TARGET
from deid_compact.losses import marks_loss
from deid_encoder.examples import Example
from deid_encoder.network import Encoder, mask_of
from deid_encoder.settings import EncoderSettings

_LEAST_RATE = 0.02
_STATE = "state.json"


@dataclass(frozen=True, slots=True)
class Batch:
    """Windows of about the same length behind the frozen blocks.

    Args:
        states: (windows, pieces, hidden), bfloat16.
        targets: (windows, pieces), ``NO_TARGET`` where nothing is learnt.
        filled: (windows, pieces), whether a piece is read.
    """

    states: Tensor
    targets: Tensor
    filled: Tensor


def read_frozen(
    encoder: Encoder, batches: Sequence[Sequence[Example]], settings: EncoderSettings, pad: int
) -> list[Batch]:
    """Return batches behind the frozen blocks."""
    encoder.eval()
    blocks = list(encoder.blocks)[: settings.frozen]
    read = []
    with torch.no_grad(), _precision(settings):
        for examples in batches:
            longest = max(len(example.pieces) for example in examples)
            pieces = torch.full((len(examples), longest), pad)
            targets = torch.full((len(examples), longest), NO_TARGET)
            for row, example in enumerate(examples):
                pieces[row, : len(example.pieces)] = torch.tensor(example.pieces)
                targets[row, : len(example.targets)] = torch.tensor(example.targets)
            filled = pieces != pad
            states = encoder.run(encoder.embed(pieces), mask_of(filled), blocks)
            read.append(Batch(states.to(torch.bfloat16), targets, filled))
    return read


def _precision(settings: EncoderSettings) -> torch.autocast:
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=settings.bf16)


def scores_of(encoder: Encoder, batch: Batch, settings: EncoderSettings) -> tuple[Tensor, Tensor]:
    """Return the scores of the pieces that are learnt from, and their targets.

    (pieces, outputs) and (pieces,).
    """
    blocks = list(encoder.blocks)[settings.frozen :]
    with _precision(settings):
        states = encoder.run(batch.states.float(), mask_of(batch.filled), blocks)
        scores = encoder.head(encoder.dropout(states))
    is_learnt = batch.targets != NO_TARGET
    return scores.float()[is_learnt], batch.targets[is_learnt]


@dataclass(slots=True)
class Progress:
    """Progress of a run, as in its checkpoint."""

    epoch: int = 0
    best_loss: float = math.inf
    stale: int = 0


class Training:
    """One run.

    Args:
        encoder: With its published weights.
        settings: Of the recipe.
        allowed: (targets, outputs).
        folder: Of the checkpoint.
        seed: Of the order of the batches and of dropout.
        report: Called after each epoch.
    """

    def __init__(
        self,
        encoder: Encoder,
        settings: EncoderSettings,
        allowed: Tensor,
        *,
        folder: Path,
        seed: int,
        report: Report,
    ) -> None:
        self._encoder = encoder
        self._settings = settings
        self._allowed = allowed
        self._folder = folder
        self._seed = seed
        self._report = report
        trained = [
            parameter
            for block in encoder.blocks[settings.frozen :]
            for parameter in block.parameters()
        ]
        self._trained = trained
        self._optimizer = torch.optim.AdamW(
            [
                {"params": trained, "lr": settings.learning_rate},
                {"params": list(encoder.head.parameters()), "lr": settings.head_rate},
            ],
            weight_decay=settings.weight_decay,
        )

    def run(self, batches: Sequence[Batch], dev: Sequence[Batch]) -> float:
        """Train, and return the best epoch's loss on the development notes.

        The weights of that epoch are left in the encoder.

        Raises:
            TrainingError: The loss is no number.
        """
        progress = self._resumed()
        steps = self._settings.epochs * len(batches)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, lambda step: self._rate(step, steps)
        )
        for _ in range(progress.epoch * len(batches)):
            schedule.step()
        began = time.monotonic()
        while progress.epoch < self._settings.epochs and progress.stale < self._settings.patience:
            loss = self._epoch(batches, schedule, progress.epoch)
            progress.epoch += 1
            dev_loss = self.loss(dev)
            is_better = dev_loss < progress.best_loss
            progress.best_loss = min(dev_loss, progress.best_loss)
            progress.stale = 0 if is_better else progress.stale + 1
            self._save(progress, is_better=is_better)
            self._report(
                Epoch(
                    phase=0,
                    epoch=progress.epoch,
                    loss=loss,
                    seconds=time.monotonic() - began,
                    learning_rate=float(schedule.get_last_lr()[0]),
                )
            )
        self._encoder.load_state_dict(load_file(self._folder / "best.safetensors"), strict=False)
        return progress.best_loss

    def loss(self, batches: Sequence[Batch]) -> float:
        """Return the mean loss of pieces, without smoothing."""
        self._encoder.eval()
        total = 0.0
        pieces = 0
        with torch.no_grad():
            for batch in batches:
                scores, targets = scores_of(self._encoder, batch, self._settings)
                total += float(marks_loss(scores, targets, self._allowed)) * len(targets)
                pieces += len(targets)
        return total / max(pieces, 1)

    def _epoch(
        self, batches: Sequence[Batch], schedule: torch.optim.lr_scheduler.LambdaLR, epoch: int
    ) -> float:
        self._encoder.train()
        torch.manual_seed(self._seed * 1000 + epoch)
        order = list(range(len(batches)))
        random.Random(self._seed * 1000 + epoch).shuffle(order)  # noqa: S311 - no secret
        total = 0.0
        for number in order:
            scores, targets = scores_of(self._encoder, batches[number], self._settings)
            loss = marks_loss(scores, targets, self._allowed, self._settings.smoothing)
            if not torch.isfinite(loss):
                raise TrainingError("the loss is no number; choose a smaller learning_rate")
            self._optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self._trained, self._settings.clip)
            self._optimizer.step()
            schedule.step()
            total += float(loss.detach())
        return total / max(len(batches), 1)

    def _rate(self, step: int, steps: int) -> float:
        """Return the share of the highest rate: up over the warm-up, then down linearly."""
        warm = (step + 1) / self._settings.warm_up_steps
        left = 1 - step / steps
        return min(1.0, warm) * max(_LEAST_RATE, left)

    def _save(self, progress: Progress, *, is_better: bool) -> None:
        """Write the state after an epoch; ``state.json`` is renamed into place last."""
        self._folder.mkdir(parents=True, exist_ok=True)
        weights = trained_state(self._encoder, self._settings.frozen)
        if is_better:
            _write(weights, self._folder / "best.safetensors")
        _write(weights, self._folder / f"last-{progress.epoch}.safetensors")
        torch.save(self._optimizer.state_dict(), self._folder / f"optimizer-{progress.epoch}.state")
        part = self._folder / f"{_STATE}.part"
        part.write_text(
            json.dumps(
                {"epoch": progress.epoch, "best_loss": progress.best_loss, "stale": progress.stale}
            )
        )
        part.replace(self._folder / _STATE)
        for old in (
            f"last-{progress.epoch - 1}.safetensors",
            f"optimizer-{progress.epoch - 1}.state",
        ):
            (self._folder / old).unlink(missing_ok=True)

    def _resumed(self) -> Progress:
        path = self._folder / _STATE
        if not path.exists():
            return Progress()
        try:
            progress = Progress(**json.loads(path.read_text()))
            weights = load_file(self._folder / f"last-{progress.epoch}.safetensors")
            optimizer = torch.load(
                self._folder / f"optimizer-{progress.epoch}.state", weights_only=True
            )
        except Exception as error:
            raise TrainingError(
                f"{path} is broken; remove the folder checkpoint and train again"
            ) from error
        self._encoder.load_state_dict(weights, strict=False)
        self._optimizer.load_state_dict(optimizer)
        return progress


def _write(state: dict[str, Tensor], path: Path) -> None:
    part = path.with_suffix(".part")
    save_file(state, part)
    part.replace(path)


def trained_state(encoder: Encoder, frozen: int) -> dict[str, Tensor]:
    """Return the weights that are not as published: of the trained blocks and of the last layer."""
    untouched = ("word.", "position.", "norm.", *(f"blocks.{number}." for number in range(frozen)))
    return {
        name: values.detach().contiguous()
        for name, values in encoder.state_dict().items()
        if not name.startswith(untouched)
    }


def scores_on(
    encoder: Encoder, dev: Sequence[Batch], settings: EncoderSettings
) -> list[tuple[Tensor, Tensor]]:
    """Return scores and targets of each development batch."""
    encoder.eval()
    with torch.no_grad():
        return [scores_of(encoder, batch, settings) for batch in dev]
