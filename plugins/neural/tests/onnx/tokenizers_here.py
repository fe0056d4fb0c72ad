"""Tokenizers of the three kinds, trained here on a few sentences."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

SENTENCES = [
    "The patient was admitted on 12/03/2020 by Dr. Ana Moreno-Gil (tel. 915-44-12).",
    "Hospital Clínico, C/ Mayor 3, 28013. Edad: 47 años; sin fiebre.",
    "Discharged home, follow-up in two weeks. E-mail: a.b@example.org",
] * 20
KINDS = ("wordpiece", "bpe", "unigram")


def train(kind: str, folder: Path) -> Path:
    """Write a tokenizer with everything that a published one has.

    Special tokens, truncation, padding, a blank before.
    """
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    if kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(
            vocab_size=180, special_tokens=special, show_progress=False
        )
    elif kind == "bpe":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        )
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
        trainer = trainers.UnigramTrainer(
            vocab_size=120, special_tokens=special, unk_token="[UNK]", show_progress=False
        )
    tokenizer.train_from_iterator(SENTENCES, trainer=trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"
