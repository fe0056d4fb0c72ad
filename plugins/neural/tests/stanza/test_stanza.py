"""Pipelines that Stanza's own trainers made, from a folder.

The entities are the library's, at exact offsets.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tiny_stanza import save

from deid_assets import Note, Phi
from deid_assets.core.errors import ConfigError, PluginError
from deid_assets.testing import check_detector
from deid_stanza import StanzaDetector, StanzaImporter

MAP = '[labels]\nPER = "NAME"\nDATE = "DATE"\n'
TEXT = "Vu par Dupont le 3 mai.\nVu par  Martin \U0001f600 le 12\tjuin.\r\n"


def added(folder: Path, source: Path, *, text: str = MAP, **given: Any) -> Path:
    (folder / "labels.toml").write_text(text)
    options = {
        "source": str(source),
        "name": "mine",
        "out": folder / "mine",
        "labels": str(folder / "labels.toml"),
    }
    StanzaImporter().add({**options, **given}, [Note("n", TEXT)])
    return folder / "mine"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return save(tmp_path_factory.mktemp("stanza") / "stanza_resources")


@pytest.fixture(scope="module")
def detector(source, tmp_path_factory) -> StanzaDetector:
    return StanzaDetector(model=added(tmp_path_factory.mktemp("added"), source))


def test_the_entities_are_the_librarys_where_they_stand(source, detector) -> None:
    import stanza

    assert StanzaImporter().recognises(source)
    texts = [TEXT, TEXT * 30]
    made = stanza.Pipeline(
        "fr", dir=str(source.parent), processors="tokenize,ner", download_method=None, verbose=False
    )
    theirs = [
        [(found.start_char, found.end_char, found.type) for found in made(text).ents]
        for text in texts
    ]
    found = [
        list(spans)
        for spans in detector.detect([Note(f"n{at}", text) for at, text in enumerate(texts)])
    ]

    assert [
        [(span.start, span.end, span.native_label or span.label.value) for span in spans]
        for spans in found
    ] == theirs
    assert "Dupont" in {TEXT[span.start : span.end] for span in found[0] if span.label is Phi.NAME}
    assert len(found[1]) > 60


@pytest.mark.long
def test_the_detector_keeps_the_contract(detector) -> None:
    check_detector(detector)

    assert detector.labels == {Phi.NAME, Phi.DATE}


def test_a_label_that_is_not_decided_stops_the_model(source, tmp_path) -> None:
    with pytest.raises(ConfigError, match='does not decide 1 labels; add "DATE" = "DATE"'):
        added(tmp_path, source, text='[labels]\nPER = "NAME"\n')
    with pytest.raises(ConfigError, match="check it and give --labels"):
        added(tmp_path, source, labels="")

    assert '"PER" = "NAME"' in (tmp_path / "mine.labels.toml").read_text()


def test_a_device_that_is_not_there_is_an_error(source, tmp_path) -> None:
    out = added(tmp_path, source)
    with pytest.raises(PluginError, match="device 'cuda:99' is not there"):
        StanzaDetector(model=out, device="cuda:99")


def nameless(folder: Path) -> None:
    (folder.parent / "resources.json").write_text("{}")


def without(name: str):
    return lambda folder: shutil.rmtree(folder / name)


def cut(folder: Path) -> None:
    file = folder / "ner" / "tiny.pt"
    file.write_bytes(file.read_bytes()[:1000])


FAULTS = {
    "no such language": (nameless, "it does not name 'fr'; download the language again"),
    "no tokenizer": (
        without("tokenize"),
        "the pipeline does not load .*needs the models of tokenize",
    ),
    "a model that is cut off": (cut, "the pipeline does not load"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_pipeline_that_cannot_be_used_is_one_line(fault, source, tmp_path) -> None:
    harm, message = FAULTS[fault]
    folder = tmp_path / "resources" / "fr"
    shutil.copytree(source, folder)
    shutil.copyfile(source.parent / "resources.json", folder.parent / "resources.json")
    harm(folder)

    with pytest.raises(PluginError, match=message) as told:
        added(tmp_path, folder)
    assert "\n" not in str(told.value)
    assert not list(tmp_path.glob("mine*"))


def test_a_file_that_is_another_is_told(detector, source, tmp_path) -> None:
    out = added(tmp_path, source)
    file = out / "model" / "fr" / "ner" / "tiny.pt"
    file.write_bytes(file.read_bytes() + b" ")

    with pytest.raises(PluginError, match="not the file that was added"):
        StanzaDetector(model=out)
