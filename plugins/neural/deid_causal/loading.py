"""Reads causal language models, their tokenizers and configurations.

They come from this machine unless it is allowed otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers

from deid_assets.extending import ConfigError
from deid_onnx.devices import device

FULL, HALF = 32, 16
"""Bits of a weight as it is stored, and of one that takes half as much."""


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers from writing to the terminal."""
    level = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        transformers.logging.set_verbosity(level)


def load_tokenizer(name: str, *, allow_download: bool) -> Any:
    """Return the tokenizer of a model.

    Raises:
        ConfigError: It is not there.
    """
    return _load(transformers.AutoTokenizer, name, allow_download=allow_download)


def load_config(name: str, *, allow_download: bool) -> Any:
    """Return the configuration of a model, which is read before its weights are.

    Raises:
        ConfigError: It is not there.
    """
    return _load(transformers.AutoConfig, name, allow_download=allow_download)


def load_weights(name: str, *, allow_download: bool, **options: Any) -> Any:
    """Return a causal language model; pickles and remote code are never read.

    Raises:
        ConfigError: It is not there.
    """
    return _load(
        transformers.AutoModelForCausalLM,
        name,
        allow_download=allow_download,
        use_safetensors=True,
        **options,
    )


def _load(kind: Any, name: str, *, allow_download: bool, **options: Any) -> Any:
    if not Path(name).exists() and not allow_download:
        raise ConfigError(
            f"model {name!r} is no folder here; give one, or set allow_download = true"
        )
    with quiet():
        try:
            return kind.from_pretrained(
                name, local_files_only=not allow_download, trust_remote_code=False, **options
            )
        except Exception as error:  # the libraries raise many kinds
            raise ConfigError(
                f"model {name!r} cannot be read ({type(error).__name__}); give a folder with"
                " config.json, tokenizer.json and safetensors"
            ) from error


def device_of(name: str | None) -> torch.device:
    """Return a device by name; a GPU where there is one when not given.

    Errors as ``deid_onnx.devices.device``.
    """
    return torch.device(device(name))


def load_base(base: str, *, bits: int, place: torch.device, allow_download: bool) -> Any:
    """Return a base with its weights, quantised where ``bits`` is 8 or 4.

    Raises:
        ConfigError: It is not there.
    """
    options: dict[str, Any] = {"dtype": torch.float32 if bits == FULL else torch.bfloat16}
    if bits >= HALF:
        return load_weights(base, allow_download=allow_download, **options).to(place)
    options["quantization_config"] = transformers.BitsAndBytesConfig(  # type: ignore[no-untyped-call]
        load_in_8bit=bits == 8,
        load_in_4bit=bits == 4,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    return load_weights(base, allow_download=allow_download, device_map={"": place}, **options)
