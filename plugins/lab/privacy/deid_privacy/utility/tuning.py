"""Fine-tuning an encoder on any task: one label of a document, several, or spans.

The best epoch's weights are kept.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import transformers

from deid_assets.extending import (
    OUTSIDE,
    TagScheme,
    TrainingError,
    decode,
    encode,
    tag_set,
    tokenize,
)
from deid_privacy.utility.examples import Marked, TaskData, TaskDocument
from deid_privacy.utility.scoring import label_scores, span_scores
from deid_training.learner import EpochScore, Learner, LoopSettings, Loss
from deid_training.loop import Loop
from deid_training.optimize import adamw, generator, linear_rate
from deid_transformers.encoder import load_model, load_tokenizer
from deid_transformers.settings import TransformersSettings

_IGNORED = -100
SMALL_WEIGHTS = 20_000_000
"""Encoders of fewer weights are those made from nothing here."""
SMALL_RATE, SMALL_LENGTH = 2e-3, 64
RATE, LENGTH = 5e-5, 512
"""For published encoders: the rate and the length of Devlin et al. (2019)."""


@dataclass(frozen=True, slots=True)
class TuningSettings:
    """Settings of every fine-tuning run.

    Args:
        epochs: At most. Encoders of this size learn tasks of many labels late: `icd10` gives none
            in the first ten.
        patience: Epochs without a better score on the development documents before it ends.
        batch: Documents in a step.
        learning_rate: At its highest; by the size of the encoder where not given.
        length: Most sub-tokens of a document, the rest is not read; by the size of the encoder
            where not given, and never more than it has positions for.
        threshold: Probability from which a label of several is given.
    """

    epochs: int = 30
    patience: int = 6
    batch: int = 8
    learning_rate: float | None = None
    length: int | None = None
    threshold: float = 0.5

    def rate_for(self, weights: int) -> float:
        """Return the highest learning rate for an encoder of so many weights."""
        return self.learning_rate or (SMALL_RATE if weights < SMALL_WEIGHTS else RATE)

    def length_for(self, weights: int, *, positions: int) -> int:
        """Return the most sub-tokens for an encoder of so many weights and positions."""
        return min(positions, self.length or (SMALL_LENGTH if weights < SMALL_WEIGHTS else LENGTH))


@dataclass(slots=True)
class TunedModel:
    """A fine-tuned model.

    Args:
        data: Name, kind and labels of its task.
        model: Of transformers.
        tokenizer: Of it.
        tuning: Settings.
        curve: Score on the development documents after each epoch.
        best_epoch: From 1.
    """

    data: TaskData
    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    tuning: TuningSettings
    curve: list[float] = field(default_factory=list)
    best_epoch: int = 0

    @property
    def parameters(self) -> int:
        """How many weights it has."""
        return sum(one.numel() for one in self.model.parameters())

    @property
    def length(self) -> int:
        """Most sub-tokens of a document that it reads."""
        positions = min(self.tokenizer.model_max_length, _positions(self.model))
        return self.tuning.length_for(self.parameters, positions=positions)

    def predict(self, examples: Sequence[TaskDocument]) -> list[Any]:
        """Return the labels of each document as a set, or its spans."""
        self.model.eval()
        found: list[Any] = []
        for at in range(0, len(examples), 32):
            rows = _encode(examples[at : at + 32], self)
            with torch.inference_mode():
                scores = self.model(
                    input_ids=rows.ids, attention_mask=rows.attention
                ).logits.float()
            found += [self._read(one, rows, number) for number, one in enumerate(scores)]
        return found

    def _read(self, scores: torch.Tensor, rows: _Rows, number: int) -> Any:
        if self.data.kind == "multilabel":
            chosen = (torch.sigmoid(scores) >= self.tuning.threshold).tolist()
            return frozenset(
                label for label, given in zip(self.data.labels, chosen, strict=True) if given
            )
        if self.data.kind == "classes":
            return frozenset({self.data.labels[int(scores.argmax())]})
        tags, best = _tags(self.data), scores.argmax(-1).tolist()
        tokens, places = rows.tokens[number], rows.firsts[number]
        said = [tags[best[place]] if place is not None else OUTSIDE for place in places]
        return tuple(decode(said, tokens))

    def score(self, examples: Sequence[TaskDocument]) -> dict[str, float]:
        """Return the scores on documents."""
        found = self.predict(examples)
        if self.data.kind == "tokens":
            return span_scores(
                [one.text for one in examples], [one.marks for one in examples], found
            )
        return label_scores([one.labels for one in examples], found)

    def latency(self, examples: Sequence[TaskDocument], *, most: int = 20) -> float:
        """Return the median milliseconds of one document by itself."""
        chosen, runs = examples[:most], []
        self.predict(chosen[:1])
        for one in chosen:
            began = time.perf_counter()
            self.predict([one])
            runs.append((time.perf_counter() - began) * 1_000)
        return float(np.median(runs))


class Pooled(torch.nn.Module):
    """An encoder under a head that scores each sub-token.

    A document has the largest score of each label, and the mean.

    A head on the first sub-token alone learns nothing from a few hundred notes, where no sentence
    task taught it.
    """

    def __init__(self, encoder: Any, labels: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.largest = torch.nn.Linear(int(encoder.config.hidden_size), labels)
        self.mean = torch.nn.Linear(int(encoder.config.hidden_size), labels)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> SimpleNamespace:
        """Return the scores of the labels: (documents, labels)."""
        said = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask
        ).last_hidden_state.float()
        read = attention_mask[..., None].bool()
        largest = self.largest(said).masked_fill(~read, -1e4).amax(1)
        return SimpleNamespace(
            logits=largest + self.mean(said.masked_fill(~read, 0).sum(1) / read.sum(1))
        )


def _positions(model: Any) -> int:
    """Return the most sub-tokens that a model has positions for."""
    config = (model.encoder if isinstance(model, Pooled) else model).config
    return int(getattr(config, "max_position_embeddings", None) or sys.maxsize)


@dataclass(frozen=True, slots=True)
class _Rows:
    ids: torch.Tensor
    attention: torch.Tensor
    targets: torch.Tensor
    tokens: list[list[tuple[int, int]]]
    firsts: list[list[int | None]]


def tune(
    data: TaskData,
    train: Sequence[TaskDocument],
    dev: Sequence[TaskDocument],
    *,
    encoder: Path,
    tuning: TuningSettings,
    seed: int,
) -> TunedModel:
    """Return an encoder fine-tuned on documents, as it was after the epoch that scored best on
    others.

    Args:
        data: Kind and labels of the task.
        train: Documents to learn from.
        dev: Documents that say when to stop; the last epoch is kept where there are none.
        encoder: Folder of a pre-trained encoder.
        tuning: Settings.
        seed: Of the head's weights, of dropout and of the order.

    Raises:
        TrainingError: There is no document, or the encoder does not load.
    """
    if not train:
        raise TrainingError(
            f"task {data.name!r} has no document to learn from; give more documents or fewer folds"
        )
    generator(seed, 81)
    tuned = _load(data, encoder, tuning)
    learner = DocumentLearner(tuned, train, dev, seed=seed)
    settings = LoopSettings(epochs=tuning.epochs, patience=tuning.patience, least=0.0)
    tuned.best_epoch = Loop(learner, settings).run().best_epoch
    tuned.model.eval()
    return tuned


def _load(data: TaskData, encoder: Path, tuning: TuningSettings) -> TunedModel:
    """Return a pre-trained encoder under a new head for a task."""
    settings = TransformersSettings(encoder=str(encoder))
    if data.kind == "tokens":
        head: Any = transformers.AutoModelForTokenClassification
        model = load_model(
            head, settings, num_labels=len(_tags(data)), ignore_mismatched_sizes=True
        )
    else:
        body: Any = transformers.AutoModel
        model = Pooled(load_model(body, settings), len(data.labels))
    return TunedModel(data, model, load_tokenizer(settings), tuning)


class DocumentLearner(Learner[list[TaskDocument]]):
    """Learns the labels of documents.

    Args:
        tuned: The model at its start; its curve is written.
        train: Documents to learn from.
        dev: Documents that say which epoch is the best.
        seed: Of order and dropout.
    """

    def __init__(
        self,
        tuned: TunedModel,
        train: Sequence[TaskDocument],
        dev: Sequence[TaskDocument],
        *,
        seed: int,
    ) -> None:
        self.model = tuned.model
        highest = tuned.tuning.rate_for(tuned.parameters)
        self.optimizer = adamw(self.model, learning_rate=highest, weight_decay=0.01)
        self._tuned = tuned
        self._train = train
        self._dev = dev
        self._seed = seed

    def batches(self, epoch: int) -> Iterator[list[list[TaskDocument]]]:
        """Yield every document once, in an order drawn for the epoch."""
        rng = generator(self._seed, 82, epoch)
        for part in _parts(self._train, self._tuned.tuning.batch, rng):
            yield [part]

    def loss(self, part: list[TaskDocument]) -> Loss:
        """Return the mean loss of documents, or of their words."""
        rows = _encode(part, self._tuned)
        scores = self.model(input_ids=rows.ids, attention_mask=rows.attention).logits
        return Loss(_loss(scores, rows.targets, self._tuned.data))

    def rate(self, step: int) -> float:
        """Return the share of the highest learning rate."""
        tuning = self._tuned.tuning
        per_epoch = -(-len(self._train) // tuning.batch)
        return linear_rate(step, steps=tuning.epochs * per_epoch, warm_up=0.1)

    def judge(self, epoch: int, loss: float) -> EpochScore:
        """Return the F1 on the other documents; where there are none, the last epoch is best."""
        del loss
        score = self._tuned.score(self._dev)["f1"] if self._dev else float(epoch - 1)
        self._tuned.curve.append(score)
        return EpochScore(score)


def _parts(
    examples: Sequence[TaskDocument], size: int, rng: np.random.Generator
) -> Iterator[list[TaskDocument]]:
    order = rng.permutation(len(examples)).tolist()
    for at in range(0, len(order), size):
        yield [examples[number] for number in order[at : at + size]]


def _loss(scores: torch.Tensor, targets: torch.Tensor, data: TaskData) -> torch.Tensor:
    if data.kind == "multilabel":
        return torch.nn.functional.binary_cross_entropy_with_logits(scores.float(), targets)
    return torch.nn.functional.cross_entropy(
        scores.float().flatten(0, -2), targets.flatten(), ignore_index=_IGNORED
    )


def _tags(data: TaskData) -> tuple[str, ...]:
    return tuple(tag_set(data.labels, TagScheme.BIO))


def _encode(examples: Sequence[TaskDocument], tuned: TunedModel) -> _Rows:
    """Return documents as tensors; the first sub-token of a word carries its tag."""
    coded = tuned.tokenizer(
        [one.text for one in examples],
        truncation=True,
        max_length=tuned.length,
        padding=True,
        return_offsets_mapping=True,
        return_tensors="pt",
    )
    tokens: list[list[tuple[int, int]]] = []
    firsts: list[list[int | None]] = []
    if tuned.data.kind == "tokens":
        for one, offsets in zip(examples, coded["offset_mapping"].tolist(), strict=True):
            own = tokenize(one.text)
            starts = {
                start: place
                for place, (start, end) in reversed(list(enumerate(offsets)))
                if end > start
            }
            tokens.append(own)
            firsts.append([starts.get(start) for start, _ in own])
    targets = _targets(examples, tuned.data, coded["input_ids"].shape, tokens, firsts)
    return _Rows(coded["input_ids"], coded["attention_mask"], targets, tokens, firsts)


def _targets(
    examples: Sequence[TaskDocument],
    data: TaskData,
    shape: torch.Size,
    tokens: Sequence[Sequence[tuple[int, int]]],
    firsts: Sequence[Sequence[int | None]],
) -> torch.Tensor:
    if data.kind == "multilabel":
        return torch.tensor(
            [[float(label in one.labels) for label in data.labels] for one in examples]
        )
    if data.kind == "classes":
        return torch.tensor(
            [data.labels.index(next(iter(one.labels), data.labels[0])) for one in examples]
        )
    numbers = {tag: number for number, tag in enumerate(_tags(data))}
    found = torch.full(tuple(shape), _IGNORED)
    for row, one in enumerate(examples):
        marks: list[Marked] = sorted(one.marks)
        tags, _ = encode(marks, tokens[row], TagScheme.BIO)
        for tag, place in zip(tags, firsts[row], strict=True):
            if place is not None:
                found[row, place] = numbers[tag]
    return found
