"""One training run of a causal language model."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import peft
import torch
import transformers
from peft.tuners.lora import LoraLayer
from peft.utils.integrations import dequantize_module_weight

from deid_assets import Note
from deid_assets.extending import Report, TrainingError
from deid_causal.loading import device_of, load_base, load_tokenizer, quiet
from deid_causal.new_model import make_model, make_tokenizer
from deid_causal.settings import NEW, CausalSettings
from deid_causal.steps import Pair, adamw, batch_of, response_loss
from deid_training.checkpoint import Checkpoint
from deid_training.fingerprints import notes_fingerprint
from deid_training.learner import EpochScore, Learner, LoopSettings, Loss
from deid_training.loop import Loop
from deid_training.optimize import device_of as device_of_model
from deid_training.optimize import generator, linear_rate

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
    model, tokenizer = begin_model(learnt, out, settings)
    rows, held_rows = (cut_rows(texts, tokenizer, settings) for texts in (learnt, held_out))
    if not rows:
        raise TrainingError("no note has text for one sequence; give more notes")
    fingerprint = notes_fingerprint(notes, json.dumps(settings.to_json()), seed, version)
    learner = CausalLearner(model, tokenizer, rows, held_rows, settings, seed=seed, out=out)
    loop_settings = LoopSettings(epochs=settings.epochs, phase=-1)
    checkpoint = Checkpoint(out / CHECKPOINT, fingerprint)
    progress = Loop(learner, loop_settings, checkpoint, report).run()
    write_model(model, tokenizer, out)
    (out / CURVE).write_text(json.dumps(progress.curve, indent=1), encoding="utf-8")
    shutil.rmtree(out / CHECKPOINT, ignore_errors=True)


class CausalLearner(Learner[list[Pair]]):
    """Learns the next token of sequences.

    Args:
        model: At its start; of an adapted one, the adapter is learnt.
        tokenizer: Of it.
        rows: Tokens of each sequence.
        held_rows: Sequences whose loss stands in the curve.
        settings: Of the recipe.
        seed: Of order and dropout.
        out: Folder, under which each epoch's model is written where the recipe wants it.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        rows: Sequence[list[int]],
        held_rows: Sequence[list[int]],
        settings: CausalSettings,
        *,
        seed: int,
        out: Path,
    ) -> None:
        self.model = model
        self.optimizer = adamw(
            model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self._tokenizer = tokenizer
        self._rows = rows
        self._held_rows = held_rows
        self._settings = settings
        self._seed = seed
        self._out = out

    def batches(self, epoch: int) -> Iterator[list[list[Pair]]]:
        """Yield every sequence once."""
        order = generator(self._seed, 21, epoch).permutation(len(self._rows)).tolist()
        for pairs in _batches(self._rows, order, self._settings.batch):
            yield [pairs]

    def loss(self, part: list[Pair]) -> Loss:
        """Return the loss summed over the tokens."""
        batch = batch_of(part, self._tokenizer.eos_token_id, device_of_model(self.model))
        return Loss(*response_loss(self.model, batch))

    def rate(self, step: int) -> float:
        """Return the share of the highest learning rate."""
        steps = self._settings.epochs * -(-len(self._rows) // self._settings.batch)
        return linear_rate(step, steps=steps, warm_up=self._settings.warm_up)

    def judge(self, epoch: int, loss: float) -> EpochScore:
        """Return the loss of held-out sequences, which chooses nothing."""
        del loss
        held_out = {"held_out_loss": self._measure_held_out_loss()} if self._held_rows else {}
        if self._settings.keep_epochs:
            write_model(self.model, self._tokenizer, self._out / EPOCHS / f"{epoch:03d}")
        return EpochScore(notes=held_out)

    def _measure_held_out_loss(self) -> float:
        self.model.eval()
        total = 0.0
        count = 0
        everything = range(len(self._held_rows))
        with torch.inference_mode():
            for pairs in _batches(self._held_rows, everything, self._settings.batch):
                loss = self.loss(pairs)
                total += float(loss.total)
                count += loss.count
        return total / max(1, count)


def adapt(model: Any, settings: CausalSettings) -> Any:
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


def begin_model(texts: Sequence[str], out: Path, settings: CausalSettings) -> tuple[Any, Any]:
    """Return the model that is trained and its tokenizer; texts are what a new one is made of."""
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
    return (adapt(model, settings) if settings.method == "lora" else model), tokenizer


def _split(notes: Sequence[Note], share: float, *, seed: int) -> tuple[list[str], list[str]]:
    """Return texts to learn from and held-out ones.

    They are drawn by their digest, so that equal texts stay together.
    """
    parts: tuple[list[str], list[str]] = ([], [])
    for note in notes:
        place = hashlib.sha256(f"{seed} {note.digest}".encode()).digest()
        parts[int.from_bytes(place[:8]) < share * 2**64].append(note.text)
    return parts


def cut_rows(texts: Sequence[str], tokenizer: Any, settings: CausalSettings) -> list[list[int]]:
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


def write_model(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a model that stands alone; an adapter also beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    with quiet():
        if isinstance(model, peft.PeftModel):
            model.save_pretrained(str(folder / "adapter"))
            model = merge_adapter(model)
        model.save_pretrained(folder, safe_serialization=True)


def merge_adapter(model: peft.PeftModel) -> Any:
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
