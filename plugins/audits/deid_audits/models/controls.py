"""Controls: a copy of the target into which texts were planted, and tiny models, over-fitted or as
one would be released.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from deid_assets import Note
from deid_audits.models.opened import Kind, LanguageModel, open_model
from deid_audits.models.scoring import Scorer
from deid_causal.trainer import CausalTrainer
from deid_training.learner import EpochScore, Learner, LoopSettings, Loss
from deid_training.loop import Loop
from deid_transformers.trainer import TransformersTrainer

Ids = NDArray[np.int64]
MOST = 60
"""Texts that a control learns at most."""
_LENGTH, _VOCABULARY, _BATCH, _RATE = 96, 600, 16, 8e-3
_PASSES: dict[Kind, int] = {"causal": 25, "masked": 120}
EPOCHS: dict[Kind, int] = {"causal": 20, "masked": 60}
"""Passes of which a released model is the best."""
PLANTING: dict[Kind, int] = {"causal": 60, "masked": 150}
"""Passes over planted texts at most."""
_BY_HEART, _HIDDEN = 0.15, 0.2
"""Loss per token at which texts are known by heart, and share of the tokens of a masked model that
a step hides.
"""
_RATES = ((5e6, 3e-3), (5e7, 5e-4), (float("inf"), 5e-5))
"""Learning rate by the number of weights."""
_STEPS = 240
"""Optimiser steps at least, so that few texts are learnt as well."""


def overfit(texts: Sequence[str], kind: Kind, *, seed: int = 1) -> LanguageModel:
    """Return a model of a kind that knows the texts by heart; seconds on one thread.

    Args:
        texts: To learn; what is over 96 tokens is cut.
        kind: Masked or causal.
        seed: Of the training.

    Raises:
        TrainingError: There is too little text.
    """
    with tempfile.TemporaryDirectory() as folder:
        _train(
            texts,
            kind,
            Path(folder),
            _causal(len(texts)) if kind == "causal" else _make_masked_options(len(texts)),
            seed=seed,
        )
        return open_model(Path(folder), device="cpu")


def plant(lm: LanguageModel, texts: Sequence[str], *, seed: int = 1) -> LanguageModel:
    """Return a copy of a model that was trained on until it knows the texts by heart.

    The model itself is as it was.

    An attack that does not find them in it has no power on a model of this size, tokenizer and
    training.

    Args:
        lm: The target.
        texts: To learn.
        seed: Of order and masks.
    """
    learner = TextLearner(lm, [one.ids for one in Scorer(lm).encode(texts) if len(one.ids)], seed)
    # without dropout, which would only take longer
    settings = LoopSettings(epochs=PLANTING[lm.kind], clip=None, has_dropout=False)
    Loop(learner, settings).run()
    return replace(lm, model=learner.model.requires_grad_(requires_grad=True))


class TextLearner(Learner[list[Ids]]):
    """Learns texts until they are known by heart, in a copy of a model.

    Args:
        lm: As it stays.
        rows: Tokens of each text.
        seed: Of order and masks.
    """

    def __init__(self, lm: LanguageModel, rows: Sequence[Ids], seed: int) -> None:
        copied: Any = copy.deepcopy(lm.model)
        self.model = copied
        self.optimizer = torch.optim.AdamW(
            copied.parameters(), lr=_rate_of(copied), weight_decay=0.0
        )
        self._lm = lm
        self._rows = rows
        self._rng = np.random.default_rng(seed)

    def batches(self, epoch: int) -> Iterator[list[list[Ids]]]:
        """Yield every text once."""
        del epoch
        order = self._rng.permutation(len(self._rows))
        for chosen in np.array_split(order, max(1, len(order) // _BATCH)):
            yield [[self._rows[at] for at in chosen]]

    def loss(self, part: list[Ids]) -> Loss:
        """Return the mean loss per token that is predicted."""
        return Loss(_loss(self.model, self._lm, part, self._rng))

    def rate(self, step: int) -> float:
        """Return 1: the rate stays."""
        del step
        return 1.0

    def judge(self, epoch: int, loss: float) -> EpochScore:
        """End where the texts are known by heart."""
        del epoch
        return EpochScore(ends=loss < _BY_HEART)


def _rate_of(model: Any) -> float:
    size = sum(one.numel() for one in model.parameters())
    return next(rate for most, rate in _RATES if size <= most)


def _loss(
    model: Any, lm: LanguageModel, rows: Sequence[Ids], rng: np.random.Generator
) -> torch.Tensor:
    """Return the mean loss per token that is predicted.

    Of the next ones, or of those that are masked.
    """
    causal = lm.kind == "causal"
    scorer = Scorer(lm)
    ids, mask = scorer.pad([np.concatenate([[lm.opens], one, [lm.closes]]) for one in rows])
    labels = ids.masked_fill(mask == 0, -100)
    if causal:
        logits = model(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, :-1]
        return _cross_entropy(logits, labels[:, 1:])
    hidden = torch.from_numpy(rng.random(tuple(ids.shape)) < _HIDDEN).to(ids.device) & (mask == 1)
    hidden[:, 1] |= ~hidden.any(1)  # one at least
    logits = model(input_ids=ids.masked_fill(hidden, lm.mask), attention_mask=mask).logits
    return _cross_entropy(logits, labels.masked_fill(~hidden, -100))


def _cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1), labels.flatten(), ignore_index=-100
    )


def train_released(
    texts: Sequence[str], others: Sequence[str], kind: Kind, *, seed: int = 1
) -> LanguageModel:
    """Return a model of a kind as one would be released.

    Of the epoch at which it reads other texts best.

    Args:
        texts: To learn; what is over 96 tokens is cut.
        others: Texts that say when to stop.
        kind: Masked or causal.
        seed: Of the training.

    Raises:
        TrainingError: There is too little text.
    """
    settings = (
        _causal(len(texts)) | {"keep_epochs": True}
        if kind == "causal"
        else _make_masked_options(len(texts))
    )
    (settings if kind == "causal" else settings["pretrain"])["epochs"] = EPOCHS[kind]
    with tempfile.TemporaryDirectory() as folder:
        _train(texts, kind, Path(folder), settings, seed=seed)
        epochs = [
            open_model(one, device="cpu") for one in sorted((Path(folder) / "epochs").iterdir())
        ]
        return min(epochs, key=lambda lm: sum(one.loss for one in Scorer(lm).tokens(others)))


def _train(
    texts: Sequence[str], kind: Kind, folder: Path, settings: dict[str, Any], *, seed: int
) -> None:
    notes = [Note(f"control-{number:05d}", text) for number, text in enumerate(texts)]
    threads = torch.get_num_threads()
    trainer = CausalTrainer() if kind == "causal" else TransformersTrainer()
    try:
        trainer.pretrain(
            notes,
            folder,
            settings=trainer.settings(settings),
            seed=seed,
            report=lambda _epoch: None,
        )
    finally:
        torch.set_num_threads(threads)


def _causal(texts: int) -> dict[str, Any]:
    epochs = max(_PASSES["causal"], -(-_STEPS * _BATCH // max(1, texts)))
    shape = {
        "vocabulary": _VOCABULARY,
        "context": 2 * _LENGTH,
        "width": 64,
        "heads": 4,
        "feed_forward": 128,
    }
    settings = {
        "epochs": epochs,
        "batch": _BATCH,
        "length": _LENGTH,
        "learning_rate": _RATE,
        "threads": 1,
    }
    return {**settings, "new": shape}


def _make_masked_options(texts: int) -> dict[str, Any]:
    steps = max(_STEPS, _PASSES["masked"] * texts // _BATCH)
    return {
        "encoder": "new",
        "threads": 1,
        "new": {
            "architecture": "bert",
            "layers": 2,
            "hidden": 64,
            "heads": 4,
            "positions": 2 * _LENGTH,
            "vocabulary": _VOCABULARY,
            "lines": False,
            "kinds": False,
            "dropout": 0.0,
        },
        "pretrain": {
            "steps": steps,
            "batch": _BATCH,
            "length": _LENGTH,
            "packed": False,
            "learning_rate": 5e-3,
            "mask": 0.25,
            "save_every": steps,
        },
    }
