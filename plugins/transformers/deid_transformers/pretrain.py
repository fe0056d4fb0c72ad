"""Masked-language-model training on raw notes (Devlin et al. 2019), of a new encoder or of a given one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from deid_assets.core.errors import TrainingError
from deid_assets.core.tagging import tokenize
from deid_assets.core.trainer import Epoch, Report
from deid_onnx.pieces import Pieces
from deid_transformers.checkpoint import Checkpoint, optimizer_tensors, restore_optimizer
from deid_transformers.optimize import adamw, generator, linear_rate, precision, set_rate
from deid_transformers.settings import Pretraining

PHASE = -1
"""Number of this part of a run in its learning curve: before the first phase."""
_HIDDEN, _EXCHANGED = 0.8, 0.9  # 80 % hidden, 10 % exchanged, 10 % left (Devlin et al. 2019, section 3.1)
_WITH_KINDS = 0.5  # of the sequences are read with the kinds of their words
_IGNORED = -100


@dataclass(frozen=True, slots=True)
class Stream:
    """All notes as one sequence of sub-tokens, each note closed.

    Args:
        ids: Sub-tokens.
        kinds: What their words look like; none where the encoder does not read it.
        special: Numbers that are never to be told.
        before: Number of the one that opens each sequence.
        mask: Number of the one that hides.
        vocabulary: How many there are.
    """

    ids: NDArray[np.int64]
    kinds: NDArray[np.int64] | None
    special: NDArray[np.int64]
    before: int
    mask: int
    vocabulary: int


def read_stream(texts: Iterable[str], pieces: Pieces, tokenizer: Any) -> Stream:
    """Return the notes as the encoder will read them when it tags."""
    ids: list[int] = []
    kinds: list[int] = []
    for text in texts:
        tokens = tokenize(text)
        words = pieces.of(text, tokens)
        for word, kind in zip(words, pieces.kinds(text, tokens) or [0] * len(words), strict=True):
            ids.extend(word)
            kinds.extend([kind] * len(word))
        ids.append(pieces.settings.after)
        kinds.append(0)
    return Stream(
        np.array(ids, dtype=np.int64),
        np.array(kinds, dtype=np.int64) if pieces.settings.kinds else None,
        np.array(sorted(tokenizer.all_special_ids), dtype=np.int64),
        pieces.settings.before,
        int(tokenizer.mask_token_id),
        len(tokenizer),
    )


def pretrain(
    model: Any, stream: Stream, checkpoint: Checkpoint, *, settings: Pretraining, seed: int, bf16: bool, report: Report
) -> list[dict[str, Any]]:
    """Train a model with a masked-language-model head in place, and return its curve.

    Args:
        model: An ``AutoModelForMaskedLM``.
        stream: What it reads.
        checkpoint: Gone on from, and written each ``save_every`` steps.
        settings: Of the recipe.
        seed: Of all that is random.
        bf16: As in the recipe.
        report: Told the mean loss at each checkpoint, as epochs of phase -1.

    Raises:
        TrainingError: There is too little text for one sequence.
    """
    size = settings.length - 1
    if len(stream.ids) < size:
        raise TrainingError(f"{len(stream.ids)} sub-tokens of raw text, one sequence takes {size}; give more notes")
    optimizer = adamw(model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay)
    step, curve = _resume(model, optimizer, checkpoint, report)
    began = time.monotonic() - (curve[-1]["seconds"] if curve else 0.0)
    score = _scorer(model, bf16=bf16)
    model.train()
    losses = []
    while step < settings.steps:
        rate = settings.learning_rate * linear_rate(step, steps=settings.steps, warm_up=settings.warm_up)
        set_rate(optimizer, rate)
        losses.append(_step(model, optimizer, score, _batch(stream, step=step, settings=settings, seed=seed)))
        step += 1
        if step % settings.save_every == 0 or step == settings.steps:
            point = {"epoch": len(curve) + 1, "loss": float(np.mean(losses)), "learning_rate": rate}
            curve.append({**point, "seconds": time.monotonic() - began})
            losses.clear()
            report(Epoch(phase=PHASE, **curve[-1]))
            reached = {"step": step, "curve": curve}
            checkpoint.save(reached, model=_weights(model), optimizer=optimizer_tensors(optimizer))
    return curve


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
        report(Epoch(phase=PHASE, **point))
    return int(state["step"]), list(state["curve"])


def _weights(model: Any) -> dict[str, torch.Tensor]:
    return dict(model.named_parameters())


@dataclass(frozen=True, slots=True)
class _Masked:
    """Sequences of one step: (batch, length) each.

    Args:
        ids: Opened and masked.
        kinds: What the words look like.
        told: What is to be told, -100 where nothing is.
    """

    ids: NDArray[np.int64]
    kinds: NDArray[np.int64] | None
    told: NDArray[np.int64]


def _batch(stream: Stream, *, step: int, settings: Pretraining, seed: int) -> _Masked:
    """Return what a step reads. Half of the sequences read no kinds, so that the encoder can be used without."""
    rng = generator(seed, 1, step)
    places = _places(stream, step=step, batch=settings.batch, size=settings.length - 1, seed=seed)
    ids, told = masked(stream.ids[places], stream, share=settings.mask, rng=rng)
    opened = _opened(ids, stream.before)
    if stream.kinds is None:
        return _Masked(opened, None, _opened(told, _IGNORED))
    kinds = stream.kinds[places] * (rng.random((len(places), 1)) < _WITH_KINDS)
    return _Masked(opened, _opened(kinds, 0), _opened(told, _IGNORED))


def _opened(rows: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    return np.hstack([np.full((len(rows), 1), first), rows])


def _places(stream: Stream, *, step: int, batch: int, size: int, seed: int) -> NDArray[np.int64]:
    """Return where the sequences of a step stand. Each pass over the notes has its own cuts and its own order."""
    count = len(stream.ids) // size
    turns: dict[int, NDArray[np.int64]] = {}
    found = []
    for place in range(step * batch, (step + 1) * batch):
        turn, number = divmod(place, count)
        if turn not in turns:
            rng = np.random.default_rng([seed, 2, turn])
            shift = int(rng.integers(0, len(stream.ids) - count * size + 1))
            turns[turn] = shift + rng.permutation(count) * size
        found.append(np.arange(size) + int(turns[turn][number]))
    return np.stack(found)


def masked(
    ids: NDArray[np.int64], stream: Stream, *, share: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sequences with some sub-tokens hidden or exchanged, and what is to be told: -100 where nothing is."""
    chosen = (rng.random(ids.shape) < share) & ~np.isin(ids, stream.special)
    draw = rng.random(ids.shape)
    read = ids.copy()
    read[chosen & (draw < _HIDDEN)] = stream.mask
    exchanged = chosen & (draw >= _HIDDEN) & (draw < _EXCHANGED)
    read[exchanged] = rng.integers(0, stream.vocabulary, size=int(exchanged.sum()))
    return read, np.where(chosen, ids, _IGNORED)


