"""Models that cannot be used: one line for each fault, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from families_here import BIO, notes, save
from safetensors.torch import load_file, save_file

from deid_assets.core.errors import ConfigError, PluginError
from deid_published.adding import add
from deid_published.writing import ImportRequest


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    return save("bert", tmp_path_factory.mktemp("made") / "m", tags=BIO)


def config(**changes):
    def change(folder: Path) -> None:
        values = json.loads((folder / "config.json").read_text()) | changes
        (folder / "config.json").write_text(
            json.dumps({key: value for key, value in values.items() if value != ""})
        )

    return change


def cut(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])


def pickled(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def narrow(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    for name in ("classifier.weight", "classifier.bias"):
        tensors[name] = tensors[name][:-2].clone()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def headless(folder: Path) -> None:
    tensors = {
        name: value
        for name, value in load_file(folder / "model.safetensors").items()
        if "classifier" not in name
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def without_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def slow_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "ByT5Tokenizer"}')


def small_embedding(folder: Path) -> None:
    """Every file is whole, and the network has fewer embeddings than the tokenizer has tokens."""
    tensors = load_file(folder / "model.safetensors")
    (name,) = [name for name in tensors if name.endswith("word_embeddings.weight")]
    tensors[name] = tensors[name][:8].clone()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config(vocab_size=8)(folder)


def deep(folder: Path) -> None:
    whole = (folder / "config.json").read_text()
    (folder / "config.json").write_text('{"x": ' + "[" * 200_000 + "]" * 200_000 + ", " + whole[1:])


def script(folder: Path) -> None:
    (folder / "own.py").write_text("raise SystemExit")


TAGS = {str(number): tag for number, tag in enumerate(BIO)}
FAULTS = {
    "code of its own": (
        config(auto_map={"AutoModel": "own.Model"}),
        "it brings code of its own, which is not run",
    ),
    "pickles alone": (pickled, "pytorch_model.bin may run code when read"),
    "a label that no map knows": (
        config(id2label={**TAGS, "5": "B-XYZ", "6": "I-XYZ"}, label2id=""),
        'add "XYZ" = "OTHER"',
    ),
    "truncated weights": (cut, "model.safetensors: cut off or broken"),
    "no offsets": (
        slow_tokenizer,
        "its tokenizer has no offsets .no tokenizer.json., so spans cannot be placed",
    ),
    "no tokenizer": (without_tokenizer, "the tokenizer does not load"),
    "code beside the weights": (script, "it brings code of its own, which is not run"),
    "another number of labels": (config(num_labels=9), "num_labels is 9, id2label has 7"),
    "a head of the wrong width": (narrow, "has not the width that config.json says"),
    "no head": (headless, "the weights lack classifier"),
    "labels that contradict": (
        config(label2id={"O": 1, "B-PER": 0}),
        "id2label and label2id contradict each other",
    ),
    "labels that say nothing": (
        config(id2label={"0": "LABEL_0", "1": "LABEL_1"}, label2id=""),
        "says only LABEL_0 to",
    ),
    "labels numbered wrongly": (
        config(id2label={"0": "O", "2": "B-PER"}, label2id=""),
        "not numbered 0 to 1",
    ),
    "a label twice": (config(id2label={**TAGS, "6": "O"}, label2id=""), "gives 'O' twice"),
    "no outside label": (config(id2label={"0": "B-PER", "1": "I-PER"}, label2id=""), "no tag is O"),
    "an architecture that is not installed": (
        config(architectures=["FutureForTokenClassification"], transformers_version="9.1"),
        "has no FutureForTokenClassification; the model was saved by 9.1: add it in an environment",
    ),
    "another kind of model": (
        config(architectures=["BertForMaskedLM"]),
        "is BertForMaskedLM, not a model for token",
    ),
    "GLiNER2": (
        config(model_type="extractor", architectures=""),
        r"it is a GLiNER2 model: run `make add PLUGIN='gliner\[gliner2\]'`",
    ),
    "a vocabulary of another model": (
        small_embedding,
        "the network 8 embeddings; they are of different models",
    ),
    "nested too deep": (deep, "the model cannot be used .RecursionError."),
    "labels that are no numbers": (
        config(label2id={"O": "x", "B-PER": []}),
        "the model cannot be used .ValueError.",
    ),
    "a list for a width": (config(hidden_size=[32]), "does not load|cannot be used"),
    "an infinite width": (config(hidden_size=float("inf")), "does not load|cannot be used"),
    "no head at all": (config(num_attention_heads=0), "does not load|cannot be used"),
    "positions in words": (
        config(max_position_embeddings="many"),
        "do(?:es)? not load|cannot be used",
    ),
    "architectures that are no names": (
        config(architectures=[None]),
        "not a model for token classification",
    ),
    "no labels": (config(id2label=""), "no id2label"),
    "no configuration": (
        lambda folder: (folder / "config.json").unlink(),
        "no config.json, so no model of transformers",
    ),
    "a model of another library": (
        lambda folder: (folder / "config.json").rename(folder / "gliner_config.json"),
        "make add PLUGIN=gliner",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_that_cannot_be_used_is_one_line(fault, made, tmp_path) -> None:
    harm, message = FAULTS[fault]
    folder, labels = tmp_path / "model", tmp_path / "labels.toml"
    folder.mkdir()
    for file in made.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    labels.write_text('[labels]\nPER = "NAME"\nLOC = "LOCATION"\nDATE = "DATE"\n')
    harm(folder)

    with pytest.raises((PluginError, ConfigError), match=message) as told:
        add(
            ImportRequest(source=str(folder), name="m", out=tmp_path / "out", labels=str(labels)),
            notes(2),
        )
    assert "\n" not in str(told.value)
    assert not list(tmp_path.glob("out*"))


def test_without_a_label_map_one_is_proposed_and_nothing_is_added(made, tmp_path) -> None:
    with pytest.raises(ConfigError, match="check it and give --labels"):
        add(ImportRequest(source=str(made), name="m", out=tmp_path / "out"), notes(2))

    assert '"PER" = "NAME"' in (tmp_path / "m.labels.toml").read_text()
    assert not (tmp_path / "out").exists()


def test_nothing_is_fetched_unless_asked(tmp_path) -> None:
    with pytest.raises(
        PluginError, match="no such folder; give a folder, or a hub name with --fetch"
    ):
        add(ImportRequest(source="someone/model", name="m", out=tmp_path / "out"), notes(2))
    with pytest.raises(PluginError, match="give --revision with the 40 digits of a commit"):
        add(
            ImportRequest(
                source="someone/model", name="m", out=tmp_path / "out", fetch=True, revision="main"
            ),
            notes(2),
        )
