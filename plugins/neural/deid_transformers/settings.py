"""The recipe's ``[settings]`` for the trainer ``transformers``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from deid_assets.extending.settings import check_settings

NEW = "new"
Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0, lt=1)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NewEncoder(_Frozen):
    """An encoder that begins with no weights.

    Args:
        architecture: ``roformer``: what a sub-token sees of others depends on how far away they are
            (Su et al. 2021); ``bert``: on where each stands. From few notes, the first learns much
            more.
        layers: Transformer blocks.
        hidden: Width of a block; a multiple of ``heads``.
        heads: Attention heads.
        feed_forward: Width between a block's two layers; four times ``hidden`` when not given.
        activation: Between them.
        dropout: Within the blocks.
        positions: Longest sequence in sub-tokens.
        vocabulary: Most sub-tokens to learn.
        tokenizer: How they are learnt.
        lowercase: Whether case is thrown away. Names are often known by their capitals.
        single_digits: Whether each digit is a sub-token, so that no number is unknown.
        lines: Whether a sub-token stands where a line ends, so that a form's fields are seen.
        kinds: Whether each sub-token is given what its word looks like: digits, case, length.
    """

    architecture: Literal["roformer", "bert"] = "roformer"
    layers: Positive = 4
    hidden: Positive = 256
    heads: Positive = 4
    feed_forward: Positive | None = None
    activation: Literal["gelu", "gelu_new", "relu"] = "gelu"
    dropout: Share = 0.1
    positions: Annotated[int, Field(ge=16)] = 512
    vocabulary: Annotated[int, Field(ge=100)] = 8_000
    tokenizer: Literal["wordpiece", "bpe", "unigram"] = "wordpiece"
    lowercase: bool = False
    single_digits: bool = True
    lines: bool = True
    kinds: bool = True


class Pretraining(_Frozen):
    """Masked-language-model training on raw notes.

    The encoder is a new one or a given one (domain adaptation).

    Args:
        steps: Optimiser steps.
        epochs: Passes over the notes, in place of ``steps``.
        batch: Sequences in a step.
        length: Most sub-tokens in a sequence.
        packed: Whether notes are joined and cut, so that no sequence is padded; if not, no sequence
            has text of two notes.
        learning_rate: At its highest.
        warm_up: Share of the steps until then; it falls linearly to 0 after them.
        weight_decay: Of AdamW.
        mask: Share of the sub-tokens to be predicted; 80 % of them are hidden, 10 % exchanged, 10 %
            left (Devlin 2019).
        whole_words: Whether all sub-tokens of a word are masked together.
        balance: Exponent of each language's share of the text; below 1, notes of the smaller ones
            are repeated.
        held_out: Share of the raw notes that is held out; their loss is in the curve. Of ``deid
            pretrain`` only.
        training_notes: Whether the texts of the annotated training notes are read too.
        save_every: Steps between checkpoints.
        keep: Whether the encoder is kept as it was before it learnt to tag, under its masked-LM
            head, in the model's folder ``masked_lm``: for surrogates of a language model, and as
            the encoder of other recipes.
    """

    steps: Positive = 2_000
    epochs: Positive | None = None
    batch: Positive = 256
    length: Annotated[int, Field(ge=8)] = 512
    packed: bool = True
    learning_rate: Rate = 1e-4
    warm_up: Share = 0.1
    weight_decay: Share = 0.01
    mask: Annotated[float, Field(gt=0, lt=1)] = 0.15
    whole_words: bool = False
    balance: Annotated[float, Field(gt=0, le=1)] = 1.0
    held_out: Share = 0.0
    training_notes: bool = True
    save_every: Positive = 200
    keep: bool = False


class TransformersSettings(_Frozen):
    """All settings.

    The defaults are those of Catelli 2021 (batch 32, 5 epochs) and, where it is silent, the usual
    ones.

    Args:
        encoder: Folder or hub name of an encoder, or ``new``.
        new: The new encoder.
        pretrain: Masked-language-model training before the tagger's, or none.
        epochs: Most passes over a phase's notes.
        batch: Sequences in a step.
        keep_empty: Share of the sequences without a span that an epoch reads, redrawn for each.
        hide: Share of the words that are hidden behind ``[MASK]`` while it trains, redrawn at each
            step, so that more is learnt from their neighbours and, where the encoder reads them,
            from their kinds.
        learning_rate: At its highest.
        warm_up: Share of the steps until then; it falls linearly to 0 after them.
        weight_decay: Of AdamW; biases and norms have none.
        clip: Longest gradient.
        dropout: Before the tag scores; the encoder's own when not given.
        patience: Epochs without a better strict F1 on the development notes before a phase ends;
            counted once there is any. The best epoch's weights are kept.
        collapse_after: Epochs in which nothing but ``O`` was predicted before the run begins again
            with another seed.
        restarts: How often it may.
        decoder: ``constrained``: the best of the legal tag sequences; ``crf``: a trained chain as
            well; ``softmax``: each token for itself, as in Catelli 2021.
        class_weights: Weight of each label in the loss, ``O`` included, 1 where none is given; or
            ``balanced``: the root of how much rarer than the mean label it is. Not with ``crf``.
        window: Most sub-tokens in a sequence; less where the encoder holds fewer.
        overlap: Sub-tokens that neighbouring windows share; a quarter of the window when not given.
        bf16: Whether the networks are trained in bfloat16 where that is safe; for GPUs.
        threads: Cores to use; all when not given.
        allow_download: Whether the encoder may be fetched by its hub name.
        trust: Whether the encoder may be in files that can run code when read.
    """

    encoder: str = NEW
    new: NewEncoder = NewEncoder()
    pretrain: Pretraining | None = None
    epochs: Positive = 5
    batch: Positive = 32
    keep_empty: Annotated[float, Field(gt=0, le=1)] = 1.0
    hide: Share = 0.0
    learning_rate: Rate = 5e-5
    warm_up: Share = 0.1
    weight_decay: Share = 0.01
    clip: Annotated[float, Field(gt=0)] = 1.0
    dropout: Share | None = None
    patience: Positive = 2
    collapse_after: Positive = 3
    restarts: Annotated[int, Field(ge=0, le=10)] = 3
    decoder: Literal["constrained", "crf", "softmax"] = "constrained"
    class_weights: Literal["none", "balanced"] | Mapping[str, Annotated[float, Field(ge=0)]] = (
        "none"
    )
    window: Annotated[int, Field(ge=16)] = 512
    overlap: Annotated[int, Field(ge=0)] | None = None
    bf16: bool = False
    threads: Positive | None = None
    allow_download: bool = False
    trust: bool = False

    @model_validator(mode="after")
    def _fits(self) -> TransformersSettings:
        if self.new.hidden % self.new.heads:
            raise ValueError(
                f"new.hidden {self.new.hidden} must be a multiple of new.heads {self.new.heads}"
            )
        if self.new.architecture == "roformer" and self.new.hidden // self.new.heads % 2:
            raise ValueError(
                f"new.hidden {self.new.hidden} must be an even multiple of new.heads"
                f" {self.new.heads}"
            )
        if self.encoder == NEW and self.pretrain and self.pretrain.length > self.new.positions:
            raise ValueError(
                f"pretrain.length {self.pretrain.length} is over new.positions {self.new.positions}"
            )
        if self.decoder == "crf" and self.class_weights != "none":
            raise ValueError("class_weights need decoder constrained or softmax, not crf")
        if self.overlap is not None and self.overlap > self.window // 2:
            raise ValueError(f"overlap {self.overlap} must be at most half of window {self.window}")
        return self


def read_settings(given: Mapping[str, Any]) -> TransformersSettings:
    """Return settings checked and completed.

    Raises:
        ConfigError: A key is unknown or a value is not allowed; the message names each.
    """
    return check_settings(TransformersSettings, given, trainer="transformers")
