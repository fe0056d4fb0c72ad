"""An encoder and its tokenizer: loaded by path or hub name, or made new.

And the tagger made of it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers

from deid_assets.extending import PluginError, TrainingError
from deid_onnx.folder import refuse_pickles
from deid_onnx.kinds import KINDS
from deid_onnx.pieces import PieceSettings
from deid_transformers.settings import NEW, TransformersSettings
from deid_transformers.vocabulary import LINE, learn

_LEAST_OVERLAP_ROOM = 4


@contextmanager
def quiet() -> Iterator[None]:
    """Keep ``transformers`` from writing about what it loads.

    Warnings, progress bars and advice.
    """
    log: Any = transformers.logging
    level = log.get_verbosity()
    log.set_verbosity(logging.CRITICAL)
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(level)


def make_new(texts: Iterable[str], settings: TransformersSettings) -> tuple[Any, Any]:
    """Return the configuration of a new encoder and its tokenizer, learnt from texts."""
    new = settings.new
    tokenizer = learn(texts, new)
    kinds: dict[str, Any] = {
        "bert": transformers.BertConfig,
        "roformer": transformers.RoFormerConfig,
    }
    config = kinds[new.architecture](
        vocab_size=len(tokenizer),
        hidden_size=new.hidden,
        num_hidden_layers=new.layers,
        num_attention_heads=new.heads,
        intermediate_size=new.feed_forward or 4 * new.hidden,
        hidden_act=new.activation,
        hidden_dropout_prob=new.dropout,
        attention_probs_dropout_prob=new.dropout,
        max_position_embeddings=new.positions,
        type_vocab_size=KINDS if new.kinds else 1,
        pad_token_id=tokenizer.pad_token_id,
    )
    return config, tokenizer


def load_config(settings: TransformersSettings) -> Any:
    """Return the configuration of a given encoder.

    Raises:
        TrainingError: The encoder is not there.
    """
    return _load(transformers.AutoConfig, settings)


def load_tokenizer(settings: TransformersSettings) -> Any:
    """Return the fast tokenizer of a given encoder.

    Raises:
        TrainingError: The encoder is not there, or has no fast tokenizer.
    """
    tokenizer = _load(transformers.AutoTokenizer, settings, use_fast=True)
    if not tokenizer.is_fast:
        raise TrainingError(
            f"encoder {settings.encoder!r} has no fast tokenizer (tokenizer.json); choose another"
        )
    return tokenizer


def load_model(kind: Any, settings: TransformersSettings, **options: Any) -> Any:
    """Return a given encoder under a head; ``kind`` is one of the ``AutoModelFor…`` classes.

    Raises:
        TrainingError: The encoder is not there, or is not in safetensors and not trusted.
    """
    return _load(kind, settings, use_safetensors=None if settings.trust else True, **options)


def _load(kind: Any, settings: TransformersSettings, **options: Any) -> Any:
    folder = Path(settings.encoder)
    if folder.is_dir() and not list(folder.glob("*.safetensors")):
        refuse_pickles(folder, trust=settings.trust)
    try:
        with quiet():
            return kind.from_pretrained(
                settings.encoder,
                local_files_only=not settings.allow_download,
                trust_remote_code=False,
                **options,
            )
    except Exception as error:
        remedy = (
            "check the folder or name, and HF_HUB_OFFLINE"
            if settings.allow_download
            else "give a folder, or set allow_download = true"
        )
        raise TrainingError(
            f"encoder {settings.encoder!r} does not load ({type(error).__name__}); {remedy}, "
            "and set trust = true where its weights are not in safetensors"
        ) from error


def piece_settings(tokenizer: Any, *, config: Any, settings: TransformersSettings) -> PieceSettings:
    """Return how an encoder is fed.

    Args:
        tokenizer: A fast tokenizer.
        config: Of the encoder.
        settings: Of the recipe.

    Raises:
        TrainingError: The tokenizer has no sub-token to open, close or fill a sequence with.
    """
    window = min(settings.window, positions_of(config))
    overlap = window // 4 if settings.overlap is None else min(settings.overlap, window // 2)
    before = _first(tokenizer.cls_token_id, tokenizer.bos_token_id)
    after = _first(tokenizer.sep_token_id, tokenizer.eos_token_id)
    pad = _first(tokenizer.pad_token_id, tokenizer.eos_token_id)
    if before is None or after is None or pad is None:
        raise TrainingError(
            f"the tokenizer of {settings.encoder!r} lacks [CLS], [SEP] or [PAD]; choose another"
            " encoder"
        )
    unknown = _first(tokenizer.unk_token_id, tokenizer.mask_token_id, pad)
    wants_lines = settings.encoder != NEW or settings.new.lines
    return PieceSettings(
        before=before,
        after=after,
        pad=pad,
        unknown=pad if unknown is None else unknown,
        line=tokenizer.get_vocab().get(LINE) if wants_lines else None,
        window=window,
        overlap=overlap,
        word=max(1, min(64, window - overlap - _LEAST_OVERLAP_ROOM)),
        kinds=getattr(config, "type_vocab_size", 0) == KINDS,
    )


def _first(*numbers: int | None) -> int | None:
    return next((number for number in numbers if number is not None), None)


def positions_of(config: Any) -> int:
    """Return the longest sequence of an encoder; RoBERTa's first positions are not for tokens."""
    held = int(getattr(config, "max_position_embeddings", 512))
    if held <= 0:
        return 512
    is_offset = config.model_type in {"roberta", "xlm-roberta", "camembert", "longformer"}
    return held - int(config.pad_token_id or 0) - 1 if is_offset else held


def tag_config(tags: Sequence[str]) -> dict[str, Any]:
    """Return the options that give a model an output per tag."""
    return {
        "num_labels": len(tags),
        "id2label": dict(enumerate(tags)),
        "label2id": {tag: number for number, tag in enumerate(tags)},
    }


def load_tagger(folder: Path, tags: Sequence[str], *, attention: str | None = None) -> Any:
    """Return the trained model of a folder, in evaluation mode.

    Args:
        folder: That ``deid train`` wrote.
        tags: In the order of the scores.
        attention: As in ``transformers``; the fastest that the architecture has when not given.

    Raises:
        PluginError: A file is missing or broken, or the checkpoint has no trained head of these
            tags.
    """
    try:
        with quiet():
            model, info = transformers.AutoModelForTokenClassification.from_pretrained(
                str(folder),
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
                attn_implementation=attention,
            )
    except Exception as error:
        raise PluginError(
            f"{folder}: config.json or model.safetensors is missing or broken"
            f" ({type(error).__name__}); train again"
        ) from error
    _check_head(folder, model, info, tags)
    return model.eval()


def _check_head(
    folder: Path, model: torch.nn.Module, info: Mapping[str, Any], tags: Sequence[str]
) -> None:
    if absent := sorted(info["missing_keys"]):
        raise PluginError(
            f"{folder}: model.safetensors lacks {absent[0]} and {len(absent) - 1} more; "
            "a language model has no trained head, fine-tune it first"
        )
    outputs = int(getattr(model.config, "num_labels", 0))
    if outputs != len(tags):
        raise PluginError(
            f"{folder}: the head has {outputs} outputs for {len(tags)} tags; give files of one"
            " training"
        )
