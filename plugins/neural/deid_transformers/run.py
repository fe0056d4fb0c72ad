"""A whole training run: encoder, pre-training, fine-tuning, model folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from deid_assets.extending import Report, TagScheme, Task, TrainingError, tag_set
from deid_assets.extending.decoding import constraints
from deid_onnx.devices import device
from deid_onnx.families.transformers import EncoderNetwork
from deid_onnx.folder import FORMAT, TAGGER_FILE, TaggerFolder
from deid_onnx.pieces import TOKENIZER_FILE, Pieces
from deid_onnx.session import cores
from deid_onnx.tagger import Tagger, TransitionScores, write_chain
from deid_training.checkpoint import Checkpoint
from deid_training.fingerprints import task_fingerprint
from deid_training.optimize import generator
from deid_transformers.crf import LinearChain
from deid_transformers.encoder import load_model, quiet, tag_config
from deid_transformers.examples import EpochOptions, read_examples, tag_weights
from deid_transformers.prepare import Start, prepare
from deid_transformers.settings import TransformersSettings, read_settings
from deid_transformers.tune import PhasedTuning, TagModel, Tuned, runner

CHECKPOINT = "checkpoint"
MASKED_LM = "masked_lm"
"""Folder, in a model's, of the pre-trained encoder under its masked-LM head."""
_KEPT = ("*token*.json", "config.json", "*.safetensors")


def run(task: Task, out: Path, report: Report, *, plugin: str, version: str) -> None:
    """Train a tagger and write its folder; see ``Trainer.train``."""
    settings = read_settings(task.settings)
    _check(task)
    torch.set_num_threads(settings.threads or cores())
    fingerprint = task_fingerprint(task, settings.model_dump_json(), version)
    begin = prepare(task, settings, out / CHECKPOINT, fingerprint, report)
    tags = tag_set(task.labels, task.scheme)
    folder = TaggerFolder(
        path=out,
        plugin=plugin,
        version=version,
        tags=tags,
        labels=task.labels,
        scheme=task.scheme,
        grouping=task.grouping,
        settings={},
    )
    pieces = Pieces(begin.tokenizer / TOKENIZER_FILE, begin.inputs)
    phases = [read_examples(documents, task, tags=tags, pieces=pieces) for documents in task.phases]
    weights = tag_weights(phases[0], tags, settings.class_weights)

    def build(attempt: int) -> TagModel:
        generator(task.seed, 4, attempt)
        chain = LinearChain(tags, task.scheme) if settings.decoder == "crf" else None
        return TagModel(_tag_model(begin, tags, settings), chain, weights).to(
            torch.device(device())
        )

    def tagger(model: TagModel) -> Tagger:
        network = EncoderNetwork(pieces, runner(model.model), len(tags))
        return Tagger(
            folder=folder,
            network=network,
            chain=decoder(model.chain, folder, settings),
            source=plugin,
        )

    tuning = PhasedTuning(
        task=task,
        settings=settings,
        phases=phases,
        build=build,
        tagger=tagger,
        report=report,
        checkpoint=lambda stage: Checkpoint(out / CHECKPOINT / f"tune-{stage}", fingerprint),
        reading=_reading(begin, settings),
    )
    _finish(tuning.run(), begin, folder, settings, native=task.native)


def _finish(
    tuned: Tuned,
    begin: Start,
    folder: TaggerFolder,
    settings: TransformersSettings,
    *,
    native: bool,
) -> None:
    """Write the model's folder, with the pre-trained encoder where it is kept, and remove the
    checkpoints.
    """
    if settings.pretrain and settings.pretrain.keep:
        _keep(begin.tokenizer, folder.path / MASKED_LM)
    write_model(tuned, begin, folder, settings=settings, native=native)
    shutil.rmtree(folder.path / CHECKPOINT, ignore_errors=True)


def _keep(encoder: Path, out: Path) -> None:
    """Copy a pre-trained encoder to where the folder of the model has it."""
    out.mkdir(exist_ok=True)
    for pattern in _KEPT:
        for file in sorted(encoder.glob(pattern)):
            shutil.copyfile(file, out / file.name)


def _reading(begin: Start, settings: TransformersSettings) -> EpochOptions:
    return EpochOptions(
        size=settings.batch,
        pad=begin.inputs.pad,
        mask=begin.mask,
        hide=settings.hide,
        keep_empty=settings.keep_empty,
    )


def decoder(
    chain: LinearChain | None, folder: TaggerFolder, settings: TransformersSettings
) -> TransitionScores:
    """Return how tags are chosen from their scores."""
    if chain is not None:
        return chain.chain()
    if settings.decoder == "constrained":
        return TransitionScores(*constraints(folder.tags, folder.scheme))
    count = len(folder.tags)
    return TransitionScores(
        np.zeros((count, count), np.float32),
        np.zeros(count, np.float32),
        np.zeros(count, np.float32),
    )


def _check(task: Task) -> None:
    if not task.labels:
        raise TrainingError("the training notes have no span; give annotated notes")
    if not task.phases:
        raise TrainingError("there is no phase to train; give annotated notes")
    for number, phase in enumerate(task.phases):
        if not any(document.note.text.strip() for document in phase):
            raise TrainingError(f"phase {number} has no note with text; give annotated notes")


def _tag_model(begin: Start, tags: Sequence[str], settings: TransformersSettings) -> Any:
    options = tag_config(tags)
    if settings.dropout is not None:
        options["classifier_dropout"] = settings.dropout
    kind: Any = transformers.AutoModelForTokenClassification
    if begin.has_weights:
        given = settings.model_copy(update={"encoder": begin.encoder})
        return load_model(kind, given, ignore_mismatched_sizes=True, **options)
    with quiet():
        return kind.from_config(transformers.AutoConfig.from_pretrained(begin.encoder, **options))


def write_model(
    tuned: Tuned,
    begin: Start,
    folder: TaggerFolder,
    *,
    settings: TransformersSettings,
    native: bool,
) -> None:
    """Write a model folder; ``tagger.json`` comes last, so that a folder with it is whole."""
    with quiet():
        tuned.model.model.cpu().save_pretrained(folder.path, safe_serialization=True)
    for file in begin.tokenizer.glob("*token*.json"):
        shutil.copyfile(file, folder.path / file.name)
    if settings.decoder != "constrained":
        write_chain(folder.path, decoder(tuned.model.chain, folder, settings))
    described = {
        "format": FORMAT,
        "plugin": folder.plugin,
        "version": folder.version,
        "family": "transformers",
        "tags": list(folder.tags),
        "labels": {label: category.value for label, category in folder.labels.items()},
        "native": native,
        "scheme": TagScheme(folder.scheme).value,
        "grouping": folder.grouping,
        "decoder": settings.decoder,
        "inputs": asdict(begin.inputs),
        "best_epoch": tuned.best_epoch,
        "restarts": tuned.restarts,
    }
    (folder.path / TAGGER_FILE).write_text(
        json.dumps(described, indent=1, ensure_ascii=False), encoding="utf-8"
    )