_Score = Callable[[dict[str, torch.Tensor], torch.Tensor], torch.Tensor]
"""What a model reads, and the positions wanted of it, to the scores of the vocabulary at those."""


def _step(model: Any, optimizer: torch.optim.Optimizer, score: _Score, batch: _Masked) -> float:
    device = next(model.parameters()).device
    answers = torch.from_numpy(batch.told).to(device)
    wanted = answers != _IGNORED
    feeds = {"input_ids": batch.ids} if batch.kinds is None else {"input_ids": batch.ids, "token_type_ids": batch.kinds}
    scores = score({name: torch.from_numpy(array).to(device) for name, array in feeds.items()}, wanted)
    # A batch in which nothing is hidden has a loss of 0, not of no number.
    loss = torch.nn.functional.cross_entropy(scores.float(), answers[wanted], reduction="sum") / max(
        1, int(wanted.sum())
    )
    optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


def _scorer(model: Any, *, bf16: bool) -> _Score:
    """Return how a model's scores are had.

    Known heads are run on the wanted positions alone, which is a large part of a small encoder's time.
    """
    head: Any = getattr(model, "cls", None) or getattr(model, "lm_head", None)
    is_known = (
        model.config.model_type in {"bert", "roformer", "roberta", "xlm-roberta", "camembert"} and head is not None
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
