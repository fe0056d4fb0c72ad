"""A whole training run.

The base, copying where it is new, the adapter, the best epoch, the model folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import peft
import torch

from deid_assets.extending import (
    ConfigError,
    Document,
    Report,
    Task,
    TrainingError,
)
from deid_causal.loading import device_of, load_base, load_config, load_tokenizer, quiet
from deid_causal.new_model import make_model, make_tokenizer
from deid_generative.budget import check_budget, choose_bits, estimate
from deid_generative.categories import ValueClassifier
from deid_generative.decode import Decoding
from deid_generative.folder import ADAPTER, BASE, ModelFolder
from deid_generative.judging import judge
from deid_generative.local import LocalModel, PromptShape, Speech
from deid_generative.newmodel import learn_to_copy
from deid_generative.placeholders import ANONYMOUS
from deid_generative.prompts import load_prompt
from deid_generative.settings import NEW, GenerativeSettings, read_settings
from deid_generative.tune import PairLearner, worth
from deid_training.checkpoint import Checkpoint
from deid_training.fingerprints import task_fingerprint
from deid_training.learner import LoopSettings
from deid_training.loop import Loop
from deid_training.optimize import generator

CHECKPOINT = "checkpoint"
_CURVE = ("epoch", "loss", "seconds", "measures", "covers")


def run(task: Task, out: Path, report: Report, *, plugin: str, version: str) -> None:
    """Train and write a model folder; see ``Trainer.train``."""
    settings = read_settings(task.settings)
    documents = [document for phase in task.phases for document in phase]
    if not any(document.spans for document in documents):
        raise TrainingError("the training notes have no span; give annotated notes")
    if settings.threads:
        torch.set_num_threads(settings.threads)
    prompt = load_prompt(settings.prompt)
    fingerprint = task_fingerprint(task, settings.model_dump_json(), version, prompt.told)
    work = out / CHECKPOINT
    work.mkdir(parents=True, exist_ok=True)
    tags = (
        tuple(sorted({label.value for label in task.labels.values()}))
        if settings.placeholders == "typed"
        else ()
    )
    shape = PromptShape(prompt, tags, window=settings.window)
    if settings.base == NEW:
        model, speech = _train_base(
            task, settings, shape, work=work, fingerprint=fingerprint, report=report
        )
    else:
        model, speech = _open_given(settings, shape)
    generator(task.seed, 4)
    model = _adapt(model, settings)
    stage = Checkpoint(work / "tune", fingerprint)
    decoding = Decoding(settings.constrained, settings.ahead, settings.bias)
    learner = PairLearner(model, task, settings, speech=speech, decoding=decoding)
    loop_settings = LoopSettings(epochs=settings.epochs, clip=settings.clip)
    progress = Loop(learner, loop_settings, stage, report).run()
    model.eval()
    settings, tried = _calibrate(model, settings, speech, task.dev)
    _write(model, settings, out, work)
    ModelFolder(
        out,
        base=BASE if settings.base == NEW else settings.base,
        has_adapter=settings.method == "lora",
        prompt=shape.prompt,
        tags=tags,
        labels=frozenset(task.labels.values()),
        settings=settings.model_dump(mode="json"),
        curve=tuple({name: point[name] for name in _CURVE} for point in progress.curve),
        best_epoch=progress.best_epoch,
        biases=tried,
        categories=ValueClassifier.learnt(documents),
    ).write(plugin=plugin, version=version)
    shutil.rmtree(work, ignore_errors=True)


def _train_base(
    task: Task,
    settings: GenerativeSettings,
    shape: PromptShape,
    *,
    work: Path,
    fingerprint: str,
    report: Report,
) -> tuple[Any, Speech]:
    """Return a new base that has learnt to copy.

    What a killed run had finished is not done again.
    """
    ready = work / BASE
    texts = [
        *(note.text for note in task.raw),
        *(one.note.text for phase in task.phases for one in phase),
    ]
    if not (ready / "tokenizer.json").exists():
        part = work / "tokenizer.part"
        shutil.rmtree(part, ignore_errors=True)
        whole = [*shape.placeholders, ANONYMOUS]
        make_tokenizer(texts, part, vocabulary=settings.new.vocabulary, whole=whole)
        part.rename(ready)
    speech = Speech(load_tokenizer(str(ready), allow_download=False), shape)
    generator(task.seed, 10)
    model = make_model(settings.new, speech.tokenizer).to(device_of(None))
    # says now whether prompt and window fit, not after the first epoch
    LocalModel(model, speech, Decoding())
    stage = Checkpoint(work / "copying", fingerprint)
    learn_to_copy(
        model, texts, speech, settings=settings.new, seed=task.seed, stage=stage, report=report
    )
    return model, speech


def _open_given(settings: GenerativeSettings, shape: PromptShape) -> tuple[Any, Speech]:
    """Return a base that was given, after its memory in training was found to be within
    the budget.
    """
    place = device_of(None)
    config = load_config(settings.base, allow_download=settings.allow_download)
    bits = choose_bits(settings.bits, device=place, quantises=find_spec("bitsandbytes") is not None)
    memory = estimate(
        config,
        bits=bits,
        context=settings.longest,
        batch=settings.micro_batch,
        trained=_count_trained(config, settings),
        adapted_layers=True,
    )
    check_budget(memory, settings.budget_gb, name=Path(settings.base).name, bits=bits)
    tokenizer = load_tokenizer(settings.base, allow_download=settings.allow_download)
    model = load_base(settings.base, bits=bits, place=place, allow_download=settings.allow_download)
    if bits < 16:
        model = peft.prepare_model_for_kbit_training(model)  # type: ignore[no-untyped-call]
    return model, Speech(tokenizer, shape)


def _count_trained(config: Any, settings: GenerativeSettings) -> int:
    """Return about how many parameters an adapter has."""
    width, layers = int(config.hidden_size), int(config.num_hidden_layers)
    wide = int(getattr(config, "intermediate_size", None) or 4 * width)
    sides = {"gate_proj": width + wide, "up_proj": width + wide, "down_proj": width + wide}
    return (
        settings.lora.rank
        * layers
        * sum(sides.get(name, 2 * width) for name in settings.lora.targets)
    )


def _adapt(model: Any, settings: GenerativeSettings) -> Any:
    if settings.method == "full":
        return model
    lora = settings.lora
    config = peft.LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        bias="none",
        target_modules=list(lora.targets),
        task_type="CAUSAL_LM",
    )
    try:
        return peft.get_peft_model(model, config)
    except ValueError as error:
        raise ConfigError(
            f"lora.targets {', '.join(lora.targets)}: the base has none of these; name its linear"
            " layers"
        ) from error


def _calibrate(
    model: Any, settings: GenerativeSettings, speech: Speech, dev: Sequence[Document]
) -> tuple[GenerativeSettings, tuple[Mapping[str, Any], ...]]:
    """Return the settings with the best of their biases, and what each did on the development
    notes.
    """
    judged = dev[: settings.judged or None]
    if not settings.biases or not judged:
        return settings, ()
    tried: list[dict[str, Any]] = []
    for bias in settings.biases:
        decoding = Decoding(settings.constrained, settings.ahead, bias)
        found = judge(LocalModel(model, speech, decoding), judged)
        value = worth(found.table, settings.choose)
        tried.append({"bias": bias, "worth": value, "measures": found.to_json(), "kept": False})
    best = max(tried, key=lambda one: float(one["worth"]))
    best["kept"] = True
    return settings.model_copy(update={"bias": best["bias"]}), tuple(tried)


def _write(model: Any, settings: GenerativeSettings, out: Path, work: Path) -> None:
    with quiet():
        if settings.method == "lora":
            model.save_pretrained(out / ADAPTER, safe_serialization=True)
            model = model.unload()
        if settings.base == NEW:
            model.cpu().save_pretrained(out / BASE, safe_serialization=True)
            for path in sorted((work / BASE).glob("*token*.json")):
                shutil.copyfile(path, out / BASE / path.name)
    # a template of peft's with nothing filled in
    (out / ADAPTER / "README.md").unlink(missing_ok=True)
    if not (out / ADAPTER).exists() and settings.method == "lora":
        raise TrainingError(
            f"{out / ADAPTER}: peft wrote no adapter; report it with the versions of peft and torch"
        )
