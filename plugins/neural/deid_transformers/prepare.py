"""What fine-tuning begins with: a given encoder, or one made and pre-trained here, once per run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from deid_assets.extending import Epoch, Report, Task, TrainingError
from deid_assets.extending.files import atomic_file
from deid_onnx.devices import device
from deid_onnx.pieces import TOKENIZER_FILE, Pieces, PieceSettings
from deid_training.checkpoint import Checkpoint
from deid_training.optimize import generator
from deid_transformers.encoder import (
    load_config,
    load_model,
    load_tokenizer,
    make_new,
    piece_settings,
    quiet,
)
from deid_transformers.pretrain import PHASE, pretrain
from deid_transformers.settings import NEW, Pretraining, TransformersSettings
from deid_transformers.streams import read_stream

_INPUTS, _CURVE = "inputs.json", "curve.json"


@dataclass(frozen=True, slots=True)
class Start:
    """Starting point of fine-tuning.

    Args:
        encoder: Folder, hub name or, for a new encoder without pre-training, folder of a
            configuration alone.
        has_weights: Whether there are weights to begin with.
        tokenizer: Folder with ``tokenizer.json``.
        inputs: How the encoder is fed.
        mask: Number of the sub-token that stands for a hidden word's; the unknown one where there
            is no mask.
    """

    encoder: str
    has_weights: bool
    tokenizer: Path
    inputs: PieceSettings
    mask: int


def prepare(
    task: Task, settings: TransformersSettings, checkpoint: Path, fingerprint: str, report: Report
) -> Start:
    """Return the encoder to fine-tune, with what a killed run of the same task had finished.

    Raises:
        TrainingError: The encoder is not there, has no masks to pre-train with, or there is too
            little raw text.
    """
    ready = checkpoint / "encoder"
    known = _read(ready / _INPUTS)
    if known.get("fingerprint") != fingerprint:
        shutil.rmtree(ready, ignore_errors=True)
        ready.mkdir(parents=True)
        inputs, mask = _write_tokenizer(task, settings, ready)
        known = {"fingerprint": fingerprint, "inputs": asdict(inputs), "mask": mask}
        _write(ready / _INPUTS, known)
    inputs = PieceSettings(**known["inputs"])
    if settings.pretrain:
        if curve := _read(ready / _CURVE).get("curve"):
            for point in curve:
                report(Epoch(phase=PHASE, **point))
        else:
            stage = Checkpoint(checkpoint / "pretrain", fingerprint)
            curve = _pretrain(
                task,
                settings,
                settings.pretrain,
                inputs=inputs,
                ready=ready,
                stage=stage,
                report=report,
            )
            _write(ready / _CURVE, {"curve": curve})
    is_given = settings.encoder != NEW and not settings.pretrain
    return Start(
        encoder=settings.encoder if is_given else str(ready),
        has_weights=bool(settings.pretrain) or is_given,
        tokenizer=ready,
        inputs=inputs,
        mask=known["mask"],
    )


def _read(path: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _write(path: Path, values: Mapping[str, Any]) -> None:
    with atomic_file(path) as file:
        file.write(json.dumps(values).encode())


def _write_tokenizer(
    task: Task, settings: TransformersSettings, ready: Path
) -> tuple[PieceSettings, int]:
    """Write an encoder's configuration and tokenizer.

    Return how it is fed and the number of its mask.
    """
    if settings.encoder == NEW:
        config, tokenizer = make_new(_texts(task, with_training=True), settings)
    else:
        config, tokenizer = load_config(settings), load_tokenizer(settings)
    config.save_pretrained(ready)
    tokenizer.save_pretrained(ready)
    inputs = piece_settings(tokenizer, config=config, settings=settings)
    return inputs, (
        inputs.unknown if tokenizer.mask_token_id is None else int(tokenizer.mask_token_id)
    )


def _pretrain(
    task: Task,
    settings: TransformersSettings,
    pretraining: Pretraining,
    *,
    inputs: PieceSettings,
    ready: Path,
    stage: Checkpoint,
    report: Report,
) -> list[dict[str, Any]]:
    """Write the weights of the pre-trained encoder, and return the curve."""
    with quiet():
        loader: Any = transformers.AutoTokenizer
        tokenizer = loader.from_pretrained(str(ready), local_files_only=True)
    if tokenizer.mask_token_id is None:
        raise TrainingError(
            f"the tokenizer of {settings.encoder!r} has no [MASK]; leave pretrain out"
        )
    generator(task.seed, 0)
    kind: Any = transformers.AutoModelForMaskedLM
    if settings.encoder == NEW:
        model = kind.from_config(transformers.AutoConfig.from_pretrained(ready))
    else:
        model = load_model(kind, settings)
    texts = _texts(task, with_training=pretraining.training_notes)
    stream = read_stream(texts, Pieces(ready / TOKENIZER_FILE, inputs), tokenizer)
    curve = pretrain(
        model.to(torch.device(device())),
        stream,
        stage,
        settings=pretraining,
        seed=task.seed,
        bf16=settings.bf16,
        report=report,
    )
    with quiet():
        model.cpu().save_pretrained(ready)
    return curve


def _texts(task: Task, *, with_training: bool) -> Iterator[str]:
    """Yield raw notes and, where wanted or where there are no others, the training notes."""
    yield from (note.text for note in task.raw)
    if with_training or not task.raw:
        yield from (document.note.text for phase in task.phases for document in phase)
