"""Training: lower blocks read once, upper ones trained on their states, the best epoch kept.

The states behind the frozen blocks are computed once and kept in bfloat16, 770 bytes a piece, so
that an epoch costs only the blocks that learn. A killed run resumes after its last whole epoch.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from deid_assets.extending import Report
from deid_compact.labels import NO_TARGET
from deid_compact.losses import marks_loss
from deid_encoder.examples import WindowExample
from deid_encoder.network import Encoder, mask_of
from deid_encoder.settings import EncoderSettings
from deid_training.checkpoint import Checkpoint
from deid_training.learner import EpochScore, Learner, LoopSettings, Loss
from deid_training.loop import Loop

_LEAST_RATE = 0.02


@dataclass(frozen=True, slots=True)
class WindowBatch:
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
    encoder: Encoder,
    batches: Sequence[Sequence[WindowExample]],
    settings: EncoderSettings,
    pad: int,
) -> list[WindowBatch]:
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
            read.append(WindowBatch(states.to(torch.bfloat16), targets, filled))
    return read


def _precision(settings: EncoderSettings) -> torch.autocast:
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=settings.bf16)


def scores_of(
    encoder: Encoder, batch: WindowBatch, settings: EncoderSettings
) -> tuple[Tensor, Tensor]:
    """Return the scores of the pieces that are learnt from, and their targets.

    (pieces, outputs) and (pieces,).
    """
    blocks = list(encoder.blocks)[settings.frozen :]
    with _precision(settings):
        states = encoder.run(batch.states.float(), mask_of(batch.filled), blocks)
        scores = encoder.head(encoder.dropout(states))
    is_learnt = batch.targets != NO_TARGET
    return scores.float()[is_learnt], batch.targets[is_learnt]


class EncoderLearner(Learner[WindowBatch]):
    """Learns the upper blocks and the last layer.

    Args:
        encoder: With its published weights; all but what is learnt is frozen.
        batches: To learn from.
        dev: Whose loss says which epoch is the best.
        settings: Of the recipe.
        allowed: (targets, outputs).
        seed: Of the order of the batches and of dropout.
    """

    model: Encoder

    def __init__(
        self,
        encoder: Encoder,
        batches: Sequence[WindowBatch],
        dev: Sequence[WindowBatch],
        settings: EncoderSettings,
        allowed: Tensor,
        *,
        seed: int,
    ) -> None:
        self.model = encoder
        self._batches = batches
        self._dev = dev
        self._settings = settings
        self._allowed = allowed
        self._seed = seed
        self._blocks = [
            parameter
            for block in encoder.blocks[settings.frozen :]
            for parameter in block.parameters()
        ]
        head = list(encoder.head.parameters())
        encoder.requires_grad_(requires_grad=False)
        for parameter in (*self._blocks, *head):
            parameter.requires_grad_()
        self.optimizer = torch.optim.AdamW(
            [
                {"params": self._blocks, "lr": settings.learning_rate},
                {"params": head, "lr": settings.head_rate},
            ],
            weight_decay=settings.weight_decay,
        )

    def batches(self, epoch: int) -> Iterator[list[WindowBatch]]:
        """Yield the batches in an order drawn for the epoch."""
        torch.manual_seed(self._seed * 1000 + epoch)
        order = list(self._batches)
        random.Random(self._seed * 1000 + epoch).shuffle(order)  # noqa: S311 - no secret
        for batch in order:
            yield [batch]

    def loss(self, part: WindowBatch) -> Loss:
        """Return the mean loss of pieces."""
        scores, targets = scores_of(self.model, part, self._settings)
        return Loss(marks_loss(scores, targets, self._allowed, self._settings.smoothing))

    def rate(self, step: int) -> float:
        """Return the share of the highest rate: up over the warm-up, then down linearly."""
        steps = self._settings.epochs * len(self._batches)
        warm = (step + 1) / self._settings.warm_up_steps
        return min(1.0, warm) * max(_LEAST_RATE, 1 - step / steps)

    def judge(self, epoch: int, loss: float) -> EpochScore:
        """Return how small the loss on the development notes is, without smoothing."""
        del epoch, loss
        total = 0.0
        pieces = 0
        for scores, targets in scores_on(self.model, self._dev, self._settings):
            total += float(marks_loss(scores, targets, self._allowed)) * len(targets)
            pieces += len(targets)
        return EpochScore(-total / max(pieces, 1))

    def list_clipped(self) -> Sequence[torch.nn.Parameter]:
        """Return the blocks' parameters; gradients of the last layer are not clipped."""
        return self._blocks


def train(
    learner: EncoderLearner, settings: EncoderSettings, checkpoint: Checkpoint, report: Report
) -> None:
    """Train, and leave the weights of the best epoch in the encoder.

    Raises:
        TrainingError: The loss is no number.
    """
    loop_settings = LoopSettings(
        epochs=settings.epochs,
        clip=settings.clip,
        patience=settings.patience,
    )
    Loop(learner, loop_settings, checkpoint, report).run()


def read_trained_state(encoder: Encoder, frozen: int) -> dict[str, Tensor]:
    """Return the weights that are not as published: of the trained blocks and of the last layer."""
    untouched = ("word.", "position.", "norm.", *(f"blocks.{number}." for number in range(frozen)))
    return {
        name: values.detach().contiguous()
        for name, values in encoder.state_dict().items()
        if not name.startswith(untouched)
    }


def scores_on(
    encoder: Encoder, dev: Sequence[WindowBatch], settings: EncoderSettings
) -> list[tuple[Tensor, Tensor]]:
    """Return scores and targets of each development batch."""
    encoder.eval()
    with torch.no_grad():
        return [scores_of(encoder, batch, settings) for batch in dev]
