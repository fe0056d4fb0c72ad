"""Tiny models trained here on a planted corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid_assets import Note
from deid_audits.models.planted import Planted, make_planted_corpus
from deid_causal.trainer import CausalTrainer
from deid_transformers.trainer import TransformersTrainer

CAUSAL: dict[str, Any] = {
    "epochs": 12,
    "learning_rate": 8e-3,
    "length": 48,
    "threads": 1,
    "new": {
        "vocabulary": 450,
        "context": 64,
        "width": 48,
        "heads": 4,
        "feed_forward": 96,
        "layers": 2,
    },
}
MASKED: dict[str, Any] = {
    "encoder": "new",
    "threads": 1,
    "new": {
        "architecture": "bert",
        "layers": 2,
        "hidden": 64,
        "heads": 4,
        "positions": 64,
        "vocabulary": 450,
        "lines": False,
        "kinds": False,
        "dropout": 0.0,
    },
    "pretrain": {
        "steps": 360,
        "batch": 16,
        "length": 48,
        "packed": False,
        "learning_rate": 5e-3,
        "save_every": 360,
        "mask": 0.25,
    },
}


@dataclass(frozen=True)
class World:
    corpus: Planted
    other: tuple[Note, ...]


def world() -> World:
    corpus = make_planted_corpus(notes=60, people=2, repeats=(1, 10, 30), seed=1, longest=14)
    return World(
        corpus, make_planted_corpus(notes=110, people=1, repeats=(1,), seed=9, longest=14).training
    )


def train_causal(notes: Sequence[Note], out: Path, **settings: Any) -> Path:
    out.mkdir(parents=True)
    trainer = CausalTrainer()
    trainer.pretrain(notes, out, settings=trainer.settings(settings), seed=1, report=lambda _: None)
    return out


def train_masked(notes: Sequence[Note], out: Path, **settings: Any) -> Path:
    out.mkdir(parents=True)
    trainer = TransformersTrainer()
    trainer.pretrain(notes, out, settings=trainer.settings(settings), seed=1, report=lambda _: None)
    return out
