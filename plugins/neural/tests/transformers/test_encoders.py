"""Given encoders of several families by folder, and every way in which one may not load."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tiny_tasks import TINY, documents, task, train, with_settings
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from deid_assets import Note
from deid_assets.core.errors import PluginError, TrainingError
from deid_assets.testing import CONTRACT_TEXTS, check_detector
from deid_onnx.parity import parity
from deid_transformers import TransformersDetector, TransformersTrainer
from deid_transformers.encoder import positions_of

pytestmark = pytest.mark.long

SMALL = {
    "vocab_size": 400,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
TEXTS = [document.note.text for document in documents()] * 4


def saved(tokenizer: Tokenizer, folder: Path, special: list[str]) -> None:
    pad, unknown, before, after, mask = special
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=pad,
        unk_token=unknown,
        cls_token=before,
        sep_token=after,
        mask_token=mask,
    ).save_pretrained(folder)


def bert(folder: Path) -> Path:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        TEXTS, trainers.WordPieceTrainer(vocab_size=200, special_tokens=special)
    )
    saved(tokenizer, folder, special)
    transformers.BertForMaskedLM(transformers.BertConfig(**SMALL)).save_pretrained(folder)
    return folder


def roberta(folder: Path) -> Path:
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(
        TEXTS,
        trainers.BpeTrainer(vocab_size=380, special_tokens=special, initial_alphabet=alphabet),
    )
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    saved(tokenizer, folder, ["<pad>", "<unk>", "<s>", "</s>", "<mask>"])
    transformers.RobertaForMaskedLM(
        transformers.RobertaConfig(**SMALL, pad_token_id=1)
    ).save_pretrained(folder)
    return folder


def xlm_roberta(folder: Path) -> Path:
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.train_from_iterator(
        TEXTS, trainers.UnigramTrainer(vocab_size=150, special_tokens=special, unk_token="<unk>")
    )
    saved(tokenizer, folder, ["<pad>", "<unk>", "<s>", "</s>", "<mask>"])
    transformers.XLMRobertaForMaskedLM(
        transformers.XLMRobertaConfig(**SMALL, pad_token_id=1)
    ).save_pretrained(folder)
    return folder


FAMILIES: dict[str, Callable[[Path], Path]] = {
    "bert": bert,
    "roberta": roberta,
    "xlm_roberta": xlm_roberta,
}


@pytest.fixture(scope="session")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    torch.manual_seed(3)
    return {name: make(tmp_path_factory.mktemp(name)) for name, make in FAMILIES.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_given_encoder_is_fine_tuned_whatever_its_tokenizer(
    family: str, encoders: dict[str, Path], tmp_path: Path
) -> None:
    given = with_settings(task(grouping=1), encoder=str(encoders[family]))

    detector = TransformersDetector(model=train(given, tmp_path), threads=1)

    found = detector.detect([document.note for document in documents()])
    assert [[(span.start, span.end, span.label) for span in spans] for spans in found] == [
        [(span.start, span.end, span.label) for span in document.spans] for document in documents()
    ]
    check_detector(
        detector, texts=[*CONTRACT_TEXTS, "a\x00b \x07 \u200b", "x" * 3000, "\u0301 \ufffd"]
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_an_encoder_is_adapted_to_raw_notes_before(
    family: str, encoders: dict[str, Path], tmp_path: Path
) -> None:
    pretraining = {"steps": 3, "batch": 2, "length": 16, "save_every": 1}
    given = with_settings(
        task(raw=[Note("r", TEXTS[0])]), encoder=str(encoders[family]), pretrain=pretraining
    )
    curve: list[Any] = []

    folder = train(given, tmp_path, curve)

    assert [point.epoch for point in curve if point.phase == -1] == [1, 2, 3]
    assert (folder / "tagger.json").exists()


def test_a_model_of_this_plugin_is_an_encoder_too(model: Path, tmp_path: Path) -> None:
    curve: list[Any] = []

    folder = train(with_settings(task(), encoder=str(model), epochs=1), tmp_path, curve)

    assert curve[0].loss < 1.0  # a new head on a new encoder begins at 1.6 and more
    inputs = [json.loads((path / "tagger.json").read_text())["inputs"] for path in (model, folder)]
    assert inputs[0] == inputs[1]
    assert inputs[0]["line"] is not None


@pytest.mark.parametrize("family", FAMILIES)
def test_a_given_encoder_is_exported_with_its_tags(
    family: str, encoders: dict[str, Path], tmp_path: Path
) -> None:
    model = train(with_settings(task(), encoder=str(encoders[family])), tmp_path)

    TransformersTrainer().export(model, tmp_path / "onnx")

    # Only BERT is one that is packed.
    described = json.loads((tmp_path / "onnx" / "tagger.json").read_text())
    assert described.get("layout") == ("packed" if family == "bert" else None)
    notes = [document.note for document in documents()]
    fp32 = parity(TransformersDetector(model=model, threads=1).tagger, tmp_path / "onnx", notes)[0]
    assert fp32.share == 1.0
    assert fp32.largest_difference < 1e-4


def test_windows_of_an_encoder_are_no_longer_than_it_holds(
    encoders: dict[str, Path], tmp_path: Path
) -> None:
    given = with_settings(task(), encoder=str(encoders["roberta"]), window=512)

    described = json.loads((train(given, tmp_path) / "tagger.json").read_text())

    assert positions_of(transformers.AutoConfig.from_pretrained(encoders["roberta"])) == 62
    assert described["inputs"]["window"] == 62


def test_an_encoder_that_is_not_here_is_one_clear_line_and_no_network(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="allow_download = true") as raised:
        train(with_settings(task(), encoder="nobody/no-such-encoder"), tmp_path)

    assert "\n" not in str(raised.value)


def test_an_encoder_in_pickles_is_refused_unless_trusted(
    encoders: dict[str, Path], tmp_path: Path
) -> None:
    pickled = tmp_path / "pickled"
    shutil.copytree(encoders["bert"], pickled)
    (pickled / "model.safetensors").unlink()
    model = transformers.BertForMaskedLM.from_pretrained(encoders["bert"])
    torch.save(model.state_dict(), pickled / "pytorch_model.bin")

    with pytest.raises((TrainingError, PluginError), match="trust"):
        train(with_settings(task(), encoder=str(pickled)), tmp_path / "a")
    trusted = with_settings(task(grouping=1), encoder=str(pickled), trust=True)

    assert (train(trusted, tmp_path / "b") / "tagger.json").exists()


def _change(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))


BROKEN = {
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "missing or broken"),
    "cut weights": (
        lambda folder: (folder / "model.safetensors").write_bytes(b"\x10"),
        "missing or broken",
    ),
    "no config": (lambda folder: (folder / "config.json").unlink(), "missing or broken"),
    "other config": (lambda folder: _change(folder, hidden_size=64), "missing or broken"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "no such file"),
    "no tagger.json": (lambda folder: (folder / "tagger.json").unlink(), "no tagger.json"),
    "other head": (
        lambda folder: _change(folder, id2label={"0": "O"}, label2id={"O": 0}),
        "missing or broken|1 outputs for 7 tags",
    ),
}


@pytest.mark.parametrize(("harm", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_model_is_one_clear_line(
    harm: Callable[[Path], None], message: str, model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(model, folder)
    harm(folder)

    with pytest.raises(PluginError, match=message) as raised:
        TransformersDetector(model=folder)
    assert "\n" not in str(raised.value)


def test_a_device_that_is_not_there_is_an_error(model: Path) -> None:
    with pytest.raises(PluginError, match="device 'cuda:99' is not there"):
        TransformersDetector(model=model, device="cuda:99")


def test_a_language_model_without_a_head_is_no_tagger(
    model: Path, encoders: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "headless"
    shutil.copytree(model, folder)
    transformers.BertForMaskedLM.from_pretrained(encoders["bert"]).save_pretrained(folder)

    with pytest.raises(PluginError, match="no trained head"):
        TransformersDetector(model=folder)


def test_one_window_and_many_tag_alike_where_the_text_fits(model: Path) -> None:
    note = documents()[1].note
    detector = TransformersDetector(model=model, threads=1)
    (alone,) = detector.detect([note])

    together = list(detector.detect([Note("long", "No fever. " * 500), note, Note("empty", "")]))

    assert together[1] == alone
    assert TINY["window"] < 500
