"""Small masked language models of every kind of vocabulary, made here in seconds.

And notes that they learn from.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers

from deid_transformers.settings import NewEncoder
from deid_transformers.vocabulary import learn

TEXTS = (
    "Patient: Anna Berg\nAge: 47 years\nStable.",
    "Seen by Dr. Lee on 3 May 2021.\nNo fever.",
    "Discharged on 12/03/2020 to the care of Dr. Mora, anna.berg@example.org.",
    "Fever for 3 days, no cough. Paracetamol 500 mg.",
    "The patient has no fever and no cough. The patient is stable.",
    "El paciente refiere dolor torácico. Niño de 3 años con tos.",
)
KINDS = ("wordpiece", "bpe", "unigram")


def tokenizer_of(kind: str, *, positions: int = 64) -> Any:
    return learn(TEXTS * 3, NewEncoder(tokenizer=kind, vocabulary=300, positions=positions))


def config_of(tokenizer: Any, *, positions: int = 64, layers: int = 1) -> Any:
    return transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=positions,
        type_vocab_size=1,
        pad_token_id=tokenizer.pad_token_id,
    )


def save_model(
    folder: Path, kind: str = "wordpiece", *, head: bool = True, positions: int = 64
) -> Path:
    """Write a model with random weights; without a head, the encoder alone."""
    torch.manual_seed(3)
    tokenizer = tokenizer_of(kind, positions=positions)
    config = config_of(tokenizer, positions=positions)
    model: Any = transformers.BertForMaskedLM(config) if head else transformers.BertModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8.0)  # so that scores differ
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder
