"""Masked-language-model training on raw notes (Devlin et al. 2019).

The encoder is a new or a given one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from deid_assets.extending import Epoch, Report
from deid_training.checkpoint import Checkpoint, optimizer_tensors, restore_optimizer
from deid_training.optimize import adamw, generator, linear_rate, precision, set_rate
from deid_transformers.settings import Pretraining
from deid_transformers.streams import NOTHING, Sequences, Stream

PHASE = -1
"""Number of this part of a run in its learning curve: before the first phase."""
# 80 % hidden, 10 % exchanged, 10 % left (Devlin et al. 2019, section 3.1)
_HIDDEN, _EXCHANGED = 0.8, 0.9
_WITH_KINDS = 0.5  # of the sequences are read with the kinds of their words
_IGNORED = -100


def pretrain(
    model: Any,
    stream: Stream,
    checkpoint: Checkpoint,
    *,
    settings: Pretraining,
    seed: int,
    bf16: bool,
    report: Report,
    reached: Callable[[int, dict[str, Any]], None] = lambda _epoch, _point: None,
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
        reached: Called after each complete pass over the notes with its number, from 1, and the
            point of the curve, to which it may add.

    Raises:
        TrainingError: There is too little text for one sequence.
    """
    sequences = Sequences(stream, settings, seed=seed)
    per_epoch = sequences.per_epoch
    steps = settings.epochs * per_epoch if settings.epochs else settings.steps
    optimizer = adamw(
        model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay
    )
    step, curve = _resume(model, optimizer, checkpoint, report)
    began = time.monotonic() - (curve[-1]["seconds"] if curve else 0.0)
    score = _scorer(model, bf16=bf16)
    model.train()
    losses = []
    while step < steps:
        rate = settings.learning_rate * linear_rate(step, steps=steps, warm_up=settings.warm_up)
        set_rate(optimizer, rate)
        batch = _batch(stream, sequences.places(step), step=step, settings=settings, seed=seed)
        losses.append(_step(model, optimizer, score, batch))
        step += 1
        is_epoch = settings.epochs is not None and step % per_epoch == 0
        if step % settings.save_every == 0 or step == steps or is_epoch:
            point = {"epoch": len(curve) + 1, "loss": float(np.mean(losses)), "learning_rate": rate}
            curve.append({**point, "seconds": time.monotonic() - began})
            losses.clear()
            if is_epoch:
                reached(step // per_epoch, curve[-1])
                model.train()
            report(_epoch(curve[-1]))
            state = {"step": step, "curve": curve}
            checkpoint.save(state, model=_weights(model), optimizer=optimizer_tensors(optimizer))
    return curve


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


def _epoch(point: Mapping[str, Any]) -> Epoch:
    known = {name: point[name] for name in ("epoch", "loss", "learning_rate", "seconds")}
    return Epoch(phase=PHASE, **known)


def _resume(
    model: Any, optimizer: torch.optim.Optimizer, checkpoint: Checkpoint, report: Report
) -> tuple[int, list[dict[str, Any]]]:
    state = checkpoint.read()
    if state is None:
        return 0, []
    model.load_state_dict(checkpoint.tensors(state, "model"), strict=False)
    model.tie_weights()
    restore_optimizer(optimizer, checkpoint.tensors(state, "optimizer"))
    for point in state["curve"]:
        report(_epoch(point))
    return int(state["step"]), list(state["curve"])


def _weights(model: Any) -> dict[str, torch.Tensor]:
    return dict(model.named_parameters())


@dataclass(frozen=True, slots=True)
class _Masked:
    """Sequences of one step: (batch, length) each.

    Args:
        feeds: What the model reads, opened and masked.
        targets: What is to be predicted, -100 where nothing is.
    """

    feeds: dict[str, NDArray[np.int64]]
    targets: NDArray[np.int64]


def _batch(
    stream: Stream, places: NDArray[np.int64], *, step: int, settings: Pretraining, seed: int
) -> _Masked:
    """Return what a step reads.

    Half of the sequences read no kinds, so that the encoder can be used without.
    """
    rng = generator(seed, 1, step)
    is_text = places != NOTHING
    given = np.where(is_text, stream.ids[places], stream.pad)
    words = stream.words[places] if settings.whole_words else None
    ids, targets = masked(given, stream, share=settings.mask, rng=rng, words=words)
    feeds = {"input_ids": _opened(ids, stream.before)}
    if not is_text.all():
        feeds["attention_mask"] = _opened(is_text.astype(np.int64), 1)
    if stream.kinds is not None:
        kinds = stream.kinds[places] * (rng.random((len(places), 1)) < _WITH_KINDS)
        feeds["token_type_ids"] = _opened(kinds * is_text, 0)
    return _Masked(feeds, _opened(targets, _IGNORED))


def _opened(rows: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    return np.hstack([np.full((len(rows), 1), first), rows])


def masked(
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


def _loss(model: Any, score: _Score, batch: _Masked) -> tuple[torch.Tensor, int]:
    """Return the summed loss over what is to be targets, and how much that is."""
    device = next(model.parameters()).device
    answers = torch.from_numpy(batch.targets).to(device)
    wanted = answers != _IGNORED
    scores = score(
        {name: torch.from_numpy(array).to(device) for name, array in batch.feeds.items()}, wanted
    )
    return torch.nn.functional.cross_entropy(scores.float(), answers[wanted], reduction="sum"), int(
        wanted.sum()
    )


def _step(model: Any, optimizer: torch.optim.Optimizer, score: _Score, batch: _Masked) -> float:
    total, targets = _loss(model, score, batch)
    # a batch in which nothing is hidden has a loss of 0, not of no number
    loss = total / max(1, targets)
    optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


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
