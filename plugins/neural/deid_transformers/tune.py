"""Fine-tuning: phases, early stopping on strict F1, and new starts.

It starts anew where a run predicts nothing but ``O``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from deid_assets.extending import Document, Report, Task, TrainingError, label_ranges
from deid_onnx.families import Feeds, Run
from deid_onnx.tagger import Tagger
from deid_training.checkpoint import Checkpoint, copy_trained_weights, put_weights
from deid_training.learner import EpochScore, Learner, LoopSettings, Loss
from deid_training.loop import Loop, LoopProgress
from deid_training.optimize import adamw, device_of, generator, linear_rate, precision
from deid_transformers.crf import LinearChain
from deid_transformers.examples import EpochOptions, SequenceExample, SequenceTensors, read_batches
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

    def forward(self, batch: SequenceTensors) -> tuple[torch.Tensor, int]:
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
    device = device_of(model)

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
        gold = set(label_ranges(document.spans, native=native))
        said = {(span.start, span.end, (span.native_label or span.label.value)) for span in spans}
        right, found, expected = right + len(gold & said), found + len(said), expected + len(gold)
    return 2 * right / (found + expected) if found + expected else 0.0


@dataclass(frozen=True, slots=True)
class Tuned:
    """A fine-tuned model.

    Args:
        model: With the weights of the last phase's best epoch.
        best_epoch: Its number, from 1.
        restarts: ``phase``, ``attempt`` and ``epochs`` of each run that predicted only ``O``.
    """

    model: TagModel
    best_epoch: int
    restarts: list[dict[str, int]]


class PhasedTuning:
    """One run over all phases.

    Args:
        task: Documents, labels, seed.
        settings: Of the recipe.
        phases: Examples of each phase.
        build: Attempt number to a model at its start.
        tagger: Model to tagger, for the scores on the development notes.
        checkpoint: Name of a stage to its checkpoint.
        report: Called after each epoch.
        reading: How an epoch reads its examples.
    """

    def __init__(
        self,
        *,
        task: Task,
        settings: TransformersSettings,
        phases: Sequence[Sequence[SequenceExample]],
        build: Callable[[int], TagModel],
        tagger: Callable[[TagModel], Tagger],
        checkpoint: Callable[[str], Checkpoint],
        report: Report,
        reading: EpochOptions,
    ) -> None:
        self._task = task
        self._settings = settings
        self._phases = phases
        self._build = build
        self._tagger = tagger
        self._checkpoint = checkpoint
        self._report = report
        self._reading = reading
        self._attempt = 0
        self._restarts: list[dict[str, int]] = []

    def run(self) -> Tuned:
        """Return the model of the last phase's best epoch.

        Raises:
            TrainingError: Every attempt predicted nothing but ``O``, or the loss is no number.
        """
        model = self._build(self._attempt)
        best_epoch = 0
        for phase in range(len(self._phases)):
            start = copy_trained_weights(model) if phase else {}
            progress = self._train(model, phase)
            while progress.has_ended:
                self._restart(phase, progress.epoch)
                model = self._build(self._attempt)
                put_weights(model, start)
                progress = self._train(model, phase)
            best_epoch = progress.best_epoch
        return Tuned(model, best_epoch, self._restarts)

    def _train(self, model: TagModel, phase: int) -> LoopProgress:
        """Train one phase, until it ends or predicts nothing but ``O`` for too long."""
        settings = self._settings
        learner = TagLearner(
            model,
            self._phases[phase],
            settings,
            reading=self._reading,
            seed=(self._task.seed, 3, phase, self._attempt),
            score=self._score,
        )
        loop = Loop(
            learner,
            LoopSettings(
                epochs=settings.epochs,
                clip=settings.clip,
                patience=settings.patience,
                least=0.0,
                phase=phase,
                remedy="lower learning_rate, or the class_weights",
            ),
            self._checkpoint(f"{phase}-{self._attempt}"),
            self._report,
        )
        return loop.run()

    def _score(self, model: TagModel) -> float | None:
        if not self._task.dev:
            return None
        model.eval()
        return strict_f1(self._tagger(model), self._task.dev, native=self._task.native)

    def _restart(self, phase: int, epochs: int) -> None:
        self._restarts.append({"phase": phase, "attempt": self._attempt, "epochs": epochs})
        if self._attempt >= self._settings.restarts:
            raise TrainingError(
                f"{self._attempt + 1} runs predicted nothing but O; lower learning_rate, train"
                " for more epochs, or weight the labels with class_weights"
            )
        self._attempt += 1


class TagLearner(Learner[SequenceTensors]):
    """Learns the tags of a phase.

    Args:
        model: At its start.
        examples: Of the phase.
        settings: Of the recipe.
        reading: How an epoch reads its examples.
        seed: Of the attempt at the phase.
        score: Model to its strict F1, or none where there are no development notes.
    """

    model: TagModel

    def __init__(
        self,
        model: TagModel,
        examples: Sequence[SequenceExample],
        settings: TransformersSettings,
        *,
        reading: EpochOptions,
        seed: tuple[int, ...],
        score: Callable[[TagModel], float | None],
    ) -> None:
        self.model = model
        self.optimizer = adamw(
            model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self._examples = examples
        self._settings = settings
        self._reading = reading
        self._seed = seed
        self._score = score
        self._per_epoch = -(-reading.count(examples) // settings.batch)
        self._is_judged = False
        self._marked = 0
        self._silent = 0

    def batches(self, epoch: int) -> Iterator[list[SequenceTensors]]:
        """Yield the batches of an epoch."""
        rng = generator(*self._seed, epoch)
        self._marked = 0
        for number, batch in enumerate(read_batches(self._examples, self._reading, rng=rng)):
            # a new head marks words until it has learnt not to
            self._is_judged = number >= self._per_epoch // 2
            yield [batch]

    def loss(self, part: SequenceTensors) -> Loss:
        """Return the loss summed over the words."""
        with precision(self.model, bf16=self._settings.bf16):
            loss, marked = self.model(part.to(device_of(self.model)))
        self._marked += marked if self._is_judged else 0
        return Loss(loss, int(part.words.sum()))

    def rate(self, step: int) -> float:
        """Return the share of the highest learning rate."""
        settings = self._settings
        steps = settings.epochs * self._per_epoch
        return linear_rate(step, steps=steps, warm_up=settings.warm_up)

    def judge(self, epoch: int, loss: float) -> EpochScore:
        """Return the strict F1; the run ends where it predicts nothing but ``O`` for too long."""
        del epoch, loss
        settings = self._settings
        self._silent = 0 if self._marked else self._silent + 1
        f1 = self._score(self.model)
        ends = self._silent >= min(settings.collapse_after, settings.epochs)
        return EpochScore(f1, f1, ends, {"silent": self._silent})

    def resume(self, curve: Sequence[Mapping[str, Any]]) -> None:
        """Take up how long the run has predicted nothing but ``O``."""
        self._silent = curve[-1]["silent"]
