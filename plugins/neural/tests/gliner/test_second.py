"""GLiNER2 models from a folder.

The entities are the library's, long notes are read to their end, faults are one line.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tiny_gliner import MAP, PROMPTS, notes, save_second

from deid_assets import Note, Phi
from deid_assets.core.errors import ConfigError, PluginError
from deid_assets.testing import check_detector
from deid_gliner.second import Gliner2Detector, Gliner2Importer

pytest.importorskip("gliner2")


def added(folder: Path, source: Path, **given: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "labels.toml").write_text(MAP)
    options = {
        "source": str(source),
        "name": "mine",
        "out": folder / "mine",
        "labels": str(folder / "labels.toml"),
    }
    Gliner2Importer().add({**options, **given}, notes(2, seed=5))
    return folder / "mine"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return save_second(tmp_path_factory.mktemp("gliner2") / "tiny")


@pytest.fixture(scope="module")
def detector(source, tmp_path_factory) -> Gliner2Detector:
    return Gliner2Detector(model=added(tmp_path_factory.mktemp("added"), source, window=40))


def test_the_entities_are_the_librarys(source, detector) -> None:
    from gliner2 import AutoExtractor

    model = AutoExtractor.from_pretrained(str(source), local_files_only=True).eval()
    some = [note for note in notes(10) if len(note.text.split()) < 16]
    theirs = []
    for note in some:
        found = model.extract_entities(
            note.text, list(PROMPTS), threshold=0.5, include_spans=True, overlap_policy="nested"
        )["entities"]
        inside = {(one["start"], one["end"], prompt) for prompt, of in found.items() for one in of}
        # The library puts a full stop behind the text, which is a word for it.
        theirs.append(
            {
                (start, start + len(note.text[start:end].rstrip()), prompt)
                for start, end, prompt in inside
                if prompt != "disease" and note.text[start:end].strip()
            }
        )

    assert Gliner2Importer().recognises(source)
    assert sum(map(len, theirs)) > 10
    assert [
        {(span.start, span.end, span.native_label) for span in spans}
        for spans in detector.detect(some)
    ] == theirs


def test_a_long_note_is_read_to_its_end(detector) -> None:
    (note,) = [note for note in notes(7) if len(note.text) > 500]
    # more sub-tokens than the encoder has positions
    (found,) = detector.detect([Note("n", note.text * 4)])

    assert max(span.end for span in found) > 0.9 * 4 * len(note.text)


@pytest.mark.slow
def test_the_detector_keeps_the_contract(detector) -> None:
    check_detector(detector)


def test_a_device_that_is_not_there_is_an_error(source, tmp_path) -> None:
    out = added(tmp_path, source)
    with pytest.raises(PluginError, match="device 'cuda:99' is not there"):
        Gliner2Detector(model=out, device="cuda:99")


def test_what_it_finds_is_what_its_map_says_and_a_blank_note_has_nothing(detector) -> None:
    assert detector.labels == {Phi.NAME, Phi.DATE, Phi.PHONE}
    assert not any(list(spans) for spans in detector.detect([Note("n", " ")]))


def test_without_a_label_map_prompts_are_proposed(source, tmp_path) -> None:
    with pytest.raises(ConfigError, match="check it and give --labels"):
        added(tmp_path, source, labels="")

    assert '"person" = "NAME"' in (tmp_path / "mine.labels.toml").read_text()


def code(folder: Path) -> None:
    path = folder / "encoder_config" / "config.json"
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"auto_map": {"AutoModel": "own.Model"}})
    )


def cut(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:1000])


FAULTS = {
    "code of its own": (code, "it brings code of its own, which is not run"),
    "no weights": (
        lambda folder: (folder / "model.safetensors").unlink(),
        "no model.safetensors and no pytorch_model",
    ),
    "truncated weights": (cut, "the model does not load"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_that_cannot_be_used_is_one_line(fault, source, tmp_path) -> None:
    harm, message = FAULTS[fault]
    shutil.copytree(source, tmp_path / "model")
    harm(tmp_path / "model")

    with pytest.raises(PluginError, match=message) as told:
        added(tmp_path / "here", tmp_path / "model")
    assert "\n" not in str(told.value)
    assert not list((tmp_path / "here").glob("mine*"))
