"""Positive controls: a tiny model that learns the given texts by heart, so that an attack has something to find."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from deid_assets import Note
from deid_privacy.causal import CausalTrainer
from deid_privacy.opened import Kind, LanguageModel, open_model
from deid_transformers.trainer import TransformersTrainer

MOST = 60
"""Texts that a control learns at most."""
_LENGTH, _VOCABULARY, _BATCH, _RATE = 96, 600, 16, 8e-3
_PASSES: dict[Kind, int] = {"causal": 25, "masked": 120}
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
    notes = [Note(f"control-{number:05d}", text) for number, text in enumerate(texts)]
    threads = torch.get_num_threads()
    trainer, settings = (
        (CausalTrainer(), _causal(len(texts))) if kind == "causal" else (TransformersTrainer(), _masked(len(texts)))
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            trainer.pretrain(
                notes, Path(folder), settings=trainer.settings(settings), seed=seed, report=lambda _epoch: None
            )
            return open_model(Path(folder), device="cpu")
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
