"""One training run of a causal language model."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import peft
import torch
import transformers
from peft.tuners.lora import LoraLayer
from peft.utils.integrations import dequantize_module_weight

from deid_assets import Note
from deid_assets.extending import Epoch, Report, TrainingError
from deid_causal.loading import device_of, load_base, load_tokenizer, quiet
from deid_causal.new_model import make_model, make_tokenizer
from deid_causal.settings import NEW, CausalSettings
from deid_causal.steps import Pair, adamw, batch_of, response_loss, warmed
from deid_training.checkpoint import Checkpoint, optimizer_tensors, restore_optimizer
from deid_training.optimize import generator, set_rate

CHECKPOINT, EPOCHS, CURVE = "checkpoint", "epochs", "curve.json"


def make_causal_model(
    notes: Sequence[Note],
    out: Path,
    settings: CausalSettings,
    *,
    seed: int,
    version: str,
    report: Report,
) -> None:
    """Write a causal language model and its tokenizer; see ``CausalTrainer.pretrain``."""
    if settings.threads:
        torch.set_num_threads(settings.threads)
    learnt, held_out = _split(notes, settings.held_out, seed=seed)
    generator(seed, 0)
    model, tokenizer = _begin(learnt, out, settings)
    rows, held_rows = (_rows(texts, tokenizer, settings) for texts in (learnt, held_out))
    if not rows:
        raise TrainingError("no note has text for one sequence; give more notes")
    stage = Checkpoint(out / CHECKPOINT, _fingerprint(notes, settings, seed=seed, version=version))
    optimizer = adamw(
        model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay
    )
    curve = _resumed(model, optimizer, stage)
    began = time.monotonic() - (curve[-1]["seconds"] if curve else 0.0)
    for epoch in range(len(curve), settings.epochs):
        loss, rate = _epoch(
            model, optimizer, rows, settings, tokenizer=tokenizer, epoch=epoch, seed=seed
        )
        point = {
            "epoch": epoch + 1,
            "loss": loss,
            "learning_rate": rate,
            "seconds": time.monotonic() - began,
        }
        curve.append(
            point
            | ({"held_out_loss": _loss(model, held_rows, settings, tokenizer)} if held_rows else {})
        )
        report(
            Epoch(
                phase=-1, epoch=epoch + 1, loss=loss, seconds=point["seconds"], learning_rate=rate
            )
        )
        if settings.keep_epochs:
            _write(model, tokenizer, out / EPOCHS / f"{epoch + 1:03d}")
        stage.save({"curve": curve}, model=_trained(model), optimizer=optimizer_tensors(optimizer))
    _write(model, tokenizer, out)
    (out / CURVE).write_text(json.dumps(curve, indent=1), encoding="utf-8")
    shutil.rmtree(out / CHECKPOINT, ignore_errors=True)


def adapted(model: Any, settings: CausalSettings) -> Any:
    """Return a base under a LoRA adapter; of its weights only the adapter's are trained."""
    own = settings.adapter
    config = peft.LoraConfig(
        r=own.rank,
        lora_alpha=own.alpha,
        lora_dropout=own.dropout,
        target_modules=list(own.targets),
        task_type="CAUSAL_LM",
    )
    return peft.get_peft_model(model, config)


def _begin(texts: Sequence[str], out: Path, settings: CausalSettings) -> tuple[Any, Any]:
    if settings.base == NEW:
        new = settings.new
        tokenizer = make_tokenizer(texts, out, vocabulary=new.vocabulary, whole=())
        return make_model(new, tokenizer), tokenizer
    tokenizer = load_tokenizer(settings.base, allow_download=settings.allow_download)
    place = device_of(None)
    model = load_base(
        settings.base, bits=settings.bits, place=place, allow_download=settings.allow_download
    )
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            # Asked once without gradients, bitsandbytes packs a processor's weights so that none
            # flow through them again.
            module.support_avx512bf16_for_cpu = False
    return (adapted(model, settings) if settings.method == "lora" else model), tokenizer


def _split(notes: Sequence[Note], share: float, *, seed: int) -> tuple[list[str], list[str]]:
    """Return texts to learn from and held-out ones.

    They are drawn by their digest, so that equal texts stay together.
    """
    parts: tuple[list[str], list[str]] = ([], [])
    for note in notes:
        place = hashlib.sha256(f"{seed} {note.digest}".encode()).digest()
        parts[int.from_bytes(place[:8]) < share * 2**64].append(note.text)
    return parts


