"""Pre-training as a step of its own.

Raw notes in, a masked language model out, with a checkpoint for each epoch.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from deid_assets import Note
from deid_assets.extending import ConfigError, Report, TrainingError
from deid_onnx.devices import device
from deid_onnx.pieces import TOKENIZER_FILE, Pieces
from deid_onnx.session import cores
from deid_training.checkpoint import Checkpoint
from deid_training.fingerprints import notes_fingerprint
from deid_training.optimize import generator
from deid_transformers.encoder import (
    load_config,
    load_model,
    load_tokenizer,
    make_new,
    piece_settings,
    quiet,
)
from deid_transformers.pretrain import loss_of, pretrain
from deid_transformers.settings import NEW, Pretraining, TransformersSettings
from deid_transformers.streams import balance, read_stream

CHECKPOINT = "checkpoint"
EPOCHS = "epochs"
CURVE = "curve.json"


@dataclass(frozen=True, slots=True)
class _Texts:
    """Training notes and held-out notes, each with its language."""

    learnt: list[str]
    held_out: list[str]


def make_language_model(
    notes: Sequence[Note],
    out: Path,
    settings: TransformersSettings,
    *,
    seed: int,
    version: str,
    report: Report,
) -> None:
    """Write a masked language model and its tokenizer; see ``TransformersTrainer.pretrain``."""
    if settings.pretrain is None:
        raise ConfigError(
            "the recipe has no [settings.pretrain]; write how the model is trained there"
        )
    torch.set_num_threads(settings.threads or cores())
    wanted = settings.pretrain
    texts = _split(notes, wanted, seed=seed)
    tokenizer, config = _begin(texts, settings, out)
    inputs = piece_settings(tokenizer, config=config, settings=settings)
    pieces = Pieces(out / TOKENIZER_FILE, inputs)
    generator(seed, 0)
    kind: Any = transformers.AutoModelForMaskedLM
    with quiet():
        model = kind.from_config(config) if settings.encoder == NEW else load_model(kind, settings)
    model = model.to(torch.device(device()))
    held_out = read_stream(texts.held_out, pieces, tokenizer)

    def save_epoch(epoch: int) -> dict[str, Any]:
        _write(model, tokenizer, out / EPOCHS / f"{epoch:03d}")
        if not len(held_out.ids):
            return {}
        loss = loss_of(model, held_out, settings=wanted, seed=seed, bf16=settings.bf16)
        return {"held_out_loss": loss}

    curve = pretrain(
        model,
        read_stream(texts.learnt, pieces, tokenizer),
        Checkpoint(
            out / CHECKPOINT, notes_fingerprint(notes, settings.model_dump_json(), seed, version)
        ),
        settings=wanted,
        seed=seed,
        bf16=settings.bf16,
        report=report,
        reached=save_epoch,
    )
    _write(model, tokenizer, out)
    (out / CURVE).write_text(json.dumps(curve, indent=1), encoding="utf-8")
    shutil.rmtree(out / CHECKPOINT, ignore_errors=True)


def _split(notes: Sequence[Note], settings: Pretraining, *, seed: int) -> _Texts:
    """Return the notes balanced by language, and those that are held out, drawn by their digest."""
    learnt: list[tuple[str, str]] = []
    held_out: list[tuple[str, str]] = []
    for note in notes:
        place = hashlib.sha256(f"{seed} {note.digest}".encode()).digest()
        is_held = int.from_bytes(place[:8]) < settings.held_out * 2**64
        (held_out if is_held else learnt).append((note.lang or "", note.text))
    return _Texts(balance(learnt, settings.balance), [text for _, text in held_out])


def _begin(texts: _Texts, settings: TransformersSettings, out: Path) -> tuple[Any, Any]:
    """Return tokenizer and configuration, written into the folder.

    They are learnt from the texts or given.
    """
    if settings.encoder == NEW:
        config, tokenizer = make_new(texts.learnt, settings)
    else:
        config, tokenizer = load_config(settings), load_tokenizer(settings)
    if tokenizer.mask_token_id is None:
        raise TrainingError(
            f"the tokenizer of {settings.encoder!r} has no mask token; choose a masked language"
            " model"
        )
    tokenizer.save_pretrained(out)
    return tokenizer, config


def _write(model: Any, tokenizer: Any, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    with quiet():
        model.save_pretrained(folder, safe_serialization=True)
