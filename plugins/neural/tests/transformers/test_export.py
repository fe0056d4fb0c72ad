"""What is exported tags as PyTorch does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_tasks import documents, task, train, with_settings

from deid_assets import Note
from deid_assets.core.tagging import TagScheme
from deid_assets.testing import CONTRACT_TEXTS, check_detector
from deid_onnx import OnnxDetector
from deid_onnx.parity import parity
from deid_transformers import TransformersDetector, TransformersTrainer

pytestmark = pytest.mark.long

NOTES = [
    *(document.note for document in documents()),
    *(Note(f"c{number}", text) for number, text in enumerate(CONTRACT_TEXTS)),
]


@pytest.fixture(scope="session")
def exported(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "onnx"
    TransformersTrainer().export(model, out)
    return out


def test_the_fp32_export_gives_the_same_spans_with_the_same_scores(
    model: Path, exported: Path
) -> None:
    torch_spans = list(TransformersDetector(model=model, name="both", threads=1).detect(NOTES))
    onnx_spans = list(OnnxDetector(model=exported, name="both", threads=1).detect(NOTES))

    for left, right in zip(torch_spans, onnx_spans, strict=True):
        places = [(span.start, span.end, span.label, span.native_label) for span in left]
        assert places == [(span.start, span.end, span.label, span.native_label) for span in right]
        assert [span.score for span in left] == pytest.approx(
            [span.score for span in right], abs=2e-4
        )
    assert sum(map(len, torch_spans)) > 10


def test_parity_is_full_at_fp32_and_bounded_below(model: Path, exported: Path) -> None:
    found = {
        one.precision: one
        for one in parity(TransformersDetector(model=model, threads=1).tagger, exported, NOTES)
    }

    assert set(found) == {"fp32", "fp16", "int8"}
    assert found["fp32"].share == 1.0
    assert found["fp32"].largest_difference < 1e-4
    assert found["fp16"].largest_difference < 0.1
    assert found["fp16"].share > 0.99
    # a processor without instructions for it saturates; `deid export` measures it
    assert found["int8"].share > 0.5


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_the_contract_holds_at_every_precision(precision: str, exported: Path) -> None:
    check_detector(OnnxDetector(model=exported, precision=precision, threads=1))


def test_a_trained_chain_is_exported_too(tmp_path: Path) -> None:
    given = with_settings(task(scheme=TagScheme.BIOES), decoder="crf")
    folder = train(given, tmp_path / "crf")

    TransformersTrainer().export(folder, folder / "onnx")

    assert (folder / "onnx" / "transitions.npz").exists()
    fp32 = parity(TransformersDetector(model=folder, threads=1).tagger, folder / "onnx", NOTES)[0]
    assert fp32.share == 1.0


def test_the_export_says_what_it_is(exported: Path) -> None:
    described = json.loads((exported / "tagger.json").read_text())

    assert (described["family"], described["plugin"], described["format"]) == (
        "transformers",
        "transformers",
        1,
    )
    assert {path.name for path in exported.iterdir()} == {
        "tagger.json",
        "tokenizer.json",
        "model.onnx",
        "model.fp16.onnx",
        "model.int8.onnx",
    }
