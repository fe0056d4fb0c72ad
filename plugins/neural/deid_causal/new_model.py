"""A small causal model from nothing: its tokenizer and its first weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import tokenizers
import transformers
from tokenizers import decoders, models, pre_tokenizers, trainers

from deid_causal.loading import quiet

END, PAD = "<|end|>", "<|pad|>"
_WORDS = r"\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]|\s+(?!\S)|\s"


class NewModelSize(Protocol):
    """Size of a new model, as the settings of a recipe give it."""

    @property
    def layers(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def heads(self) -> int: ...
    @property
    def feed_forward(self) -> int: ...
    @property
    def context(self) -> int: ...


def make_tokenizer(
    texts: Iterable[str], out: Path, *, vocabulary: int, whole: Sequence[str]
) -> Any:
    """Write and return a byte-level BPE: words with the blank before them, digits alone.

    Args:
        texts: To learn from.
        out: Folder.
        vocabulary: Most tokens.
        whole: Words that are one token each, such as placeholders.
    """
    bpe = tokenizers.Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(_WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bpe.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=vocabulary,
            special_tokens=[END, PAD],
            initial_alphabet=alphabet,
            show_progress=False,
        ),
    )
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=END, pad_token=PAD)  # type: ignore[no-untyped-call]
    fast.add_tokens(
        [tokenizers.AddedToken(word, normalized=False, special=False) for word in whole]
    )
    fast.save_pretrained(out)
    return fast


def make_model(shape: NewModelSize, tokenizer: Any) -> Any:
    """Return a model of Llama's kind with random weights."""
    config = transformers.LlamaConfig(  # type: ignore[no-untyped-call]
        vocab_size=len(tokenizer),
        hidden_size=shape.width,
        intermediate_size=shape.feed_forward,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=shape.context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        attn_implementation="sdpa",
    )
    with quiet():
        return transformers.AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
