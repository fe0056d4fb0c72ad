"""Masked-language-model training on raw notes (Devlin et al. 2019).

The encoder is a new or a given one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from deid_assets.extending import Report
from deid_training.checkpoint import Checkpoint
from deid_training.learner import EpochScore, Learner, LoopSettings, Loss, stretches
from deid_training.loop import Loop
from deid_training.optimize import adamw, device_of, generator, linear_rate, precision
from deid_transformers.settings import Pretraining
from deid_transformers.streams import NOTHING, Sequences, Stream

PHASE = -1
"""Number of this part of a run in its learning curve: before the first phase."""
# 80 % hidden, 10 % exchanged, 10 % left (Devlin et al. 2019, section 3.1)
_HIDDEN, _EXCHANGED = 0.8, 0.9
_WITH_KINDS = 0.5  # of the sequences are read with the kinds of their words
_IGNORED = -100


@dataclass(frozen=True, slots=True)
class Masked:
    """Sequences of one step: (batch, length) each.

    Args:
        feeds: What the model reads, opened and masked.
        targets: What is to be predicted, -100 where nothing is.
    """

    feeds: dict[str, NDArray[np.int64]]
    targets: NDArray[np.int64]


def pretrain(
    model: Any,
    stream: Stream,
    checkpoint: Checkpoint,
    *,
    settings: Pretraining,
    seed: int,
    bf16: bool,
    report: Report,
    reached: Callable[[int], Mapping[str, Any]] = lambda _epoch: {},
) -> list[dict[str, Any]]:
    """Train a model with a masked-language-model head in place, and return its curve.

    Args:
        model: An ``AutoModelForMaskedLM``.
        stream: What it reads.
        checkpoint: Resumed from, and written each ``save_every`` steps.
        settings: Of the recipe.
        seed: Of all that is random.
        bf16: As in the recipe.
        report: Called with the mean loss at each checkpoint, as epochs of phase -1.
        reached: Called after each complete pass over the notes with its number, from 1; returns
            what is added to the point of the curve.

    Raises:
        TrainingError: There is too little text for one sequence, or the loss is no number.
    """
    learner = MaskedLearner(model, stream, settings=settings, seed=seed, bf16=bf16, reached=reached)
    loop_settings = LoopSettings(
        epochs=len(learner.stretches), phase=PHASE, remedy="lower pretrain.learning_rate"
    )
    return Loop(learner, loop_settings, checkpoint, report).run().curve


class MaskedLearner(Learner[Masked]):
    """Learns masked sub-tokens; an epoch of its loop ends at each checkpoint.

    Args:
        model: As in ``pretrain``, as the others.
        stream: What it reads.
        settings: Of the recipe.
        seed: Of all that is random.
        bf16: As in the recipe.
        reached: Called after each pass over the notes.
    """

    def __init__(
        self,
        model: Any,
        stream: Stream,
        *,
        settings: Pretraining,
        seed: int,
        bf16: bool,
        reached: Callable[[int], Mapping[str, Any]],
    ) -> None:
        self.model = model
        self.optimizer = adamw(
            model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self._stream = stream
        self._sequences = Sequences(stream, settings, seed=seed)
        self._settings = settings
        self._seed = seed
        self._score = _scorer(model, bf16=bf16)
        self._reached = reached
        per_epoch = self._sequences.per_epoch
        self._steps = settings.epochs * per_epoch if settings.epochs else settings.steps
        self._pass = per_epoch if settings.epochs else None
        self.stretches = stretches(self._steps, settings.save_every, self._pass)

    def batches(self, epoch: int) -> Iterator[list[Masked]]:
        """Yield what each step reads."""
        for step in self.stretches[epoch]:
            places = self._sequences.places(step)
            yield [
                _batch(self._stream, places, step=step, settings=self._settings, seed=self._seed)
            ]

    def loss(self, part: Masked) -> Loss:
        """Return the mean loss of the masked sub-tokens; 0 where nothing is masked."""
        total, targets = _loss(self.model, self._score, part)
        return Loss(total / max(1, targets))

    def rate(self, step: int) -> float:
        """Return the share of the highest learning rate."""
        return linear_rate(step, steps=self._steps, warm_up=self._settings.warm_up)

    def judge(self, epoch: int, loss: float) -> EpochScore:
        """Return what is added to the curve after a pass over the notes."""
        del loss
        end = self.stretches[epoch - 1].stop
        if self._pass is None or end % self._pass:
            return EpochScore()
        return EpochScore(notes=self._reached(end // self._pass))


def loss_of(model: Any, stream: Stream, *, settings: Pretraining, seed: int, bf16: bool) -> float:
    """Return the mean loss per masked sub-token over held-out notes, with masks of their own."""
    sequences = Sequences(stream, settings, seed=seed)
    score = _scorer(model, bf16=bf16)
    model.eval()
    total, count = 0.0, 0
    with torch.inference_mode():
        for step in range(sequences.per_epoch):
            batch = _batch(stream, sequences.places(step), step=step, settings=settings, seed=seed)
            loss, targets = _loss(model, score, batch)
            total, count = total + float(loss), count + targets
    return total / max(1, count)


def _batch(
    stream: Stream, places: NDArray[np.int64], *, step: int, settings: Pretraining, seed: int
) -> Masked:
    """Return what a step reads.

    Half of the sequences read no kinds, so that the encoder can be used without.
    """
    rng = generator(seed, 1, step)
    is_text = places != NOTHING
    given = np.where(is_text, stream.ids[places], stream.pad)
    words = stream.words[places] if settings.whole_words else None
    ids, targets = mask_ids(given, stream, share=settings.mask, rng=rng, words=words)
    feeds = {"input_ids": _open_rows(ids, stream.before)}
    if not is_text.all():
        feeds["attention_mask"] = _open_rows(is_text.astype(np.int64), 1)
    if stream.kinds is not None:
        kinds = stream.kinds[places] * (rng.random((len(places), 1)) < _WITH_KINDS)
        feeds["token_type_ids"] = _open_rows(kinds * is_text, 0)
    return Masked(feeds, _open_rows(targets, _IGNORED))


def _open_rows(rows: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    return np.hstack([np.full((len(rows), 1), first), rows])


def mask_ids(
    ids: NDArray[np.int64],
    stream: Stream,
    *,
    share: float,
    rng: np.random.Generator,
    words: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sequences with some sub-tokens hidden or exchanged, and what is to be predicted.

    -100 where nothing is.

    Args:
        ids: (sequences, positions).
        stream: What they are of.
        share: Of the sub-tokens that are to be targets.
        rng: Draws them.
        words: Number of each sub-token's word, rising along a sequence, where the words are drawn
            and not the sub-tokens.
    """
    draw = rng.random(ids.shape)
    if words is not None:
        draw = np.take_along_axis(draw, np.clip(words - words[:, :1], 0, ids.shape[1] - 1), axis=1)
    chosen = (draw < share) & ~np.isin(ids, stream.special)
    draw = rng.random(ids.shape)
    read = ids.copy()
    read[chosen & (draw < _HIDDEN)] = stream.mask
    exchanged = chosen & (draw >= _HIDDEN) & (draw < _EXCHANGED)
    read[exchanged] = rng.integers(0, stream.vocabulary, size=int(exchanged.sum()))
    return read, np.where(chosen, ids, _IGNORED)


