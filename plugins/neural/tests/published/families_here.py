"""Tiny models of every family, made from configurations.

Architecture, tokenizer kind and tags, and no training.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from deid_assets import Note

BIO = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-DATE", "I-DATE")
BILOU = ("O", *(f"{prefix}-{label}" for label in ("PATIENT", "STAFF") for prefix in "BILU"))
BIOES = (
    "O",
    *(f"{prefix}-{label}" for label in ("private_person", "private_date") for prefix in "BIES"),
)
PLAIN = ("PATIENT", "O", "HCW", "DATE")
IO = ("I-LOC", "I-PER", "O", "I-MISC")
SMALL: Mapping[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 66,
}
SPECIALS = {
    "bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
    "roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
}
WORDS = [
    "Seen",
    "by",
    "Dr",
    "Ana",
    "Berg",
    "in",
    "Rome",
    "on",
    "3",
    "May",
    "2021",
    ".",
    "Patient",
    "Łucja",
    "García-Müller",
    ",",
    "MRN",
    "44-1122",
    ",",
    "tel.",
    "(617)",
    "555-0143",
    "!",
    "fever",
    "cough",
    "discharged",
    "to",
    "the",
    "care",
    "of",
    "Mrs",
    "O'Brien",
    ";",
    "naïve",
    "Zürich",
    "São",
    "José",
    "😀",
    "e-mail",
    "a.b@example.org",
]


def texts(count: int, *, seed: int = 1) -> list[str]:
    """Return texts of words, blanks, line breaks and tabs.

    Every seventh is longer than any window here.
    """
    draw = random.Random(seed)
    found = []
    for number in range(count):
        words = draw.choices(WORDS, k=300 if number % 7 == 6 else draw.randint(3, 24))
        found.append(
            "".join(
                word + draw.choice([" ", " ", " ", "\n", "  ", ":\n", "\t"]) for word in words
            ).strip()
        )
    return found


def notes(count: int, *, seed: int = 1) -> list[Note]:
    return [Note(f"n{number}", text) for number, text in enumerate(texts(count, seed=seed))]


def wordpiece(*, lowercase: bool = False) -> Tokenizer:
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=160, special_tokens=SPECIALS["bert"], show_progress=False
    )
    made.train_from_iterator(texts(40, seed=9), trainer)
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def byte_pairs(*, kind: str = "roberta", trim: bool = True) -> Tokenizer:
    specials = SPECIALS[kind]
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=specials,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    made.train_from_iterator(texts(40, seed=9), trainer)
    first, last = ("[CLS]", "[SEP]") if kind == "bert" else ("<s>", "</s>")
    made.post_processor = processors.RobertaProcessing(
        (last, specials.index(last)),
        (first, specials.index(first)),
        trim_offsets=trim,
        add_prefix_space=False,
    )
    return made


def unigram(kind: str) -> Tokenizer:
    specials = SPECIALS[kind]
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    unknown = "[UNK]" if kind == "bert" else "<unk>"
    trainer = trainers.UnigramTrainer(
        vocab_size=180,
        special_tokens=specials,
        unk_token=unknown,
        show_progress=False,
    )
    made.train_from_iterator(texts(40, seed=9), trainer)
    ends = ("[CLS]", 2, "[SEP]", 3) if kind == "bert" else ("<s>", 0, "</s>", 2)
    made.post_processor = processors.TemplateProcessing(
        single=f"{ends[0]} $A {ends[2]}", special_tokens=[(ends[0], ends[1]), (ends[2], ends[3])]
    )
    return made


def _named(kind: str) -> dict[str, str]:
    if kind == "bert":
        return {
            "unk_token": "[UNK]",
            "pad_token": "[PAD]",
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
            "mask_token": "[MASK]",
        }
    return {
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "cls_token": "<s>",
        "sep_token": "</s>",
        "mask_token": "<mask>",
        "bos_token": "<s>",
        "eos_token": "</s>",
    }


_DISTIL = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 48, "max_position_embeddings": 66}
_DEBERTA = {
    **SMALL,
    "relative_attention": True,
    "position_buckets": 16,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
    "type_vocab_size": 0,
    "pad_token_id": 0,
}
_MODERN = {
    **SMALL,
    "global_attn_every_n_layers": 2,
    "local_attention": 16,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "cls_token_id": 0,
    "sep_token_id": 2,
}
_DECODER = {**SMALL, "num_key_value_heads": 1, "head_dim": 16, "pad_token_id": 1, "eos_token_id": 2}
_LONG = {
    **SMALL,
    "max_position_embeddings": 132,
    "attention_window": 16,
    "pad_token_id": 1,
    "sep_token_id": 2,
}
_MIXTURE = {**_DECODER, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 8}
_EURO = {**SMALL, "num_key_value_heads": 2, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
_ROBERTA = {
    **SMALL,
    "max_position_embeddings": 68,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}
EVERY: Mapping[str, tuple[str, str, Callable[[], Tokenizer], Mapping[str, Any], Sequence[str]]] = {
    "bert": ("Bert", "bert", wordpiece, SMALL, PLAIN),
    "roberta": ("Roberta", "roberta", byte_pairs, _ROBERTA, BIO),
    "deberta-v2": ("DebertaV2", "bert", lambda: unigram("bert"), _DEBERTA, BIO),
    "xlm-roberta": ("XLMRoberta", "roberta", lambda: unigram("roberta"), _ROBERTA, BIO),
    "electra": ("Electra", "bert", wordpiece, {**SMALL, "embedding_size": 24}, BIO),
    "modernbert": ("ModernBert", "roberta", lambda: byte_pairs(trim=False), _MODERN, BIO),
    "distilbert": ("DistilBert", "bert", lambda: wordpiece(lowercase=True), _DISTIL, BIO),
    "camembert": ("Camembert", "roberta", lambda: unigram("roberta"), _ROBERTA, IO),
    "deberta": (
        "Deberta",
        "bert",
        lambda: byte_pairs(kind="bert"),
        {**_DEBERTA, "max_relative_positions": -1},
        BIO,
    ),
    "longformer": ("Longformer", "roberta", byte_pairs, _LONG, BIO),
    "qwen3": ("Qwen3", "roberta", byte_pairs, _DECODER, BIO),
    "eurobert": ("EuroBert", "roberta", lambda: byte_pairs(trim=False), _EURO, BIO),
    "privacy-filter": (
        "OpenAIPrivacyFilter",
        "roberta",
        lambda: byte_pairs(trim=False),
        _MIXTURE,
        BIO,
    ),
}
"""Family to what a tiny model of it is made of.

