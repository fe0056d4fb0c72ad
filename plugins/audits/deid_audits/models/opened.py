"""A language model opened for an attack, masked or causal, and what is refused before a number is
computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import transformers

from deid_assets.extending import InputError
from deid_assets.extending.corpora import is_tagger
from deid_causal.loading import device_of, quiet

Kind = Literal["masked", "causal"]
_HEADS: dict[str, Kind] = {"MaskedLM": "masked", "CausalLM": "causal", "LMHeadModel": "causal"}
_SPECIAL = ("pad_token_id", "eos_token_id", "bos_token_id")
FEWEST = 50
"""Fewest tokens of which a mean loss is judged."""


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A model and its tokenizer.

    Args:
        name: Name of its folder.
        kind: Whether it fills gaps or goes on.
        model: Of transformers, in evaluation mode.
        tokenizer: A fast one.
        context: Most tokens that it reads, those that open and close included.
        opens: Token before a sequence.
        closes: Token after it; of causal models, also the one at which they stop.
        pad: Token that fills.
        mask: Token that hides; -1 for a causal model.
    """

    name: str
    kind: Kind
    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    context: int = 512
    opens: int = 0
    closes: int = 0
    pad: int = 0
    mask: int = -1

    @property
    def vocabulary(self) -> int:
        """Tokens that the model gives a score to."""
        return int(self.model.get_input_embeddings().num_embeddings)

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        found: torch.device = next(self.model.parameters()).device
        return found

    @property
    def special(self) -> frozenset[int]:
        """Tokens that stand for no text."""
        return frozenset(self.tokenizer.all_special_ids)


def open_model(folder: Path, *, device: str | None = None) -> LanguageModel:
    """Return the language model of a folder, for reading only.

    Args:
        folder: As ``deid pretrain`` or transformers writes it, with its tokenizer.
        device: As PyTorch names it; a GPU where there is one when not given.

    Raises:
        InputError: The folder is no language model, has no language-model head, or the tokenizer of
            another model.
    """
    kind = kind_of(folder)
    loader: Any = (
        transformers.AutoModelForMaskedLM if kind == "masked" else transformers.AutoModelForCausalLM
    )
    try:
        with quiet():
            reader: Any = transformers.AutoTokenizer
            tokenizer: Any = reader.from_pretrained(str(folder), local_files_only=True)
            model, info = loader.from_pretrained(
                str(folder),
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
            )
    except Exception as error:
        raise InputError(
            f"model {folder.name}: it does not load ({type(error).__name__}); give a folder with"
            " config.json, model.safetensors and tokenizer.json"
        ) from error
    if absent := sorted(info["missing_keys"]):
        raise InputError(
            f"model {folder.name}: its weights lack {absent[0]}; a model without its language-model"
            " head has no probabilities, give the one that was pre-trained"
        )
    place = device_of(device)
    return pair_with_tokenizer(folder.name, kind, model.to(place).eval(), tokenizer)


def kind_of(folder: Path) -> Kind:
    """Return whether a folder's model is masked or causal, by what its configuration says.

    Raises:
        InputError: There is no configuration, or its model has no language-model head.
    """
    if is_tagger(folder):
        raise InputError(
            f"model {folder.name}: a tagger. It says nothing of how probable a text is, so this"
            " audit has nothing to ask it; membership asks whether it tells its notes: waive this"
            " one by name in the facts, with the reason, under rules.waived"
        )
    if not (folder / "config.json").is_file():
        raise InputError(
            f"model {folder.name}: there is no config.json; give the folder of a language model"
        )
    try:
        with quiet():
            config: Any = transformers.AutoConfig.from_pretrained(
                str(folder), local_files_only=True
            )
    except Exception as error:
        raise InputError(
            f"model {folder.name}: its config.json is broken ({type(error).__name__})"
        ) from error
    named = (config.architectures or ["none"])[0]
    for ending, kind in _HEADS.items():
        if named.endswith(ending):
            return kind
    raise InputError(
        f"model {folder.name}: {named} has no language-model head, so it gives no probabilities;"
        " give the model that was pre-trained, not the tagger made of it"
    )


def pair_with_tokenizer(name: str, kind: Kind, model: Any, tokenizer: Any) -> LanguageModel:
    """Return a model with its tokenizer.

    Raises:
        InputError: The tokenizer is of another model, is not a fast one or lacks a token that is
            needed.
    """
    rows = int(model.get_input_embeddings().num_embeddings)
    if not tokenizer.is_fast:
        raise InputError(
            f"model {name}: its tokenizer is no fast one (tokenizer.json); offsets cannot be told"
        )
    if len(tokenizer) > rows:
        raise InputError(
            f"model {name}: its tokenizer has {len(tokenizer)} tokens and the model {rows}; it is"
            " the tokenizer of another model, give the one that the model was trained with"
        )
    for token in _SPECIAL:
        known, given = getattr(model.config, token, None), getattr(tokenizer, token, None)
        if isinstance(known, int) and given is not None and known != given:
            raise InputError(
                f"model {name}: {token} is {known} for the model and {given} for its tokenizer; it"
                " is the tokenizer of another model, give the one that the model was trained with"
            )
    mask = tokenizer.mask_token_id
    if kind == "masked" and mask is None:
        raise InputError(
            f"model {name}: its tokenizer has no mask token; it is the tokenizer of another model"
        )
    closes = _first(tokenizer.sep_token_id if kind == "masked" else None, tokenizer.eos_token_id)
    opens = _first(
        tokenizer.cls_token_id if kind == "masked" else None, tokenizer.bos_token_id, closes
    )
    if opens is None or closes is None:
        raise InputError(
            f"model {name}: its tokenizer has no token that ends a text; choose another model"
        )
    return LanguageModel(
        name,
        kind,
        model,
        tokenizer,
        context=min(int(getattr(model.config, "max_position_embeddings", 0) or 512), 2_048),
        opens=opens,
        closes=closes,
        pad=int(_first(tokenizer.pad_token_id, closes) or 0),
        mask=-1 if mask is None else mask,
    )


def _first(*numbers: int | None) -> int | None:
    return next((number for number in numbers if number is not None), None)


def check_reads(name: str, losses: Sequence[float], tokens: int, vocabulary: int) -> None:
    """Refuse a model that predicts text worse than a uniform guess, as one with another's tokenizer
    does.

    Args:
        name: Of the model.
        losses: Mean loss per token of each text, natural logarithm.
        tokens: Tokens over all texts.
        vocabulary: Of the model.

    Raises:
        InputError: It does.
    """
    mean = sum(losses) / max(1, len(losses))
    if tokens >= FEWEST and mean > float(torch.tensor(float(vocabulary)).log()):
        raise InputError(
            f"model {name}: it predicts the notes worse than a uniform guess over its {vocabulary}"
            " tokens; it has the tokenizer of another model, or was never trained"
        )
