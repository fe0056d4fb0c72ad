"""A tiny GLiNER model, made from a configuration and untrained.

Its scores are far enough apart that rounding turns none.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import torch
import transformers
from gliner import GLiNER, GLiNERConfig
from gliner.model import BiEncoderSpanGLiNER, BiEncoderTokenGLiNER
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from deid_assets import Note

PROMPTS = {"person": "NAME", "date": "DATE", "phone number": "PHONE", "disease": "none"}
MAP = "threshold = 0.5\n[labels]\n" + "".join(
    f'"{prompt}" = "{label}"\n' for prompt, label in PROMPTS.items()
)
LONGEST = 40
_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_WORDS = [
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
    "tel.",
    "(617)",
    "555-0143",
    "!",
    "fever",
    "discharged",
    "to",
    "the",
    "care",
    "of",
    "Mrs",
    "O'Brien",
    "naïve",
    "Zürich",
    "São",
    "José",
    "😀",
    "a.b@example.org",
]


def notes(count: int, *, seed: int = 1) -> list[Note]:
    """Return notes of words, blanks, line breaks and tabs.

    Every seventh is longer than a window.
    """
    draw = random.Random(seed)
    found = []
    for number in range(count):
        words = draw.choices(_WORDS, k=120 if number % 7 == 6 else draw.randint(3, 15))
        text = "".join(word + draw.choice([" ", " ", "\n", "  ", ":\n", "\t"]) for word in words)
        found.append(Note(f"n{number}", text))
    return found


def _tokenizer() -> Any:
    signs = sorted({sign for word in _WORDS for sign in word})
    pieces = [
        *_SPECIALS,
        *signs,
        *(f"##{sign}" for sign in signs),
        "Se",
        "##en",
        "fe",
        "##ver",
        "20",
        "##21",
    ]
    made = Tokenizer(
        models.WordPiece({piece: at for at, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    made.normalizer = normalizers.BertNormalizer(lowercase=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    fast: Any = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        model_max_length=128,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    fast.add_tokens(["<<ENT>>", "<<SEP>>"], special_tokens=True)
    return fast


def save(out: Path, *, span_mode: str = "markerV0", safe: bool = True, is_bi: bool = False) -> Path:
    """Write a model of spans (``markerV0``) or of tokens (``token_level``) as the library does.

    A bi-encoder (``is_bi``) reads its prompts with an encoder of their own.
    """
    torch.manual_seed(3)
    tokenizer = _tokenizer()
    encoder = {
        "model_type": "deberta-v2",
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 48,
        "max_position_embeddings": 128,
        "relative_attention": True,
        "position_buckets": 16,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
        "type_vocab_size": 0,
        "pad_token_id": 0,
    }
    both = (
        {"labels_encoder": "someone/labels", "labels_encoder_config": dict(encoder)}
        if is_bi
        else {}
    )
    kinds: Any = {"markerV0": BiEncoderSpanGLiNER, "token_level": BiEncoderTokenGLiNER}
    config: Any = (kinds[span_mode].config_class if is_bi else GLiNERConfig)(
        model_name="someone/encoder",
        max_width=6,
        hidden_size=32,
        dropout=0.0,
        span_mode=span_mode,
        max_len=LONGEST,
        encoder_config=encoder,
        vocab_size=len(tokenizer),
        class_token_index=tokenizer.convert_tokens_to_ids("<<ENT>>"),
        **both,
    )
    kind = kinds[span_mode] if is_bi else GLiNER._get_gliner_class(config)
    given = {"labels_tokenizer": _tokenizer()} if is_bi else {}
    model: Any = kind(config, tokenizer=tokenizer, backbone_from_pretrained=False, **given)
    with torch.no_grad():
        for weight in model.model.parameters():
            weight.mul_(3.0 if weight.dim() > 1 else 1.0)
    model.save_pretrained(out, safe_serialization=safe)
    return out


def save_second(out: Path) -> Path:
    """Write a model of GLiNER2 as its library does."""
    from gliner2.configuration import ExtractorConfig
    from gliner2.inference.engine import GLiNER2

    torch.manual_seed(3)
    tokenizer = _tokenizer()
    tokenizer.model_max_length = 512
    encoder = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=512,
    )
    config = ExtractorConfig(model_name="someone/encoder", max_width=6)
    model: Any = GLiNER2(config, encoder_config=encoder, tokenizer=tokenizer)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(3.0 if weight.dim() > 1 else 1.0)
    model.save_pretrained(str(out))
    return out
