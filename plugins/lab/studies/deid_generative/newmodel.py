"""Copying, which a causal model made from nothing learns without labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from deid_assets.extending import TrainingError
from deid_causal.steps import Pair, adamw, batch_of, response_loss
from deid_generative.local import Speech
from deid_generative.settings import NewModel
from deid_training.checkpoint import Checkpoint, optimizer_tensors, restore_optimizer
from deid_training.optimize import generator, linear_rate, set_rate

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
    report: Callable[[int, float], None],
) -> None:
    """Train a new model on copying stretches of notes with runs of words removed at random.

    Args:
        model: Changed.
        texts: Notes; their labels are not used.
        speech: Tokens.
        settings: Steps, lengths, rate.
        seed: Of everything random.
        stage: Resumed from, and written each ``save_every`` steps.
        report: Called with the step and the mean loss since the last report.

    Raises:
        TrainingError: There is no text, or the loss is no number.
    """
    if not settings.steps:
        return
    streams = [
        tokens for text in texts if len(tokens := speech.plain(text)[0]) >= settings.shortest
    ]
    if not streams:
        raise TrainingError(
            "no note is long enough to learn copying from; give more notes, or lower new.shortest"
        )
    optimizer = adamw(model, learning_rate=settings.learning_rate, weight_decay=0.01)
    begin = 0
    if state := stage.read():
        begin = int(state["step"])
        model.load_state_dict(stage.tensors(state, "model"))
        restore_optimizer(optimizer, stage.tensors(state, "optimizer"))
    model.train()
    losses: list[float] = []
    for step in range(begin, settings.steps):
        rng = generator(seed, 11, step)
        drawn = _stretches(streams, speech, settings, rng, share=step / settings.steps)
        set_rate(
            optimizer,
            settings.learning_rate * linear_rate(step, steps=settings.steps, warm_up=0.03),
        )
        loss, count = response_loss(model, batch_of(list(drawn), speech.end, model.device))
        if not torch.isfinite(loss):
            raise TrainingError("the loss of copying is no number; lower new.learning_rate")
        optimizer.zero_grad(set_to_none=True)
        (loss / count).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()) / count)
        if (step + 1) % settings.save_every == 0 or step + 1 == settings.steps:
            stage.save(
                {"step": step + 1},
                model=_untied(model.state_dict()),
                optimizer=optimizer_tensors(optimizer),
            )
            report(step + 1, sum(losses) / len(losses))
            losses.clear()


def _untied(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in state.items()}


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
        yield Pair(speech.prompt(source), [*_thinned(source, speech, settings, rng), speech.end])


def _thinned(
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
