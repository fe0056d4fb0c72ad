"""A masked language model loaded with PyTorch, refused where it is none or its head was never
trained.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid_assets.extending import PluginError
from deid_onnx.folder import refuse_pickles
from deid_zero_shot.encoding import Specials

LINE = "[LINE]"
_OFFSET = frozenset({"roberta", "xlm-roberta", "camembert"})
"""Architectures whose first positions are not for sub-tokens."""
_WEIGHED = (
    "model_type",
    "num_attention_heads",
    "hidden_act",
    "layer_norm_eps",
    "position_embedding_type",
    "rotary_value",
)
"""Settings that change what the same weights say."""
_LONGEST = 512  # where a configuration says nothing usable


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model and what belongs to it.

    Args:
        model: An ``AutoModelForMaskedLM``, in evaluation mode.
        tokenizer: Text of its ``tokenizer.json``.
        specials: Numbers of its special sub-tokens, and its longest sequence.
        vocabulary: How many sub-tokens it scores.
        digest: SHA-256 over weights, configuration and tokenizer.
    """

    model: Any
    tokenizer: str
    specials: Specials
    vocabulary: int
    digest: str


def load(name: str, *, allow_download: bool = False, trust: bool = False) -> Loaded:
    """Return a masked language model by folder or hub name.

    Args:
        name: Folder, or name on the hub.
        allow_download: Whether a name may be fetched.
        trust: Whether its weights may be in files that can run code when read.

    Raises:
        PluginError: It is not there, is of another kind, has no fast tokenizer or no mask, or its
            masked-LM head was not trained: the weights lack part of it, as those of an encoder or
            of an entity linker do.
    """
    import transformers  # noqa: PLC0415 - takes seconds to load

    folder = Path(name)
    if folder.is_dir() and not list(folder.glob("*.safetensors")):
        refuse_pickles(folder, trust=trust)
    options: dict[str, Any] = {"local_files_only": not allow_download, "trust_remote_code": False}
    tokenizers: Any = transformers.AutoTokenizer
    try:
        with _quiet(transformers):
            tokenizer = tokenizers.from_pretrained(name, use_fast=True, **options)
            model, report = transformers.AutoModelForMaskedLM.from_pretrained(
                name, use_safetensors=None if trust else True, output_loading_info=True, **options
            )
    except Exception as error:
        remedy = (
            "check the name"
            if allow_download
            else "give a folder, or allow_download=true for a name on the hub"
        )
        raise PluginError(
            f"model {name!r} does not load as a masked language model ({type(error).__name__});"
            f" {remedy}"
        ) from error
    _check_weights(name, report)
    specials = _specials(name, tokenizer, model.config)
    whole = tokenizer.backend_tokenizer.to_str()
    return Loaded(
        model.eval(), whole, specials, int(model.config.vocab_size), _digest(model, whole)
    )


def _check_weights(name: str, report: Mapping[str, Any]) -> None:
    """Check that all weights of a model were read, those of its head among them.

    Raises:
        PluginError: Some were not.
    """
    if absent := sorted(report["missing_keys"]):
        raise PluginError(
            f"model {name!r}: the weights lack {absent[0]}, so its masked-LM head was not trained; "
            "choose a checkpoint that was saved as a masked language model"
        )
    if report["mismatched_keys"]:
        raise PluginError(
            f"model {name!r}: weights and configuration differ in shape; give files of one training"
        )


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    log = transformers.logging
    level = log.get_verbosity()
    log.set_verbosity(logging.CRITICAL)  # what is wrong is said by the errors
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(level)


def _specials(name: str, tokenizer: Any, config: Any) -> Specials:
    if not tokenizer.is_fast:
        raise PluginError(f"model {name!r} has no fast tokenizer (tokenizer.json); choose another")
    if tokenizer.mask_token_id is None:
        raise PluginError(
            f"model {name!r}: the tokenizer has no mask token; choose a masked language model"
        )
    if len(tokenizer) > int(config.vocab_size):
        raise PluginError(
            f"model {name!r}: the tokenizer has {len(tokenizer)} sub-tokens, the model"
            f" {config.vocab_size}; give the tokenizer of this model"
        )
    before = _first(tokenizer.cls_token_id, tokenizer.bos_token_id)
    after = _first(tokenizer.sep_token_id, tokenizer.eos_token_id)
    pad = _first(tokenizer.pad_token_id, after)
    if before is None or after is None or pad is None:
        raise PluginError(
            f"model {name!r}: the tokenizer lacks [CLS] or [SEP]; choose a masked language model"
        )
    return Specials(
        before=before,
        after=after,
        pad=pad,
        mask=int(tokenizer.mask_token_id),
        unknown=tokenizer.unk_token_id,
        line=tokenizer.get_vocab().get(LINE),
        window=_positions(config),
    )


def _first(*numbers: int | None) -> int | None:
    return next((number for number in numbers if number is not None), None)


def _positions(config: Any) -> int:
    held = int(getattr(config, "max_position_embeddings", _LONGEST) or _LONGEST)
    if held <= 0:
        return _LONGEST
    return held - int(config.pad_token_id or 0) - 1 if config.model_type in _OFFSET else held


def _digest(model: Any, tokenizer: str) -> str:
    """Return a digest of what decides on the scores, the same wherever the files lie."""
    total = hashlib.sha256(tokenizer.encode())
    total.update(repr([(name, getattr(model.config, name, None)) for name in _WEIGHED]).encode())
    for key, value in sorted(model.state_dict().items()):
        total.update(key.encode())
        total.update(value.detach().float().contiguous().numpy().tobytes())
    return total.hexdigest()
