"""Fine-tuning on pairs.

Every epoch is judged on the development notes, and the best one is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from deid_assets.extending import Task, TrainingError
from deid_assets.extending.measuring import StudyTable
from deid_causal.steps import Pair, adamw, batch_of, response_loss
from deid_generative.decode import Decoding
from deid_generative.judging import judge
from deid_generative.local import LocalModel, Speech
from deid_generative.pairs import pairs
from deid_generative.settings import GenerativeSettings
from deid_training.learner import EpochScore, Learner, Loss
from deid_training.optimize import device_of, generator, linear_rate


@dataclass(frozen=True, slots=True)
class PairGroup:
    """Pairs of like length that are computed together.

    Args:
        pairs: A share of a step's.
        answers: Tokens of all answers of the step.
    """

    pairs: Sequence[Pair]
    answers: int


class PairLearner(Learner[PairGroup]):
    """Learns all pairs; phases are learnt together.

    Args:
        model: At its start.
        task: Documents and seed.
        settings: Of the recipe.
        speech: Tokens of the model.
        decoding: How it is judged.

    Raises:
        TrainingError: No training note has text.
    """

    def __init__(
        self,
        model: Any,
        task: Task,
        settings: GenerativeSettings,
        *,
        speech: Speech,
        decoding: Decoding,
    ) -> None:
        self.model = model
        self.optimizer = adamw(
            model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self._task = task
        self._settings = settings
        self._speech = speech
        self._decoding = decoding
        documents = [document for phase in task.phases for document in phase]
        longest = min(
            settings.longest, settings.new.context if settings.base == "new" else settings.longest
        )
        self._pairs = [
            pair for document in documents for pair in pairs(document, speech, longest=longest)
        ]
        if not self._pairs:
            raise TrainingError("no training note has text; give annotated notes")

    def batches(self, epoch: int) -> Iterator[list[PairGroup]]:
        """Yield every pair once, in an order drawn for the epoch."""
        order = generator(self._task.seed, 3, epoch).permutation(len(self._pairs))
        size = self._settings.batch
        for first in range(0, len(order), size):
            yield self._shares([self._pairs[number] for number in order[first : first + size]])

    def _shares(self, chosen: Sequence[Pair]) -> list[PairGroup]:
        size = self._settings.micro_batch
        ordered = sorted(chosen, key=lambda pair: len(pair.prompt) + len(pair.answer))
        answers = sum(len(pair.answer) for pair in chosen)
        return [
            PairGroup(ordered[first : first + size], answers)
            for first in range(0, len(ordered), size)
        ]

    def loss(self, part: PairGroup) -> Loss:
        """Return the loss summed over the tokens of answers."""
        batch = batch_of(part.pairs, self._speech.end, device_of(self.model))
        loss, tokens = response_loss(self.model, batch)
        return Loss(loss, tokens, divisor=part.answers)

    def rate(self, step: int) -> float:
        """Return the share of the highest learning rate."""
        settings = self._settings
        return linear_rate(
            step,
            steps=settings.epochs * -(-len(self._pairs) // settings.batch),
            warm_up=settings.warm_up,
            falls=settings.schedule == "linear",
        )

    def judge(self, epoch: int, loss: float) -> EpochScore:
        """Return what the model is worth on the development notes."""
        del epoch, loss
        dev = self._task.dev[: self._settings.judged or None]
        if not dev:
            return EpochScore(notes={"measures": {}, "covers": {}})
        self.model.eval()
        found = judge(LocalModel(self.model, self._speech, self._decoding), dev)
        covers = {note_id: cover for note_id, cover in found.covers.items() if cover}
        return EpochScore(
            score=worth(found.table, self._settings.choose),
            dev_f1=found.table.f1,
            notes={"measures": found.to_json(), "covers": covers},
        )


def worth(table: StudyTable, choose: str) -> float:
    """Return how good an epoch or a bias is.

    Of two that are alike, the one that removes less of what identifies nobody.
    """
    value = table.f1 if choose == "f1" else table.note_recall or 0.0
    return value - table.spurious_chars / max(1, table.other_chars) / 1_000
