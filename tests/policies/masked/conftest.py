"""A tiny masked language model, its words, and a function that saves it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")
pytest.importorskip("deid_zero_shot", reason="needs the plugin zero_shot")

NAMES = "Anna Berta Carla Doris Ella Frida Greta Hanna Irma Julia Karin Lotta Maria Nora Olga Paula"
CITIES = "Rome Paris Oslo Bonn Lyon Turin Malmo Ghent Leeds Porto"
TRADES = "nurse baker smith cook tailor driver painter farmer miner clerk"
SENTENCE = "the patient is called she works as a lives in city of from . de"
PARTS = "##son ##berg ##s Mart Zol [LINE] Nurse Of"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
SPECIAL = "[PAD] [UNK] [CLS] [SEP] [MASK]"


def save(folder: Path, kind: str = "BertForMaskedLM") -> Path:
    """Save a tiny model with seeded weights and a vocabulary of whole words, parts of words and
    letters.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = f"{SPECIAL} {NAMES} {CITIES} {TRADES} {SENTENCE} {PARTS}".split()
    pieces = [*words, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    tokens = {f"{name}_token": token for name, token in names.items()}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **tokens).save_pretrained(
        folder
    )
    torch.manual_seed(5)
    config = transformers.BertConfig(
        vocab_size=len(numbers),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    getattr(transformers, kind)(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def save_model() -> Callable[..., Path]:
    """A function that saves the model into a folder, under the head of a class
    of ``transformers``.
    """
    return save


@pytest.fixture(scope="session")
def vocabulary() -> frozenset[str]:
    """The whole words that the model knows.

    It also has ``Nurse`` and ``Of``, which are no names.
    """
    return frozenset(f"{NAMES} {CITIES} {TRADES} {SENTENCE} Mart Zol".split())