def _rows(texts: Sequence[str], tokenizer: Any, settings: CausalSettings) -> list[list[int]]:
    """Return the sequences: each note from one end token to the next, cut or joined."""
    end, size = tokenizer.eos_token_id, settings.length
    coded = (
        tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        if texts
        else []
    )
    streams = [[end, *ids, end] for ids in coded if ids]
    if settings.packed:
        whole = [token for ids in coded if ids for token in (end, *ids)]
        return [whole[at : at + size] for at in range(0, len(whole) - size + 1, size)]
    return [ids[at : at + size] for ids in streams for at in range(0, len(ids) - 1, size)]


def _batches(rows: Sequence[list[int]], order: Sequence[int], size: int) -> Iterator[list[Pair]]:
    for at in range(0, len(order), size):
        yield [Pair(rows[number][:1], rows[number][1:]) for number in order[at : at + size]]


def _epoch(
    model: Any,
    optimizer: torch.optim.Optimizer,
    rows: Sequence[list[int]],
    settings: CausalSettings,
    *,
    tokenizer: Any,
    epoch: int,
    seed: int,
) -> tuple[float, float]:
    """Read every sequence once; return the mean loss per token and the last learning rate."""
    order = generator(seed, 21, epoch).permutation(len(rows)).tolist()
    per_epoch = -(-len(rows) // settings.batch)
    total, count, rate = 0.0, 0, settings.learning_rate
    model.train()
    for number, pairs in enumerate(_batches(rows, order, settings.batch)):
        step = epoch * per_epoch + number
        rate = settings.learning_rate * warmed(
            step, steps=settings.epochs * per_epoch, warm_up=settings.warm_up
        )
        set_rate(optimizer, rate)
        loss, tokens = response_loss(model, batch_of(pairs, tokenizer.eos_token_id, model.device))
        if not torch.isfinite(loss):
            raise TrainingError("the loss is no number; lower learning_rate")
        optimizer.zero_grad(set_to_none=True)
        (loss / tokens).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(
            [one for one in model.parameters() if one.requires_grad], 1.0
        )
        optimizer.step()
        total, count = total + float(loss.detach()), count + tokens
    return total / max(1, count), rate


def _loss(model: Any, rows: Sequence[list[int]], settings: CausalSettings, tokenizer: Any) -> float:
    model.eval()
    total, count = 0.0, 0
    with torch.inference_mode():
        for pairs in _batches(rows, range(len(rows)), settings.batch):
            loss, tokens = response_loss(
                model, batch_of(pairs, tokenizer.eos_token_id, model.device)
            )
            total, count = total + float(loss), count + tokens
    return total / max(1, count)


def _trained(model: Any) -> dict[str, torch.Tensor]:
    return {
        name: one.detach().cpu().clone()
        for name, one in model.named_parameters()
        if one.requires_grad
    }


def _resumed(
    model: Any, optimizer: torch.optim.Optimizer, stage: Checkpoint
) -> list[dict[str, Any]]:
    state = stage.read()
    if state is None:
        return []
    found = stage.tensors(state, "model")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in found:
                parameter.copy_(found[name])
    restore_optimizer(optimizer, stage.tensors(state, "optimizer"))
    return list(state["curve"])


def _write(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a model that stands alone; an adapter also beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    with quiet():
        if isinstance(model, peft.PeftModel):
            model.save_pretrained(str(folder / "adapter"))
            model = merged(model)
        model.save_pretrained(folder, safe_serialization=True)


def merged(model: peft.PeftModel) -> Any:
    """Return a model that stands alone: the base's weights plus what the adapter adds to them.

    Weights of 4 or 8 bits are taken as the model computes with them, and are kept in its own
    precision: merged into the bits they would be rounded again, and the base with them, once an
    epoch.
    """
    adapted_base: Any = model.get_base_model()
    config = copy.deepcopy(adapted_base.config)
    for of_bits in ("quantization_config", "_pre_quantization_dtype"):
        vars(config).pop(of_bits, None)
    auto: Any = transformers.AutoModelForCausalLM
    whole = auto.from_config(config, dtype=adapted_base.dtype)
    with torch.no_grad():
        for name, weights in whole.named_parameters():
            path, _, leaf = name.rpartition(".")
            module = adapted_base.get_submodule(path)
            is_adapted = isinstance(module, LoraLayer)
            base = module.get_base_layer() if is_adapted else module
            value = dequantize_module_weight(base) if leaf == "weight" else getattr(base, leaf)
            added = module.get_delta_weight("default") if is_adapted and leaf == "weight" else None
            weights.copy_(value if added is None else value.to(added.dtype) + added)
    return whole


def _fingerprint(
    notes: Sequence[Note], settings: CausalSettings, *, seed: int, version: str
) -> str:
    total = hashlib.sha256(settings.model_dump_json().encode() + repr((seed, version)).encode())
    for note in notes:
        total.update(note.digest.encode())
    return total.hexdigest()
