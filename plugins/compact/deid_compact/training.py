"""Training of the network on annotated notes, their copies and, where there is one, what a teacher
holds of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deid_compact.labels import NO_TARGET
from deid_compact.losses import marks_loss
from deid_compact.nets import CompactNet, Feed, pad_arrays
from deid_compact.settings import CompactSettings
from deid_compact.spelling import Spelling
from deid_training.learner import EpochScore, Learner, Loss

_LEAST_RATE = 0.02
_WARM_UP_STEPS = 100
_TABLE_RATE = 2.0
_LABELS_HIDDEN = 0.7
"""Of the words of a note whose labels are hidden."""
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WordExample:
    """Words of a note that are learnt together.

    Args:
        words: Numbers of their spelling.
        gaps: How each is set off.
        labels: What the other detector says.
        targets: Numbers of what each may be.
        teacher: Probabilities of a teacher, (words, outputs), or none.
    """

    words: Numbers
    gaps: Numbers
    labels: Numbers
    targets: Numbers
    teacher: NDArray[np.float16] | None = field(default=None, repr=False)


def pieces_of(example: WordExample, longest: int) -> list[WordExample]:
    """Return a note cut into runs of words."""
    if len(example.words) <= longest:
        return [example] if len(example.words) else []
    pieces = []
    for first in range(0, len(example.words), longest):
        part = slice(first, first + longest)
        teacher = None if example.teacher is None else example.teacher[part]
        pieces.append(
            WordExample(
                example.words[part],
                example.gaps[part],
                example.labels[part],
                example.targets[part],
                teacher,
            )
        )
    return pieces


class CompactLearner(Learner[Sequence[WordExample]]):
    """Learns what each word is.

    Args:
        net: At its start.
        settings: Of the recipe.
        spelling: Of all words.
        allowed: Which outputs each target allows: (targets, outputs).
        batches: To learn from.
        dev: Whose loss says which epoch is the best.
        seed: Of all that is drawn.
    """

    model: CompactNet

    def __init__(
        self,
        net: CompactNet,
        settings: CompactSettings,
        spelling: Spelling,
        allowed: Tensor,
        *,
        batches: Sequence[Sequence[WordExample]],
        dev: Sequence[Sequence[WordExample]],
        seed: int,
    ) -> None:
        self.model = net
        self.optimizer = _optimizer(net, settings.learning_rate)
        self._settings = settings
        self._spelling = spelling
        self._allowed = allowed
        self._batches = batches
        self._dev = dev
        self._chance = random.Random(seed)  # noqa: S311 - no secret
        self._draws = np.random.default_rng(seed)

    def batches(self, epoch: int) -> Iterator[list[Sequence[WordExample]]]:
        """Yield the batches in a new order; draws go on from epoch to epoch."""
        del epoch
        order = list(self._batches)
        self._chance.shuffle(order)
        for batch in order:
            yield [batch]

    def loss(self, part: Sequence[WordExample]) -> Loss:
        """Return the mean loss of the words, and of what the teacher holds of them."""
        return Loss(self._batch_loss(part))

    def rate(self, step: int) -> float:
        """Return the share of the highest rate: up over the warm-up, then down linearly."""
        steps = self._settings.epochs * len(self._batches)
        return min(1.0, (step + 1) / _WARM_UP_STEPS) * max(_LEAST_RATE, 1 - step / steps)

    def judge(self, epoch: int, loss: float) -> EpochScore:
        """Return how small the loss on the development notes is, without smoothing."""
        del epoch, loss
        total = 0.0
        count = 0
        for scores, targets in self.dev_scores():
            total += float(marks_loss(scores, targets, self._allowed)) * len(targets)
            count += len(targets)
        return EpochScore(-total / max(count, 1))

    def dev_scores(self) -> list[tuple[Tensor, Tensor]]:
        """Return scores and targets of the words of each development batch."""
        self.model.eval()
        found = []
        with torch.no_grad():
            for batch in self._dev:
                targets = pad_arrays([example.targets for example in batch], NO_TARGET)
                scores = self.model(self._feed(batch, in_training=False))
                found.append((scores[targets != NO_TARGET], targets[targets != NO_TARGET]))
        return found

    def _batch_loss(self, batch: Sequence[WordExample]) -> Tensor:
        targets = pad_arrays([example.targets for example in batch], NO_TARGET)
        is_word = targets != NO_TARGET
        scores = self.model(self._feed(batch, in_training=True))
        loss = marks_loss(
            scores[is_word], targets[is_word], self._allowed, self._settings.smoothing
        )
        return self._add_teacher(loss, scores, batch)

    def _add_teacher(self, loss: Tensor, scores: Tensor, batch: Sequence[WordExample]) -> Tensor:
        """Return the loss with the cross-entropy to what the teacher holds, where it was asked."""
        rows = []
        wanted = []
        for number, example in enumerate(batch):
            if example.teacher is not None:
                rows.append(scores[number, : len(example.words)])
                wanted.append(torch.from_numpy(example.teacher.astype(np.float32)))
        if not rows:
            return loss
        share = self._settings.teacher_share
        said = torch.cat(rows).log_softmax(-1)
        return (1 - share) * loss - share * (torch.cat(wanted) * said).sum(-1).mean()

    def _feed(self, batch: Sequence[WordExample], *, in_training: bool) -> Feed:
        words = [self._hide_some(example, in_training=in_training) for example in batch]
        distinct, places = np.unique(np.concatenate(words), return_inverse=True)
        ends = np.cumsum([len(each) for each in words])
        numbered = np.split(places, ends[:-1])
        labels = [self._labels(example, in_training=in_training) for example in batch]
        return Feed(
            *self._spelling.parts(distinct),
            words=pad_arrays(numbered, NO_TARGET),
            gaps=pad_arrays([example.gaps for example in batch], 0),
            labels=pad_arrays(labels, 0),
        )

    def _hide_some(self, example: WordExample, *, in_training: bool) -> Numbers:
        if not in_training:
            return example.words
        draws = self._draws.random(len(example.words))
        words = np.where(
            draws > 1 - self._settings.parts_alone,
            self._spelling.partial(example.words),
            example.words,
        )
        return np.where(draws < self._settings.hide, self._spelling.hide(example.words), words)

    def _labels(self, example: WordExample, *, in_training: bool) -> Numbers:
        if not in_training or self._draws.random() >= self._settings.label_dropout:
            return example.labels
        is_hidden = self._draws.random(len(example.labels)) < _LABELS_HIDDEN
        return np.where(is_hidden, 0, example.labels)


def _optimizer(net: CompactNet, rate: float) -> torch.optim.Optimizer:
    """Return AdamW (Loshchilov and Hutter 2019); the table learns faster and does not decay."""
    others = [each for name, each in net.named_parameters() if not name.startswith("table.")]
    return torch.optim.AdamW(
        [
            {"params": others, "lr": rate, "weight_decay": 0.01},
            {"params": list(net.table.parameters()), "lr": _TABLE_RATE * rate, "weight_decay": 0.0},
        ]
    )
