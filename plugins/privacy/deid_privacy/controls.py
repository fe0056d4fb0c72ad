"""Tiny models: one that knows texts by heart, so that an attack has something to find, and one as it would be released."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from deid_assets import Note
from deid_privacy.causal import CausalTrainer
from deid_privacy.opened import Kind, LanguageModel, open_model
from deid_privacy.scoring import Scorer
from deid_transformers.trainer import TransformersTrainer

MOST = 60
"""Texts that a control learns at most."""
_LENGTH, _VOCABULARY, _BATCH, _RATE = 96, 600, 16, 8e-3
_PASSES: dict[Kind, int] = {"causal": 25, "masked": 120}
EPOCHS: dict[Kind, int] = {"causal": 20, "masked": 60}
"""Passes of which a released model is the best."""
_STEPS = 240
"""Optimiser steps at least, so that few texts are learnt as well."""


def over_fitted(texts: Sequence[str], kind: Kind, *, seed: int = 1) -> LanguageModel:
    """Return a model of a kind that knows the texts by heart; seconds on one thread.

    Args:
        texts: To learn; what is over 96 tokens is cut.
        kind: Masked or causal.
        seed: Of the training.

    Raises:
        TrainingError: There is too little text.
    """
    with tempfile.TemporaryDirectory() as folder:
        _train(texts, kind, Path(folder), _causal(len(texts)) if kind == "causal" else _masked(len(texts)), seed=seed)
        return open_model(Path(folder), device="cpu")


def released(texts: Sequence[str], others: Sequence[str], kind: Kind, *, seed: int = 1) -> LanguageModel:
    """Return a model of a kind as one would be released: of the epoch at which it reads other texts best.

    Args:
        texts: To learn; what is over 96 tokens is cut.
        others: Texts that say when to stop.
        kind: Masked or causal.
        seed: Of the training.

    Raises:
        TrainingError: There is too little text.
    """
    settings = _causal(len(texts)) | {"keep_epochs": True} if kind == "causal" else _masked(len(texts))
    (settings if kind == "causal" else settings["pretrain"])["epochs"] = EPOCHS[kind]
    with tempfile.TemporaryDirectory() as folder:
        _train(texts, kind, Path(folder), settings, seed=seed)
        epochs = [open_model(one, device="cpu") for one in sorted((Path(folder) / "epochs").iterdir())]
        return min(epochs, key=lambda lm: sum(one.loss for one in Scorer(lm).tokens(others)))


def _train(texts: Sequence[str], kind: Kind, folder: Path, settings: dict[str, Any], *, seed: int) -> None:
    notes = [Note(f"control-{number:05d}", text) for number, text in enumerate(texts)]
    threads = torch.get_num_threads()
    trainer = CausalTrainer() if kind == "causal" else TransformersTrainer()
    try:
        trainer.pretrain(notes, folder, settings=trainer.settings(settings), seed=seed, report=lambda _epoch: None)
    finally:
        torch.set_num_threads(threads)


def _causal(texts: int) -> dict[str, Any]:
    epochs = max(_PASSES["causal"], -(-_STEPS * _BATCH // max(1, texts)))
    shape = {"vocabulary": _VOCABULARY, "context": 2 * _LENGTH, "width": 64, "heads": 4, "feed_forward": 128}
    settings = {"epochs": epochs, "batch": _BATCH, "length": _LENGTH, "learning_rate": _RATE, "threads": 1}
    return {**settings, "new": shape}


def _masked(texts: int) -> dict[str, Any]:
    steps = max(_STEPS, _PASSES["masked"] * texts // _BATCH)
    return {
        "encoder": "new",
        "threads": 1,
        "new": {
            "architecture": "bert", "layers": 2, "hidden": 64, "heads": 4, "positions": 2 * _LENGTH,
            "vocabulary": _VOCABULARY, "lines": False, "kinds": False, "dropout": 0.0,
        },
        "pretrain": {
            "steps": steps, "batch": _BATCH, "length": _LENGTH, "packed": False, "learning_rate": 5e-3, "mask": 0.25,
            "save_every": steps,
        },
    }  # fmt: skip
