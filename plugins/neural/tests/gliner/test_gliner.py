"""GLiNER models from a folder.

The spans are the library's, long notes are read to their end, and faults are one line.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_gliner import MAP, PROMPTS, notes, save

from deid_assets import Note, Phi
from deid_assets.core.errors import ConfigError, PluginError
from deid_assets.testing import check_detector
from deid_gliner import GlinerDetector
from deid_gliner.adding import GlinerImporter
from deid_gliner.network import load, parts


def added(folder: Path, source: Path, *, text: str = MAP, **given: Any) -> Path:
    (folder / "labels.toml").write_text(text)
    options = {
        "source": str(source),
        "name": "mine",
        "out": folder / "mine",
        "labels": str(folder / "labels.toml"),
    }
    GlinerImporter().add({**options, **given}, notes(6, seed=5))
    return folder / "mine"


def library_spans(source: Path, some: list[Note]) -> list[set[tuple[int, int, str]]]:
    from gliner import GLiNER

    model = GLiNER.from_pretrained(str(source), local_files_only=True)
    return [
        {
            (found["start"], found["end"], found["label"])
            for found in model.predict_entities(
                note.text, list(PROMPTS), flat_ner=False, threshold=0.5
            )
            if found["label"] != "disease"
        }
        for note in some
    ]


def our_spans(detector: GlinerDetector, some: list[Note]) -> list[set[tuple[int, int, str]]]:
    return [
        {(span.start, span.end, span.native_label) for span in spans}
        for spans in detector.detect(some)
    ]


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return save(tmp_path_factory.mktemp("gliner") / "tiny")


@pytest.fixture(scope="module")
def model(source, tmp_path_factory) -> Path:
    return added(tmp_path_factory.mktemp("added"), source)


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_the_spans_are_the_librarys(source, model, count) -> None:
    some = [note for note in notes(count) if len(note.text.split()) < 16]
    theirs = library_spans(source, some)

    assert sum(map(len, theirs)) > 50
    assert our_spans(GlinerDetector(model=model, threads=1), some) == theirs
    assert json.loads((model / "published.json").read_text())["runtime"] == "onnx"


def test_a_long_note_is_read_to_its_end(source, model) -> None:
    (note,) = [note for note in notes(7) if len(note.text) > 500]
    (cut,), (found,) = (
        library_spans(source, [note]),
        our_spans(GlinerDetector(model=model, threads=1), [note]),
    )

    assert max(end for _, end, _ in found) > 0.95 * len(note.text) > max(end for _, end, _ in cut)
    assert all(note.text[start:end].strip() == note.text[start:end] for start, end, _ in found)


@settings(max_examples=200, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9), max_size=60),
    words=st.integers(2, 12),
    room=st.integers(1, 20),
)
def test_windows_hold_every_word_and_no_more_than_there_is_room_for(sizes, words, room) -> None:
    found = list(parts(len(sizes), sizes, words=words, overlap=words // 3, room=room))

    assert {at for first, last in found for at in range(first, last)} == set(range(len(sizes)))
    assert all(last - first <= words for first, last in found)
    assert all(sum(sizes[first:last]) <= room or last - first == 1 for first, last in found)


def test_the_detector_keeps_the_contract_and_a_higher_threshold_finds_less(model) -> None:
    detector = GlinerDetector(model=model, threads=1, name="mine")
    check_detector(detector)

    assert detector.labels == {Phi.NAME, Phi.DATE, Phi.PHONE}
    low, high = (
        our_spans(GlinerDetector(model=model, threads=1, threshold=at), notes(12))
        for at in (0.2, 0.8)
    )
    assert all(b <= a for a, b in zip(low, high, strict=True))
    assert sum(map(len, high)) < sum(map(len, low))


def test_hardware_is_named_as_what_runs_the_model_names_it(source, model) -> None:
    with pytest.raises(
        ConfigError, match="it runs with ONNX Runtime; give providers in place of device"
    ):
        GlinerDetector(model=model, device="cpu")
    with pytest.raises(
        ConfigError, match="since it was not exported; give device in place of providers"
    ):
        load(source, threads=1, providers=["cpu"])
    with pytest.raises(PluginError, match="device 'cuda:99' is not there"):
        load(source, threads=1, device="cuda:99")


def test_a_model_of_tokens_whose_weights_are_a_pickle_and_whose_tokenizer_is_its_encoders(
    tmp_path,
) -> None:
    source = save(tmp_path / "tokens", span_mode="token_level", safe=False)
    theirs = library_spans(source, notes(6))
    (source / "backbone").mkdir()
    for file in source.glob("*token*.json"):
        file.rename(source / "backbone" / file.name)
    config = json.loads((source / "gliner_config.json").read_text())
    (source / "backbone" / "config.json").write_text(json.dumps(config.pop("encoder_config")))
    (source / "gliner_config.json").write_text(json.dumps(config))

    out = added(tmp_path, source)

    assert our_spans(GlinerDetector(model=out, threads=1), notes(6)) == theirs
    shutil.rmtree(source / "backbone")
    with pytest.raises(
        PluginError, match=r"copy config\.json and the tokenizer's files of someone/encoder into"
    ):
        added(tmp_path, source)


@pytest.mark.long
@pytest.mark.parametrize(
    "span_mode", ["markerV0", pytest.param("token_level", marks=pytest.mark.slow)]
)
def test_a_bi_encoder_whose_prompts_have_a_tokenizer_of_their_own(tmp_path, span_mode) -> None:
    source = save(tmp_path / "bi", span_mode=span_mode, is_bi=True)
    some = [note for note in notes(12) if len(note.text.split()) < 16]
    theirs = library_spans(source, some)
    config = json.loads((source / "gliner_config.json").read_text())
    # as the authors publish it: a name on the hub
    (source / "labels_tokenizer").rename(source / "labels_encoder")
    (source / "labels_encoder" / "config.json").write_text(
        json.dumps(config.pop("labels_encoder_config"))
    )
    (source / "gliner_config.json").write_text(json.dumps(config))

    out = added(tmp_path, source)

    assert sum(map(len, theirs)) > 10
    assert our_spans(GlinerDetector(model=out, threads=1), some) == theirs
    assert json.loads((out / "published.json").read_text())["runtime"] == "onnx"


def changed(**changes: Any):
    def change(folder: Path) -> None:
        path = folder / "gliner_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.unlink()
    file.write_bytes(b"\x10\0\0\0\0\0\0\0{")


FAULTS = {
    "code of its own": (
        changed(auto_map={"AutoModel": "own.Model"}),
        "it brings code of its own, which is not run",
    ),
    "one that writes its labels": (
        changed(labels_decoder="someone/decoder"),
        "it writes its labels .labels_decoder., which",
    ),
    "a bi-encoder without its labels' tokenizer": (
        changed(labels_encoder="someone/labels"),
        "tokenizer's files of someone/labels into .*labels_encoder",
    ),
    "not JSON": (
        lambda folder: (folder / "gliner_config.json").write_text("{"),
        "gliner_config.json: not JSON",
    ),
    "no weights": (
        lambda folder: (folder / "model.safetensors").unlink(),
        "no model.safetensors and no pytorch_model",
    ),
    "truncated weights": (cut, "the model does not load"),
    "another width": (
        changed(hidden_size=48),
        "weights and gliner_config.json do not fit each other",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_that_cannot_be_used_is_one_line(fault, source, tmp_path) -> None:
    harm, message = FAULTS[fault]
    folder = tmp_path / "model"
    shutil.copytree(source, folder)
    harm(folder)

    with pytest.raises(PluginError, match=message) as told:
        added(tmp_path, folder)
    assert "\n" not in str(told.value)
    assert not list(tmp_path.glob("mine*"))


def test_without_a_label_map_prompts_are_proposed_and_nothing_is_added(source, tmp_path) -> None:
    with pytest.raises(ConfigError, match="check it and give --labels"):
        added(tmp_path, source, labels="")

    assert '"person" = "NAME"' in (tmp_path / "mine.labels.toml").read_text()
    assert "OTHER" not in (tmp_path / "mine.labels.toml").read_text()
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("name", ["model/gliner_config.json", "model/model.onnx"])
def test_a_file_that_is_another_is_told(model, tmp_path, name) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    (copy / name).write_bytes((copy / name).read_bytes() + b" ")

    with pytest.raises(PluginError, match="not the file that was added"):
        GlinerDetector(model=copy)


def test_every_map_that_comes_along_says_how_sure_it_is() -> None:
    for name, choice in GlinerImporter().maps().items():
        assert {"languages", "licence", "size", "sure"} <= set(choice.facts), name
        assert Phi.NAME in choice.labels.values()
