"""Copying, which a causal model made from nothing learns without labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from deid_assets.extending import Report, TrainingError
from deid_causal.steps import Pair, adamw, batch_of, response_loss
from deid_generative.local import Speech
from deid_generative.settings import NewModel
from deid_training.checkpoint import Checkpoint
from deid_training.learner import Learner, LoopSettings, Loss, stretches
from deid_training.loop import Loop
from deid_training.optimize import device_of, generator, linear_rate

COPYING = -1
"""Phase of the curve in which a new base learns to copy."""
_WHOLE = 0.8
"""Share of the stretches that fill a window."""


def learn_to_copy(
    model: Any,
    texts: Sequence[str],
    speech: Speech,
    *,
    settings: NewModel,
    seed: int,
    stage: Checkpoint,
    report: Report,
) -> None:
    """Train a new model on copying stretches of notes with runs of words removed at random.

    Args:
        model: Changed.
        texts: Notes; their labels are not used.
        speech: Tokens.
        settings: Steps, lengths, rate.
        seed: Of everything random.
        stage: Resumed from, and written each ``save_every`` steps.
        report: Told the mean loss then, as epochs of phase -1.

    Raises:
        TrainingError: There is no text, or the loss is no number.
    """
    if not settings.steps:
        return
    learner = CopyLearner(model, texts, speech, settings=settings, seed=seed)
    loop_settings = LoopSettings(
        epochs=len(learner.stretches), phase=COPYING, remedy="lower new.learning_rate"
    )
    Loop(learner, loop_settings, stage, report).run()


class CopyLearner(Learner[list[Pair]]):
    """Learns to copy; an epoch of its loop ends at each checkpoint.

    Args:
        model: As in ``learn_to_copy``, as the others.
        texts: Notes.
        speech: Tokens.
        settings: Steps, lengths, rate.
        seed: Of everything random.

    Raises:
        TrainingError: There is no text.
    """

    def __init__(
        self,
        model: Any,
        texts: Sequence[str],
        speech: Speech,
        *,
        settings: NewModel,
        seed: int,
    ) -> None:
        self.model = model
        self.optimizer = adamw(model, learning_rate=settings.learning_rate, weight_decay=0.01)
        self.stretches = stretches(settings.steps, settings.save_every)
        self._speech = speech
        self._settings = settings
        self._seed = seed
        streams = [speech.plain(text)[0] for text in texts]
        self._streams = [tokens for tokens in streams if len(tokens) >= settings.shortest]
        if not self._streams:
            raise TrainingError(
                "no note is long enough to learn copying from; give more notes, or lower"
                " new.shortest"
            )

    def batches(self, epoch: int) -> Iterator[list[list[Pair]]]:
        """Yield what each step copies."""
        for step in self.stretches[epoch]:
            rng = generator(self._seed, 11, step)
            share = step / self._settings.steps
            drawn = _stretches(self._streams, self._speech, self._settings, rng, share=share)
            yield [list(drawn)]

    def loss(self, part: list[Pair]) -> Loss:
        """Return the mean loss of the tokens of copies."""
        batch = batch_of(part, self._speech.end, device_of(self.model))
        loss, count = response_loss(self.model, batch)
        return Loss(loss / count)

    def rate(self, step: int) -> float:
        """Return the share of the highest learning rate."""
        return linear_rate(step, steps=self._settings.steps, warm_up=0.03)


def _stretches(
    streams: Sequence[Sequence[int]],
    speech: Speech,
    settings: NewModel,
    rng: np.random.Generator,
    *,
    share: float,
) -> Iterator[Pair]:
    """Yield stretches of notes to copy.

    Longer ones later, with short ones among them to the end.
    """
    most = max(map(len, streams))
    window = speech.shape.window
    top = int(settings.shortest * (most / settings.shortest) ** min(1.0, share * 1.5))
    room = (settings.context - len(speech.before) - len(speech.after) - 8) * 2 // 5
    size = min(room, top if rng.random() < 0.7 else int(rng.integers(settings.shortest, top + 1)))
    for _ in range(max(1, settings.batch // (2 * (window or size)))):
        if window:
            size = window if rng.random() < _WHOLE else int(rng.integers(1, window + 1))
        stream = streams[int(rng.integers(len(streams)))]
        start = int(rng.integers(max(1, len(stream) - size + 1)))
        source = list(stream[start : start + size])
        yield Pair(speech.prompt(source), [*_thin(source, speech, settings, rng), speech.end])


def _thin(
    source: Sequence[int], speech: Speech, settings: NewModel, rng: np.random.Generator
) -> list[int]:
    """Return a copy with placeholders for runs of one to six tokens."""
    answer: list[int] = []
    place = 0
    while place < len(source):
        if rng.random() < settings.removed / 3:
            ways = speech.spaced if rng.random() < 0.5 else speech.holes
            answer += ways[int(rng.integers(len(ways)))]
            place += int(rng.integers(1, 7))
            answer += source[place : place + 1]  # a placeholder never follows another
            place += 1
        else:
            answer.append(source[place])
            place += 1
    return answer
