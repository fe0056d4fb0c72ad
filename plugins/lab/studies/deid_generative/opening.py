"""Opens a model for use.

Its memory is estimated first, then the base is read and the adapter put on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import peft
import torch
import transformers
import typer

from deid_assets.extending import PluginError
from deid_causal.loading import (
    FULL,
    HALF,
    device_of,
    load_base,
    load_config,
    load_tokenizer,
    quiet,
)
from deid_generative.budget import check_budget, choose_bits, describe, estimate, stays_half
from deid_generative.decode import Decoding
from deid_generative.folder import ADAPTER
from deid_generative.local import LocalModel, PromptShape, Speech
from deid_generative.prompts import load_prompt
from deid_generative.use import Use

if TYPE_CHECKING:
    from deid_generative.folder import ModelFolder

_CONTEXT = 4_096
"""Of models that could read more, unless more is asked for."""


def open_model(
    name: str, folder: ModelFolder | None, *, prompt: str = "", use: Use | None = None
) -> LocalModel:
    """Return a model ready to write.

    Args:
        name: Folder or hub name, where no recipe trained it.
        folder: What a recipe trained, or none.
        prompt: For a model that no recipe trained.
        use: How it is used.

    Raises:
        PluginError: The adapter is broken.
        ConfigError: The model is not there, or does not fit the budget.
    """
    use = use or Use()
    if use.threads:
        torch.set_num_threads(use.threads)
    place = device_of(use.device)
    base = folder.base_folder if folder else name
    config = load_config(base, allow_download=use.allow_download)
    context = min(
        use.context or _CONTEXT, int(getattr(config, "max_position_embeddings", 0) or _CONTEXT)
    )
    bits = _choose_bits(use, place, config, has_adapter=bool(folder and folder.has_adapter))
    memory = estimate(config, bits=bits, context=context)
    check_budget(memory, use.budget_gb, name=Path(base).name, bits=bits)
    typer.echo(describe(memory, name=Path(base).name, bits=bits), err=True)
    model = load_base(base, bits=bits, place=place, allow_download=use.allow_download)
    if folder and folder.has_adapter:
        model = _merge_adapter(model, folder.path / ADAPTER)
    tokenizer = load_tokenizer(base, allow_download=use.allow_download)
    speech = Speech(tokenizer, _shape(folder, prompt))
    decoding = _decoding(folder.settings if folder else {}, use)
    weights = base_digest(base, config)
    version = f"{folder.digest if folder else ''} {weights} {bits} {transformers.__version__}"
    return LocalModel(model.eval(), speech, decoding, context=context, version=version)


def _choose_bits(use: Use, place: torch.device, config: Any, *, has_adapter: bool) -> int:
    """Return the bits of the weights; half, where that is as stored and nothing is merged."""
    bits = choose_bits(use.bits, device=place, quantises=find_spec("bitsandbytes") is not None)
    if use.bits == "auto" and bits == FULL and not has_adapter and stays_half(config):
        return HALF
    return bits


def _shape(folder: ModelFolder | None, prompt: str) -> PromptShape:
    """Return the prompt of a trained model, or the one that is asked for."""
    if folder is None:
        return PromptShape(load_prompt(prompt or "zero_shot_fr"), (), window=0)
    return PromptShape(folder.prompt, folder.tags, window=int(folder.settings.get("window", 0)))


def _decoding(own: Mapping[str, Any], use: Use) -> Decoding:
    """Return how outputs are written: as it is asked for, else as the model's own settings say."""
    return Decoding(
        constrained=(
            bool(own.get("constrained", True)) if use.constrained is None else use.constrained
        ),
        ahead=int(own.get("ahead", 24)) if use.ahead is None else use.ahead,
        bias=float(own.get("bias", 0.0)) if use.bias is None else use.bias,
    )


def merge_model(folder: ModelFolder, out: Path) -> None:
    """Write base and adapter as one model of transformers, with its tokenizer, for its owner alone.

    Raises:
        PluginError: The adapter is broken.
        ConfigError: The base is not there.
    """
    base = folder.base_folder
    model = load_base(base, bits=FULL, place=torch.device("cpu"), allow_download=False)
    if folder.has_adapter:
        model = _merge_adapter(model, folder.path / ADAPTER)
    out.mkdir(mode=0o700, parents=True)
    with quiet():
        load_tokenizer(base, allow_download=False).save_pretrained(out)
        model.save_pretrained(out, safe_serialization=True)


def _merge_adapter(model: Any, adapter: Path) -> Any:
    with quiet():
        try:
            return peft.PeftModel.from_pretrained(model, str(adapter)).merge_and_unload()
        except Exception as error:
            raise PluginError(
                f"{adapter} cannot be read ({type(error).__name__}); train the model again"
            ) from error


def base_digest(base: str, config: Any) -> str:
    """Return what stands for a base in versions.

    A digest of its files, weights too, or hub name and commit.

    Two models that were trained on from one base have files of the same names and sizes.
    """
    folder = Path(base)
    if not folder.is_dir():
        return f"{base} {getattr(config, '_commit_hash', None)}"
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        total.update(path.relative_to(folder).as_posix().encode())
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:12]
