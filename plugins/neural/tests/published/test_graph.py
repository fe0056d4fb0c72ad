"""Models that come as an ONNX graph: taken as they are, and read as their weights would be."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
from families_here import BIO, notes, save

from deid_assets.core.errors import PluginError
from deid_assets.testing import check_detector
from deid_published import PublishedDetector
from deid_published.adding import ClassifierImporter, add
from deid_published.writing import ImportRequest

LABELS = '[labels]\nPER = "NAME"\nLOC = "LOCATION"\nDATE = "DATE"\n'


def added(folder: Path, source: Path, **given: Any) -> dict[str, Any]:
    (folder / "labels.toml").write_text(LABELS)
    options = {
        "source": str(source),
        "name": "mine",
        "out": folder / "mine",
        "labels": str(folder / "labels.toml"),
        **given,
    }
    return dict(add(ImportRequest(**options), notes(4, seed=5)))


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    """A model that was added from its weights.

    Its graph is therefore one that is known to be right.
    """
    folder = tmp_path_factory.mktemp("exported")
    added(folder, save("bert", folder / "weights", tags=BIO))
    return folder


@pytest.fixture(scope="module")
def source(exported, tmp_path_factory) -> Path:
    """The same model as its authors may publish it: a graph in place of weights."""
    folder: Path = tmp_path_factory.mktemp("published") / "graph"
    shutil.copytree(exported / "weights", folder)
    (folder / "model.safetensors").unlink()
    (folder / "onnx").mkdir()
    shutil.copyfile(exported / "mine" / "model.onnx", folder / "onnx" / "model.onnx")
    return folder


@pytest.fixture(scope="module")
def taken(source, tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("taken")
    added(folder, source)
    return folder / "mine"


def test_a_graph_finds_what_the_export_of_its_weights_finds(exported, taken) -> None:
    ours, theirs = (
        [
            set(spans)
            for spans in PublishedDetector(model=folder, threads=1).detect(notes(20, seed=8))
        ]
        for folder in (taken, exported / "mine")
    )

    assert ours == theirs
    assert sum(map(len, ours)) > 20


def test_a_graph_is_taken_byte_for_byte_and_the_card_says_so(source, taken) -> None:
    card = json.loads((taken / "published.json").read_text())

    assert (taken / "model.onnx").read_bytes() == (source / "onnx" / "model.onnx").read_bytes()
    assert card["files"]["model.onnx"] == card["source_files"]["onnx/model.onnx"]
    assert "parity" not in card
    assert (
        "onnx/model.onnx is taken as it is, with no network to compare"
        in ClassifierImporter().said(card)
    )


def test_a_graph_that_was_added_keeps_the_contract(taken) -> None:
    check_detector(PublishedDetector(model=taken, threads=1))


def test_another_graph_than_the_one_that_was_added_is_refused(taken, tmp_path) -> None:
    shutil.copytree(taken, tmp_path / "copy")
    (tmp_path / "copy" / "model.onnx").write_bytes(b"another")

    with pytest.raises(PluginError, match="not the file that was added"):
        PublishedDetector(model=tmp_path / "copy")


def test_weights_go_before_a_graph(exported, tmp_path) -> None:
    shutil.copytree(exported / "weights", tmp_path / "both")
    (tmp_path / "both" / "model.onnx").write_bytes(b"never read")

    assert added(tmp_path, tmp_path / "both")["parity"]["differing_spans"] == 0


def test_a_graph_is_added_without_pytorch(source, tmp_path, monkeypatch) -> None:
    for name in ("torch", "transformers", "safetensors", "deid_published.export"):
        monkeypatch.setitem(sys.modules, name, None)

    assert added(tmp_path, source)["check"]["notes"] == 4


def graph(change) -> Any:
    def harm(folder: Path) -> None:
        path = folder / "onnx" / "model.onnx"
        model = onnx.load(path)
        change(model.graph)
        onnx.save(model, path)

    return harm


def config(**changes: Any) -> Any:
    def harm(folder: Path) -> None:
        values = json.loads((folder / "config.json").read_text()) | changes
        (folder / "config.json").write_text(json.dumps(values))

    return harm


def rename_input(found: Any) -> None:
    found.input[1].name = "position_ids"
    for node in found.node:
        names = ["position_ids" if name == "attention_mask" else name for name in node.input]
        node.input[:] = names


def short_numbers(found: Any) -> None:
    cast = onnx.helper.make_node("Cast", ["input_ids"], ["wide"], to=onnx.TensorProto.INT64)
    for node in found.node:
        node.input[:] = ["wide" if name == "input_ids" else name for name in node.input]
    found.node.insert(0, cast)
    found.input[0].type.tensor_type.elem_type = onnx.TensorProto.INT32


def second_output(found: Any) -> None:
    found.output.append(found.output[0])
    found.node.append(onnx.helper.make_node("Identity", ["emissions"], ["again"]))
    found.output[1].name = "again"


def half_numbers(found: Any) -> None:
    cast = onnx.helper.make_node("Cast", ["emissions"], ["half"], to=onnx.TensorProto.FLOAT16)
    found.node.append(cast)
    found.output[0].name = "half"
    found.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT16


def no_numbers(found: Any) -> None:
    found.node.append(onnx.helper.make_node("Sub", ["emissions", "emissions"], ["nought"]))
    found.node.append(onnx.helper.make_node("Div", ["nought", "nought"], ["none"]))
    found.output[0].name = "none"


def cut(folder: Path) -> None:
    path = folder / "onnx" / "model.onnx"
    path.write_bytes(path.read_bytes()[:-2000])


def greater_window(folder: Path) -> None:
    config(max_position_embeddings=300)(folder)
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 300}')


def greater_vocabulary(folder: Path) -> None:
    values = json.loads((folder / "tokenizer.json").read_text())
    words = values["model"]["vocab"]
    words["unheard"] = 10 * len(words)
    (folder / "tokenizer.json").write_text(json.dumps(values))


TAGS = {str(number): tag for number, tag in enumerate(BIO[:5])}
FAULTS = {
    "no tokenizer": (
        lambda folder: (folder / "tokenizer.json").unlink(),
        "no tokenizer.json, so spans cannot be placed",
    ),
    "a broken tokenizer": (
        lambda folder: (folder / "tokenizer.json").write_text("{}"),
        "is no tokenizer",
    ),
    "settings that are none": (
        lambda folder: (folder / "tokenizer_config.json").write_text("[]"),
        "tokenizer_config.json: not a configuration",
    ),
    "two graphs": (
        lambda folder: shutil.copyfile(folder / "onnx" / "model.onnx", folder / "model_q4.onnx"),
        "it has 2 graphs, model_q4.onnx, onnx/model.onnx; keep the one to be used",
    ),
    "weights elsewhere": (
        lambda folder: (folder / "onnx" / "model.onnx_data").write_bytes(b""),
        "its weights lie in model.onnx_data; save it as one file",
    ),
    "a graph that is cut off": (cut, "does not load in ONNX Runtime"),
    "a graph that is none": (
        lambda folder: (folder / "onnx" / "model.onnx").write_text("<html>"),
        "does not load in ONNX Runtime",
    ),
    "an input that no text has": (graph(rename_input), "it takes position_ids; a graph is taken"),
    "short numbers": (graph(short_numbers), r"it takes input_ids: tensor\(int32\)"),
    "two outputs": (graph(second_output), "it gives emissions: .*, again: .*; a token classifier"),
    "half numbers": (graph(half_numbers), r"it gives half: tensor\(float16\)"),
    "scores that are no numbers": (graph(no_numbers), "or some that are no numbers"),
    "fewer labels than scores": (
        config(id2label=TAGS, label2id={tag: int(at) for at, tag in TAGS.items()}),
        r"it gives scores of shape \(2, 66, 7\) and not \(2, 66, 5\)",
    ),
    "more positions than the graph has": (
        greater_window,
        "it does not read 300 sub-tokens .* or --window must be shorter",
    ),
    "a vocabulary of another model": (
        greater_vocabulary,
        "with the last token of tokenizer.json .* are of different models",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_graph_that_cannot_be_used_is_one_line_and_nothing_is_written(
    fault, source, tmp_path
) -> None:
    harm, message = FAULTS[fault]
    folder = tmp_path / "model"
    shutil.copytree(source, folder)
    harm(folder)

    with pytest.raises(PluginError, match=message) as told:
        added(tmp_path, folder)
    assert "\n" not in str(told.value)
    assert not list(tmp_path.glob("mine*"))
