"""Training: phases, annealing, and scores on the development notes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import flair
import numpy as np
import torch
from numpy.typing import NDArray

from deid_assets.extending import (
    Document,
    Report,
    Tagged,
    Task,
    TrainingError,
    decode,
    label_ranges,
)
from deid_flair.annealing import Annealing, cycle
from deid_flair.network import FlairNetwork
from deid_flair.quiet import seed_all
from deid_flair.settings import FlairSettings
from deid_onnx.families.flair import Line, buckets
from deid_training.checkpoint import Checkpoint
from deid_training.fingerprints import task_fingerprint
from deid_training.learner import EpochScore, Learner, LoopSettings, Loss
from deid_training.loop import Loop

_POOL = 32  # batches at most that are sorted by length together


@dataclass(slots=True)
class Inputs:
    """Inputs of the network, and what its frozen embeddings give for them.

    Args:
        tagged: The inputs.
        lines: Their tokens.
        tags: Their tags by number.
        frozen: (tokens, width) each; empty where they are made again each time.
    """

    tagged: list[Tagged] = field(repr=False)
    lines: list[Line] = field(repr=False)
    tags: list[list[int]] = field(repr=False)
    frozen: list[torch.Tensor] = field(default_factory=list, repr=False)

    def batch_frozen(self, numbers: Sequence[int]) -> torch.Tensor | None:
        """Return (inputs, tokens, width), padded, or nothing."""
        if not self.frozen:
            return None
        return torch.nn.utils.rnn.pad_sequence(
            [self.frozen[at] for at in numbers], batch_first=True
        ).to(flair.device)


def inputs(
    network: FlairNetwork, documents: Sequence[Document], task: Task, wanted: FlairSettings
) -> Inputs:
    """Return the inputs of documents, with their frozen embeddings where these fit ``cache_mb``."""
    tagged = [
        part for document in documents for part in task.sequences(document, longest=wanted.longest)
    ]
    numbers = {tag: number for number, tag in enumerate(network.tags)}
    found = Inputs(
        tagged,
        [[part.note.text[start:end] for start, end in part.tokens] for part in tagged],
        [[numbers[tag] for tag in part.tags] for part in tagged],
    )
    width = sum(each.embedding.embedding_length for each in network.parts if each.frozen)
    if width and sum(map(len, found.lines)) * width * 4 <= wanted.cache_mb * 2**20:
        found.frozen = [torch.empty(0)] * len(tagged)
        for batch in buckets(found.lines, most=64, characters=32_000):
            rows = network.compute_frozen([found.lines[at] for at in batch])
            for at, row in zip(batch, rows if rows is not None else [], strict=True):
                found.frozen[at] = row[: len(found.lines[at])].cpu().clone()
    return found


class FlairLearner(Learner[list[int]]):
    """Learns a phase; its parts are numbers of inputs.

    Args:
        network: What is trained.
        task: Notes, labels, seed.
        wanted: Settings.
        phase: Its number, from 0.
        dev: The development notes.
    """

    def __init__(
        self, network: FlairNetwork, task: Task, wanted: FlairSettings, *, phase: int, dev: Inputs
    ) -> None:
        self.model = network.tagger
        self.optimizer = _optimizer(network, wanted)
        self._network = network
        self._task = task
        self._wanted = wanted
        self._phase = phase
        self._dev = dev
        self._annealing = Annealing(
            wanted.learning_rate, wanted.anneal_factor, wanted.patience, wanted.min_learning_rate
        )

    @cached_property
    def _train(self) -> Inputs:
        """The inputs of the phase: frozen embeddings take a while, and a phase may be done."""
        return inputs(self._network, self._task.phases[self._phase], self._task, self._wanted)

    def batches(self, epoch: int) -> Iterator[list[list[int]]]:
        """Yield the batches of an epoch."""
        lines = self._train.lines
        if not lines:
            raise TrainingError(
                f"the notes of phase {self._phase + 1} have no text; give notes with text"
            )
        seed_all(self._task.seed, self._phase, epoch)
        for batch in shuffle_batches(lines, self._wanted.batch_size):
            yield [batch]

    def loss(self, part: list[int]) -> Loss:
        """Return the loss summed over the tokens, which is also what is differentiated."""
        train = self._train
        lines = [train.lines[number] for number in part]
        tags = [train.tags[number] for number in part]
        loss = self._network.loss(lines, tags, train.batch_frozen(part))
        return Loss(loss, sum(map(len, lines)), divisor=1)

    def rate(self, step: int) -> float:
        """Return the learning rate itself: the optimiser's is 1."""
        if self._wanted.schedule == "anneal":
            return self._annealing.rate
        per_epoch = -(-len(self._train.lines) // self._wanted.batch_size)
        epoch, number = divmod(step, per_epoch)
        done = (epoch + number / per_epoch) / self._wanted.max_epochs
        return cycle(self._wanted.learning_rate, done)

    def judge(self, epoch: int, loss: float) -> EpochScore:
        """Return what the rate is annealed on, and the strict F1 on the development notes."""
        del epoch
        f1 = None
        score = -loss
        if self._dev.lines:
            self.model.eval()
            f1 = self._dev_f1()
            if self._wanted.anneal_on == "dev_f1":
                score = f1
            elif self._wanted.anneal_on == "dev_loss":
                score = -self._dev_loss()
        self._annealing.step(score)
        ends = self._annealing.ended and self._wanted.schedule == "anneal"
        return EpochScore(score, f1, ends, {"annealed_on": score})

    def resume(self, curve: Sequence[Mapping[str, Any]]) -> None:
        """Anneal the rate as the killed run did."""
        for point in curve:
            self._annealing.step(point["annealed_on"])

    def _batches(self) -> Iterator[list[int]]:
        return iter(buckets(self._dev.lines, most=32, characters=32_000))

    def _dev_loss(self) -> float:
        total, dev = 0.0, self._dev
        for some in self._batches():
            batch = sorted(some, key=lambda number: -len(dev.lines[number]))
            with torch.no_grad():
                loss = self._network.loss(
                    [dev.lines[at] for at in batch],
                    [dev.tags[at] for at in batch],
                    dev.batch_frozen(batch),
                )
            total += loss.item()
        return total / sum(map(len, dev.lines))

    def _dev_f1(self) -> float:
        chain = self._network.chain()
        dev = self._dev
        found = set()
        for batch in self._batches():
            lines = [dev.lines[at] for at in batch]
            padded = self._network.scores(lines, dev.batch_frozen(batch))
            scores: list[NDArray[np.float32]] = [
                row[: len(line)] for row, line in zip(padded, lines, strict=True)
            ]
            for at, path in zip(batch, chain.best(scores), strict=True):
                part = dev.tagged[at]
                spans = decode([self._network.tags[tag] for tag in path], part.tokens)
                found |= {(part.note.digest, *span) for span in spans}
        gold = {
            (document.note.digest, *span)
            for document in self._task.dev
            for span in label_ranges(document.spans, native=self._task.native)
        }
        return 2 * len(found & gold) / (len(found) + len(gold)) if found or gold else 1.0


def train(
    network: FlairNetwork,
    task: Task,
    wanted: FlairSettings,
    checkpoint: Callable[[str], Checkpoint],
    report: Report,
) -> None:
    """Train all phases; the network is left with the best weights of the last.

    Args:
        network: What is trained.
        task: Notes, labels, seed.
        wanted: Settings.
        checkpoint: Name of a stage to its checkpoint.
        report: Called after each epoch.

    Raises:
        TrainingError: The loss is not a number, or a phase has no text.
    """
    dev = inputs(network, task.dev, task, wanted)
    for phase in range(len(task.phases)):
        seed_all(task.seed, phase)
        learner = FlairLearner(network, task, wanted, phase=phase, dev=dev)
        settings = LoopSettings(epochs=wanted.max_epochs, clip=wanted.clip, phase=phase)
        Loop(learner, settings, checkpoint(f"phase-{phase}"), report).run()
    network.tagger.eval()


def _optimizer(network: FlairNetwork, wanted: FlairSettings) -> torch.optim.Optimizer:
    learnt = [tensor for tensor in network.tagger.parameters() if tensor.requires_grad]
    kind = torch.optim.SGD if wanted.optimizer == "sgd" else torch.optim.AdamW
    return kind(learnt, lr=1.0)


def shuffle_batches(lines: Sequence[Line], size: int) -> list[list[int]]:
    """Return an epoch's batches as numbers of inputs, in an order that Python's seed decides.

    Batches are cut from pools of inputs sorted by length, longest first: an LSTM's step is one
    product of matrices, and costs nearly the same for one input as for sixteen. A pool is an eighth
    of the inputs at most, so that few inputs are mixed well, too.
    """
    order = list(range(len(lines)))
    random.shuffle(order)
    pooled = size * max(1, min(_POOL, len(order) // size // 8))
    batches = []
    for at in range(0, len(order), pooled):
        pool = sorted(order[at : at + pooled], key=lambda number: -len(lines[number]))
        batches += [pool[start : start + size] for start in range(0, len(pool), size)]
    random.shuffle(batches)
    return batches


def identity(task: Task, wanted: FlairSettings, version: str) -> str:
    """Return a digest of all that makes the model.

    How many epochs it takes may change when a run is resumed.
    """
    aside = {"threads", "cache_mb"} | ({"max_epochs"} if wanted.schedule == "anneal" else set())
    return task_fingerprint(task, wanted.model_dump_json(exclude=aside), version)
