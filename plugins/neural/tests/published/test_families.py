"""Each family against the pipeline of the library that its models are published for.

The same spans.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import transformers
from families_here import BILOU, BIOES, EVERY, FAMILIES, notes, save

from deid_assets import Note
from deid_assets.core.errors import PluginError
from deid_assets.testing import check_detector
from deid_published import PublishedDetector
from deid_published.adding import add
from deid_published.aggregation import PIPELINES
from deid_published.viterbi import CALIBRATION
from deid_published.writing import ImportRequest

LABELS = """
[labels]
PER = "NAME"
LOC = "LOCATION"
DATE = "DATE"
PATIENT = "NAME"
STAFF = "NAME"
HCW = "NAME"
MISC = "none"
private_person = "NAME"
private_date = "DATE"
"""


def added(folder: Path, family: str, **given: Any) -> tuple[Path, Path]:
    source, out, labels = folder / family, folder / f"{family}-added", folder / "labels.toml"
    labels.write_text(LABELS.replace('"none"', '"OTHER"') if given.pop("all_phi", True) else LABELS)
    save(family, source, tags=given.pop("tags", None))
    options = {"source": str(source), "name": family, "out": out, "labels": str(labels), **given}
    add(ImportRequest(**options), notes(4, seed=5))
    return source, out


def pipeline_spans(pipe: Any, text: str) -> set[tuple[int, int, str]]:
    found = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entities = pipe(text)
    for entity in entities:
        inside = text[entity["start"] : entity["end"]]
        start = entity["start"] + len(inside) - len(inside.lstrip())
        end = entity["start"] + len(inside.rstrip())
        if start < end:
            found.add((start, end, entity["entity_group"]))
    return found


def our_spans(detector: PublishedDetector, some: list[Note]) -> list[set[tuple[int, int, str]]]:
    return [
        {(span.start, span.end, span.native_label or span.label.value) for span in spans}
        for spans in detector.detect(some)
    ]


def compared(source: Path, out: Path, some: list[Note], aggregation: str) -> tuple[int, int]:
    """Return the spans of the pipeline, and those that one of the two alone finds."""
    card = json.loads((out / "published.json").read_text())
    (out / "published.json").write_text(json.dumps({**card, "aggregation": aggregation}))
    pipe = transformers.pipeline(
        "token-classification", str(source), aggregation_strategy=aggregation, device="cpu"
    )
    theirs = [pipeline_spans(pipe, note.text) for note in some]
    ours = our_spans(PublishedDetector(model=out, threads=1), some)
    return sum(map(len, theirs)), sum(len(a ^ b) for a, b in zip(ours, theirs, strict=True))


def short(some: list[Note]) -> list[Note]:
    """Notes that no window cuts: what is longer, the pipeline cuts off."""
    return [note for note in some if len(note.text) < 60]


def family_of(name: str) -> Any:
    missing = pytest.mark.skipif(
        name not in FAMILIES,
        reason=f"transformers {transformers.__version__} has no {EVERY[name][0]}",
    )
    return pytest.param(name, marks=missing)


@pytest.mark.slow
@pytest.mark.parametrize("family", [family_of(name) for name in EVERY])
def test_the_spans_are_the_pipelines(family, tmp_path) -> None:
    source, out = added(tmp_path, family, words="pipeline")

    for aggregation in PIPELINES:
        spans, differing = compared(source, out, short(notes(200)), aggregation)
        assert spans > 50
        assert differing == 0, aggregation


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> tuple[Path, Path]:
    return added(tmp_path_factory.mktemp("bert"), "bert", words="pipeline")


def test_the_spans_of_one_family_are_the_pipelines(bert) -> None:
    spans, differing = compared(*bert, short(notes(60)), "first")

    assert spans > 20
    assert differing == 0


def test_a_long_note_is_read_to_its_end_and_each_part_as_in_a_short_one(bert) -> None:
    detector = PublishedDetector(model=bert[1], threads=1)
    (long,) = [note for note in notes(7) if len(note.text) > 1000]
    (found,) = our_spans(detector, [long])

    assert max(end for _, end, _ in found) > 0.9 * len(long.text)
    assert all(long.text[start:end].strip() == long.text[start:end] for start, end, _ in found)


def test_the_detector_keeps_the_contract(bert) -> None:
    check_detector(PublishedDetector(model=bert[1], threads=1, name="mine"))


def test_the_card_says_where_the_model_comes_from_and_its_files_are_pinned(bert, tmp_path) -> None:
    _, out = bert
    card = json.loads((out / "published.json").read_text())

    assert set(card["source_files"]) >= {"config.json", "model.safetensors", "tokenizer.json"}
    assert card["parity"]["differing_spans"] == 0
    assert (card["scheme"], card["architecture"]) == ("plain", "BertForTokenClassification")
    for name in ("model.onnx", "tokenizer.json"):
        copy = tmp_path / name / "copy"
        copy.mkdir(parents=True)
        for file in out.iterdir():
            (copy / file.name).write_bytes(file.read_bytes())
        (copy / name).write_bytes((copy / name).read_bytes() + b" ")
        with pytest.raises(PluginError, match="not the file that was added"):
            PublishedDetector(model=copy)


@pytest.mark.slow
def test_labels_that_are_no_phi_are_left_out(tmp_path) -> None:
    _, out = added(tmp_path, "camembert", all_phi=False)
    found = our_spans(PublishedDetector(model=out), notes(20))

    assert any(found)
    assert all(label != "MISC" for spans in found for *_, label in spans)


@pytest.mark.slow
def test_bilou_is_read_as_such(tmp_path) -> None:
    _, out = added(tmp_path, "electra", tags=BILOU)

    assert json.loads((out / "published.json").read_text())["scheme"] == "bilou"
    assert any(our_spans(PublishedDetector(model=out), notes(20)))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["electra", family_of("privacy-filter")])
def test_tags_that_may_not_follow_one_another_are_not_taken_together(family, tmp_path) -> None:
    source, out = added(tmp_path, family, tags=BIOES, aggregation="viterbi")
    (source / CALIBRATION).write_text(
        json.dumps(
            {"operating_points": {"default": {"biases": {"transition_bias_background_stay": 1.0}}}}
        )
    )
    options = {
        "source": str(source),
        "name": "careful",
        "out": tmp_path / "careful",
        "aggregation": "viterbi",
    }
    add(ImportRequest(**options, labels=str(tmp_path / "labels.toml")), notes(4, seed=5))
    neutral, careful = (
        PublishedDetector(model=one, threads=1) for one in (out, tmp_path / "careful")
    )
    same = PublishedDetector(model=out, threads=1, biases={"background_stay": 1.0})
    counts = [sum(map(len, our_spans(one, notes(30)))) for one in (careful, neutral)]

    assert counts[0] < counts[1]
    assert our_spans(careful, notes(30)) == our_spans(same, notes(30))
    assert len({neutral.version, careful.version, same.version}) == 3
