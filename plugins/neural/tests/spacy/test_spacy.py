"""Pipelines that ``nlp.to_disk`` wrote: the entities are spaCy's.

What every wrapper promises is in tests/wrappers.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.training import Example

from deid_assets import Note, Phi
from deid_assets.core.errors import ConfigError, PluginError, UnknownLabelError
from deid_assets.testing import check_detector
from deid_spacy import SpacyDetector, SpacyImporter

TEXT = "Seen by Dr Lee in Quahog, on C3.\r\n\U0001f600 Lee\tpaid $ 12"
PATTERNS = [
    {"label": "PERSON", "pattern": [{"LOWER": "dr"}, {"IS_TITLE": True}]},
    {"label": "GPE", "pattern": "Quahog"},
    {"label": "WARD", "pattern": "C3"},
]
MAP = '[labels]\nPERSON = "NAME"\nGPE = "LOCATION"\nWARD = "none"\n'


def added(folder: Path, source: Path, *, text: str = MAP, **given: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "labels.toml").write_text(text)
    options = {
        "source": str(source),
        "name": "mine",
        "out": folder / "mine",
        "labels": str(folder / "labels.toml"),
    }
    SpacyImporter().add({**options, **given}, [Note("n", TEXT)])
    return folder / "mine"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns(PATTERNS)
    folder: Path = tmp_path_factory.mktemp("spacy") / "rules"
    nlp.to_disk(folder)
    return folder


@pytest.fixture(scope="module")
def model(source, tmp_path_factory) -> Path:
    return added(tmp_path_factory.mktemp("added"), source)


def test_the_entities_are_spacys_where_they_stand_and_what_is_no_phi_is_left_out(
    source, model
) -> None:
    assert SpacyImporter().recognises(source)
    theirs = {
        (found.start_char, found.end_char, found.label_) for found in spacy.load(source)(TEXT).ents
    }
    (found,) = SpacyDetector(model=model).detect([Note("n", TEXT)])

    assert len(theirs) == 3
    assert {(span.start, span.end, span.native_label) for span in found} == {
        each for each in theirs if each[2] != "WARD"
    }


def test_a_statistical_pipeline_keeps_the_contract(tmp_path) -> None:
    """Untrained weights find nonsense, and must find the same nonsense alone and in a batch."""
    nlp = spacy.blank("en")
    recognizer = nlp.add_pipe("ner")
    recognizer.add_label("PERSON")
    example = Example.from_dict(nlp.make_doc("Seen by Lee"), {"entities": [(8, 11, "PERSON")]})
    nlp.initialize(lambda: [example])
    nlp.to_disk(tmp_path / "ner")

    detector = SpacyDetector(model=added(tmp_path, tmp_path / "ner", labels="spacy_ontonotes"))

    check_detector(detector)
    assert Phi.NAME in detector.labels


def test_a_label_that_is_not_decided_stops_the_pipeline(source, tmp_path) -> None:
    with pytest.raises(ConfigError, match='does not decide 1 labels; add "WARD" = "OTHER"'):
        added(tmp_path, source, text=MAP.replace("WARD", "# WARD"))
    with pytest.raises(ConfigError, match="check it and give --labels"):
        added(tmp_path, source, labels="")

    assert '"PERSON" = "NAME"' in (tmp_path / "mine.labels.toml").read_text()


def test_a_label_that_the_pipeline_did_not_name_is_told(model, monkeypatch) -> None:
    detector = SpacyDetector(model=model)
    monkeypatch.setattr(detector, "_read", lambda _: [(0, 4, "NEW")])

    with pytest.raises(
        UnknownLabelError, match="the pipeline finds 'NEW', which its label map does not decide"
    ):
        list(detector.detect([Note("n", TEXT)]))


def without_entities(folder: Path) -> None:
    shutil.rmtree(folder)
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(folder)


def cut(folder: Path) -> None:
    (folder / "config.cfg").write_text("[nlp]\nlang = en\n")


FAULTS = {
    "no entities": (without_entities, "sets no entities; it has sentencizer"),
    "code of its own": (
        lambda folder: (folder / "own.py").write_text("x = 1"),
        "brings code of its own, which is not run",
    ),
    "a broken configuration": (cut, r"the pipeline does not load \("),
    "a component of another package": (
        lambda folder: (folder / "config.cfg").write_text(
            (folder / "config.cfg")
            .read_text()
            .replace('factory = "entity_ruler"', 'factory = "elsewhere"')
        ),
        r"the pipeline does not load \(ValueError\); it needs .* the package of each component",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_pipeline_that_cannot_be_used_is_one_line(fault, source, tmp_path) -> None:
    harm, message = FAULTS[fault]
    folder = tmp_path / "pipeline"
    shutil.copytree(source, folder)
    harm(folder)

    with pytest.raises(PluginError, match=message) as told:
        added(tmp_path / "here", folder)
    assert "\n" not in str(told.value)
    assert not list((tmp_path / "here").glob("mine*"))


def test_a_folder_that_was_not_added_and_a_file_that_is_another_are_told(
    source, model, tmp_path
) -> None:
    with pytest.raises(PluginError, match="give the folder that `deid models add` wrote"):
        SpacyDetector(model=source)
    shutil.copytree(model, tmp_path / "copy")
    (tmp_path / "copy" / "model" / "config.cfg").write_text("")
    with pytest.raises(PluginError, match="not the file that was added"):
        SpacyDetector(model=tmp_path / "copy")