_Score = Callable[[dict[str, torch.Tensor], torch.Tensor], torch.Tensor]
"""Function from a model's input and the wanted positions to scores.

They are the scores of the vocabulary at those positions.
"""


def _loss(model: Any, score: _Score, batch: Masked) -> tuple[torch.Tensor, int]:
    """Return the summed loss over what is to be targets, and how much that is."""
    device = device_of(model)
    answers = torch.from_numpy(batch.targets).to(device)
    wanted = answers != _IGNORED
    scores = score(
        {name: torch.from_numpy(array).to(device) for name, array in batch.feeds.items()}, wanted
    )
    return torch.nn.functional.cross_entropy(scores.float(), answers[wanted], reduction="sum"), int(
        wanted.sum()
    )


def _scorer(model: Any, *, bf16: bool) -> _Score:
    """Return how a model's scores are had.

    Known heads are run on the wanted positions alone, which is a large part of a small encoder's
    time.
    """
    head: Any = getattr(model, "cls", None) or getattr(model, "lm_head", None)
    is_known = (
        model.config.model_type in {"bert", "roformer", "roberta", "xlm-roberta", "camembert"}
        and head is not None
    )

    def at_positions(feeds: dict[str, torch.Tensor], wanted: torch.Tensor) -> torch.Tensor:
        with precision(model, bf16=bf16):
            found: torch.Tensor = head(model.base_model(**feeds)[0][wanted])
        return found

    def everywhere(feeds: dict[str, torch.Tensor], wanted: torch.Tensor) -> torch.Tensor:
        with precision(model, bf16=bf16):
            found: torch.Tensor = model(**feeds).logits[wanted]
        return found

    return at_positions if is_known else everywhere
