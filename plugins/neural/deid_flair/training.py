"""The training loop.

Phases, epochs, annealing, and a checkpoint after each epoch, from which a killed run resumes.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import flair
import numpy as np
import torch
from numpy.typing import NDArray

from deid_assets.extending import (
    Document,
    Epoch,
    Report,
    Tagged,
    Task,
    TrainingError,
    decode,
    labelled,
)
from deid_flair.annealing import Annealing, cycle
from deid_flair.network import Network
from deid_flair.quiet import seed_all
from deid_flair.settings import Settings
from deid_flair.store import read_tensors, write_tensors
from deid_onnx.families.flair import Line, buckets

_POOL = 32  # batches at most that are sorted by length together
Optimizer = torch.optim.SGD | torch.optim.AdamW


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


def inputs(network: Network, documents: Sequence[Document], task: Task, wanted: Settings) -> Inputs:
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
            rows = network.frozen([found.lines[at] for at in batch])
            for at, row in zip(batch, rows if rows is not None else [], strict=True):
                found.frozen[at] = row[: len(found.lines[at])].cpu().clone()
    return found


@dataclass(slots=True)
class Run:
    """One training: the network, where it stands, and its file.

    Args:
        network: What is trained.
        task: Notes, labels, seed.
        wanted: Settings.
        state: File that is replaced after every epoch.
        identity: Digest of all that makes the model; a checkpoint of another identity is not
            resumed.
    """

    network: Network
    task: Task
    wanted: Settings
    state: Path
    identity: str

    def train(self, report: Report) -> None:
        """Train all phases; the network is left with the best weights of the last.

        Raises:
            TrainingError: The loss is not a number, or a phase has no text.
        """
        place, tensors = self._resumed()
        dev = inputs(self.network, self.task.dev, self.task, self.wanted)
        for phase in range(place["phase"], len(self.task.phases)):
            seed_all(self.task.seed, phase)
            train = inputs(self.network, self.task.phases[phase], self.task, self.wanted)
            if not train.lines:
                raise TrainingError(
                    f"the notes of phase {phase + 1} have no text; give notes with text"
                )
            self._phase(
                phase, train, dev, report, (place, tensors) if phase == place["phase"] else ({}, {})
            )
        self.network.tagger.eval()

    def _phase(
        self,
        phase: int,
        train: Inputs,
        dev: Inputs,
        report: Report,
        resumed: tuple[dict[str, Any], dict[str, Any]],
    ) -> None:
        """Train one phase.

        Its learning rate starts again; its weights are those that the phase before ended with.
        """
        wanted, (place, tensors) = self.wanted, resumed
        annealing = Annealing(
            wanted.learning_rate, wanted.anneal_factor, wanted.patience, wanted.min_learning_rate
        )
        optimizer = self._optimizer(annealing.rate)
        first, spent, best = 0, 0.0, self._weights()
        if tensors:
            annealing = Annealing(**place["annealing"])
            first, spent = place["epoch"], place["seconds"]
            best = _under(tensors, "best.")
            self._load(_under(tensors, "now."))
            _restore(optimizer, _under(tensors, "optimizer."))
        begun = time.monotonic() - spent
        for epoch in range(first, wanted.max_epochs):
            if annealing.ended and wanted.schedule == "anneal":
                break
            seed_all(self.task.seed, phase, epoch)
            rate = annealing.rate
            loss = self._epoch(train, optimizer, rate, epoch)
            metric, dev_f1 = self._judge(dev, loss)
            if annealing.step(metric):
                best = self._weights()
            seconds = time.monotonic() - begun
            place = {
                "phase": phase,
                "epoch": epoch + 1,
                "seconds": seconds,
                "annealing": asdict(annealing),
            }
            self._write(place, best, optimizer)
            rate = optimizer.param_groups[0]["lr"]
            report(
                Epoch(
                    phase=phase,
                    epoch=epoch + 1,
                    loss=loss,
                    seconds=seconds,
                    dev_f1=dev_f1,
                    learning_rate=rate,
                )
            )
        self._load(best)

    def _optimizer(self, rate: float) -> Optimizer:
        learnt = [tensor for tensor in self.network.tagger.parameters() if tensor.requires_grad]
        return (
            torch.optim.SGD(learnt, lr=rate)
            if self.wanted.optimizer == "sgd"
            else torch.optim.AdamW(learnt, lr=rate)
        )

    def _epoch(self, train: Inputs, optimizer: Optimizer, rate: float, epoch: int) -> float:
        """Return the mean loss per token."""
        self.network.tagger.train()
        batches, total = shuffled(train.lines, self.wanted.batch_size), 0.0
        for step, batch in enumerate(batches):
            if self.wanted.schedule == "cycle":
                rate = cycle(
                    self.wanted.learning_rate,
                    (epoch + step / len(batches)) / self.wanted.max_epochs,
                )
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.zero_grad()
            loss = self.network.loss(
                [train.lines[number] for number in batch],
                [train.tags[number] for number in batch],
                train.batch_frozen(batch),
            )
            loss.backward()  # type: ignore[no-untyped-call]  # PyTorch's annotations
            torch.nn.utils.clip_grad_norm_(self.network.tagger.parameters(), self.wanted.clip)
            optimizer.step()
            total += loss.item()
        if not math.isfinite(total):
            raise TrainingError(
                f"the loss is not a number in epoch {epoch + 1}; give a lower learning_rate"
            )
        return total / sum(map(len, train.lines))

    def _judge(self, dev: Inputs, loss: float) -> tuple[float, float | None]:
        """Return what the rate is annealed on, and the strict F1.

        Of the former, greater is better; the latter is on the development notes.
        """
        if not dev.lines:
            return -loss, None
        self.network.tagger.eval()
        f1 = self._dev_f1(dev)
        if self.wanted.anneal_on == "dev_f1":
            return f1, f1
        return -(loss if self.wanted.anneal_on == "train_loss" else self._dev_loss(dev)), f1

    def _batches(self, dev: Inputs) -> Iterator[list[int]]:
        return iter(buckets(dev.lines, most=32, characters=32_000))

    def _dev_loss(self, dev: Inputs) -> float:
        total = 0.0
        for some in self._batches(dev):
            batch = sorted(some, key=lambda number: -len(dev.lines[number]))
            with torch.no_grad():
                loss = self.network.loss(
                    [dev.lines[at] for at in batch],
                    [dev.tags[at] for at in batch],
                    dev.batch_frozen(batch),
                )
            total += loss.item()
        return total / sum(map(len, dev.lines))

    def _dev_f1(self, dev: Inputs) -> float:
        chain, found = self.network.chain(), set()
        for batch in self._batches(dev):
            lines = [dev.lines[at] for at in batch]
            padded = self.network.scores(lines, dev.batch_frozen(batch))
            scores: list[NDArray[np.float32]] = [
                row[: len(line)] for row, line in zip(padded, lines, strict=True)
            ]
            for at, path in zip(batch, chain.best(scores), strict=True):
                part = dev.tagged[at]
                spans = decode([self.network.tags[tag] for tag in path], part.tokens)
                found |= {(part.note.digest, *span) for span in spans}
        gold = {
            (document.note.digest, *span)
            for document in self.task.dev
            for span in labelled(document.spans, native=self.task.native)
        }
        return 2 * len(found & gold) / (len(found) + len(gold)) if found or gold else 1.0

    def _weights(self) -> dict[str, torch.Tensor]:
        """Return a copy of what training changes."""
        learnt = {
            name for name, tensor in self.network.tagger.named_parameters() if tensor.requires_grad
        }
        state = self.network.tagger.state_dict()
        return {name: tensor.detach().clone() for name, tensor in state.items() if name in learnt}

    def _load(self, weights: dict[str, torch.Tensor]) -> None:
        self.network.tagger.load_state_dict(weights, strict=False)

    def _write(
        self, place: dict[str, Any], best: dict[str, torch.Tensor], optimizer: Optimizer
    ) -> None:
        tensors = {f"now.{name}": tensor for name, tensor in self._weights().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
        for number, moments in optimizer.state_dict()["state"].items():
            numeric = {name: value for name, value in moments.items() if value is not None}
            tensors |= {
                f"optimizer.{number}.{name}": torch.as_tensor(value)
                for name, value in numeric.items()
            }
        write_tensors(self.state, tensors, {"identity": self.identity, "place": place})

    def _resumed(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        if self.state.exists():
            tensors, notes = read_tensors(self.state)
            if notes.get("identity") == self.identity:
                return notes["place"], tensors
        return {"phase": 0}, {}


def shuffled(lines: Sequence[Line], size: int) -> list[list[int]]:
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


def _restore(optimizer: Optimizer, tensors: dict[str, torch.Tensor]) -> None:
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, tensor in tensors.items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = tensor
    optimizer.load_state_dict(
        {"state": state, "param_groups": optimizer.state_dict()["param_groups"]}
    )


def _under(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def identity(task: Task, wanted: Settings, version: str) -> str:
    """Return a digest of all that makes the model.

    How many epochs it takes may change when a run is resumed.
    """
    notes = [
        [
            (document.note.digest, labelled(document.spans, native=task.native))
            for document in documents
        ]
        for documents in (*task.phases, task.dev)
    ]
    raw = [note.digest for note in task.raw]
    aside = {"threads", "cache_mb"} | ({"max_epochs"} if wanted.schedule == "anneal" else set())
    settings = wanted.model_dump(mode="json", exclude=aside)
    known = [
        version,
        notes,
        raw,
        settings,
        task.labels,
        task.native,
        task.scheme,
        task.grouping,
        task.seed,
    ]
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
