"""A tokenizer learnt from raw notes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import transformers
from tokenizers import (  # type: ignore[import-untyped,unused-ignore]
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

from deid_assets.core.tagging import tokenize
from deid_transformers.settings import NewEncoder

PAD, UNKNOWN, BEFORE, AFTER, MASK, LINE = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[LINE]"
SPECIAL = (PAD, UNKNOWN, BEFORE, AFTER, MASK, LINE)


def learn(texts: Iterable[str], settings: NewEncoder) -> Any:
    """Return a fast tokenizer of ``transformers`` whose vocabulary is learnt from the words of texts.

    Case and accents are kept unless the settings say otherwise; the same texts give the same vocabulary.
    """
    tokenizer, trainer = _parts(settings)
    tokenizer.train_from_iterator(_words(texts), trainer=trainer)
    kind: Any = transformers.PreTrainedTokenizerFast
    return kind(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        unk_token=UNKNOWN,
        cls_token=BEFORE,
        sep_token=AFTER,
        mask_token=MASK,
        model_max_length=settings.positions,
    )


def _words(texts: Iterable[str]) -> Iterable[list[str]]:
    """Yield each text's words as they are cut in use: with a blank before where there is one."""
    for text in texts:
        yield [
            text[start:end] if start and not text[start - 1].isspace() else " " + text[start:end]
            for start, end in tokenize(text)
        ]


def _parts(settings: NewEncoder) -> tuple[Any, Any]:
    size: dict[str, Any] = {"vocab_size": settings.vocabulary, "special_tokens": list(SPECIAL), "show_progress": False}
    digits = [pre_tokenizers.Digits(individual_digits=True)] if settings.single_digits else []
    if settings.tokenizer == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token=UNKNOWN, max_input_chars_per_word=100))
        trainer = trainers.WordPieceTrainer(**size, min_frequency=2)
        cut = [pre_tokenizers.BertPreTokenizer(), *digits]
    elif settings.tokenizer == "bpe":
        tokenizer = Tokenizer(models.BPE(unk_token=None))
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(**size, min_frequency=2, initial_alphabet=alphabet)
        cut = [*digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]
    else:
        tokenizer = Tokenizer(models.Unigram())
        trainer = trainers.UnigramTrainer(**size, unk_token=UNKNOWN)
        cut = [*digits, pre_tokenizers.Metaspace(prepend_scheme="never")]
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), *([normalizers.Lowercase()] if settings.lowercase else [])]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(cut)
    return tokenizer, trainer