That is the name of its classes, its special tokens, its tokenizer, its configuration and its tags.
"""
FAMILIES = [
    family
    for family, (name, *_) in EVERY.items()
    if hasattr(transformers, f"{name}ForTokenClassification")
]
"""Those that the installed ``transformers`` has.

EuroBERT and OpenAI's privacy filter are of version 5.
"""


def save(family: str, out: Path, *, tags: Sequence[str] | None = None, seed: int = 3) -> Path:
    """Write a tiny model as its library would.

    Its scores are far enough apart that rounding turns none.
    """
    name, kind, tokenizer, values, usual = EVERY[family]
    tags = tags or usual
    made = tokenizer()
    torch.manual_seed(seed)
    config: Any = getattr(transformers, f"{name}Config")(
        vocab_size=made.get_vocab_size(),
        id2label=dict(enumerate(tags)),
        label2id={tag: at for at, tag in enumerate(tags)},
        **values,
    )
    model: Any = getattr(transformers, f"{name}ForTokenClassification")(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(6.0 if weight.dim() > 1 else 1.0)
    model.save_pretrained(out)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        model_max_length=values.get("max_position_embeddings", 66)
        - (2 if kind == "roberta" else 0),
        model_input_names=["input_ids", "attention_mask"],
        **_named(kind),
    ).save_pretrained(out)
    return out
