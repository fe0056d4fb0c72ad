"""A tokenizer learnt from raw notes."""

from __future__ import annotations

from collections import Counter
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

from deid_assets.extending import tokenize
from deid_transformers.settings import NewEncoder

PAD, UNKNOWN, BEFORE, AFTER, MASK, LINE = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[LINE]"
SPECIAL = (PAD, UNKNOWN, BEFORE, AFTER, MASK, LINE)
_LEAST = 2  # times that a piece must be seen
_LONGEST = 100  # letters of a word that WordPiece cuts
_LETTERS = 1_000  # most letters that begin with a piece of their own


def learn(texts: Iterable[str], settings: NewEncoder) -> Any:
    """Return a fast tokenizer of ``transformers``.

    Its vocabulary is learnt from the words of texts. Case and accents are kept unless the settings
    say otherwise. The same texts give the same vocabulary for ``wordpiece`` and ``bpe``; the
    library's training of ``unigram`` adds up in an order of its own.
    """
    words = Counter(word for text in texts for word in _words(text))
    tokenizer = _train(words, settings)
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


def _words(text: str) -> Iterable[str]:
    """Yield words as they are cut in use: with a blank before where there is one."""
    for start, end in tokenize(text):
        yield text[start:end] if start and not text[start - 1].isspace() else " " + text[start:end]


def _cuts(settings: NewEncoder) -> list[Any]:
    digits = [pre_tokenizers.Digits(individual_digits=True)] if settings.single_digits else []
    last = {
        "wordpiece": pre_tokenizers.BertPreTokenizer(),
        "bpe": pre_tokenizers.ByteLevel(add_prefix_space=False),
        "unigram": pre_tokenizers.Metaspace(prepend_scheme="never"),
    }
    return [*digits, last[settings.tokenizer]]


def _around(model: Any, settings: NewEncoder) -> Any:
    tokenizer = Tokenizer(model)
    lower = [normalizers.Lowercase()] if settings.lowercase else []
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), *lower])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(_cuts(settings))
    return tokenizer


def _train(words: Counter[str], settings: NewEncoder) -> Any:
    size: dict[str, Any] = {"vocab_size": settings.vocabulary, "show_progress": False}
    if settings.tokenizer == "wordpiece":
        vocabulary = _word_pieces(words, size, settings)
        model = models.WordPiece(
            vocab=vocabulary, unk_token=UNKNOWN, max_input_chars_per_word=_LONGEST
        )
        tokenizer = _around(model, settings)
        tokenizer.add_special_tokens(list(SPECIAL))
        return tokenizer
    size["special_tokens"] = list(SPECIAL)
    if settings.tokenizer == "bpe":
        tokenizer = _around(models.BPE(), settings)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(**size, min_frequency=_LEAST, initial_alphabet=alphabet)
    else:
        tokenizer = _around(models.Unigram(), settings)
        trainer = trainers.UnigramTrainer(**size, unk_token=UNKNOWN)
    tokenizer.train_from_iterator(_repeat_words(words), trainer=trainer)
    return tokenizer


def _word_pieces(words: Counter[str], size: dict[str, Any], settings: NewEncoder) -> dict[str, int]:
    """Return the vocabulary of WordPiece as it is usually learnt: pairs merged by their count.

    The library numbers the inner letters in the order of a hash table, and ties go by number. They
    are numbered here first, as special tokens of a vocabulary that only serves to learn, so that
    the same words give the same.
    """
    tokenizer = _around(models.BPE(), settings)
    letters: Counter[str] = Counter()
    for word, count in words.items():
        for letter in tokenizer.normalizer.normalize_str(word.strip()):
            letters[letter] += count
    kept = sorted(
        letter
        for letter, _ in sorted(letters.items(), key=lambda pair: (-pair[1], pair[0]))[:_LETTERS]
    )
    inner = [f"##{letter}" for letter in kept]
    trainer = trainers.BpeTrainer(
        **size,
        min_frequency=_LEAST,
        special_tokens=[*SPECIAL, *inner],
        initial_alphabet=kept,
        limit_alphabet=len(kept),
        continuing_subword_prefix="##",
    )
    tokenizer.train_from_iterator(_repeat_words(words), trainer=trainer)
    found: dict[str, int] = tokenizer.get_vocab()
    return found


def _repeat_words(words: Counter[str]) -> Iterable[list[str]]:
    return ([word] * count for word, count in sorted(words.items()))
