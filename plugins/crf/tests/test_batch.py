"""The batch CRF: what it adds to the detector that it learns from, and what it refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deid_assets.core.errors import ConfigError, PluginError, TrainingError
from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans
from deid_assets.core.tagging import TagScheme
from deid_assets.core.trainer import Document, Task, label_inventory
from deid_assets.plugins import available, load
from deid_assets.testing import check_detector, parse_marked
from deid_crf import BatchCrfDetector, BatchCrfTrainer
from deid_crf.batch.coarse import half_of

pytestmark = pytest.mark.skipif("rules" not in available(), reason="deid-rules is not installed")

FIRST = [
    "Mary",
    "John",
    "Linda",
    "Robert",
    "Susan",
    "James",
    "Karen",
    "Peter",
    "Laura",
    "Thomas",
    "Emma",
    "Daniel",
]
LAST = [
    "Miller",
    "Johnson",
    "Taylor",
    "Wilson",
    "Moore",
    "Clark",
    "Lewis",
    "Walker",
    "Young",
    "Allen",
    "King",
    "Wright",
]
STORIES = (
    "Cough, no fever.",
    "Knee pain after a fall.",
    "Slept well, eats little.",
    "Wound is dry and clean.",
)
UNKNOWN = "Xelda Vrontiq"
"""No list of names holds it."""


def letter(number: int, name: str) -> Note:
    text = (
        f"Ward round, bed {number % 9 + 1}\nnurse in charge > {name} >"
        f" evening\n{STORIES[number % 4]}\n"
    )
    return Note(f"n{number}", text, f"p{number}", "en")


def batch() -> list[Note]:
    names = [f"{FIRST[at % 12]} {LAST[(at * 5 + at // 12) % 12]}" for at in range(60)]
    return [letter(at, name) for at, name in enumerate(names)]


def given() -> list[Document]:
    texts = [
        f"Patient: <NAME>{a} {b}</NAME>\n{c}\n"
        for a, b, c in zip(FIRST, LAST, STORIES * 3, strict=True)
    ]
    pairs = [parse_marked(text, note_id=f"g{number}") for number, text in enumerate(texts)]
    return [Document(note, DisjointSpans.of(note, spans)) for note, spans in pairs]


def train(out: Path, raw: Sequence[Note], **settings: Any) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    trainer = BatchCrfTrainer()
    task = Task(
        phases=[given()],
        dev=[],
        labels=label_inventory(given(), native=False),
        native=False,
        scheme=TagScheme.BIO,
        grouping=1,
        seed=1,
        settings=trainer.settings({"max_iterations": 20, **settings}),
        raw=raw,
    )
    trainer.train(task, out, lambda _: None)
    return out


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("batch") / "model", batch(), least={"NAME": 0.4})


def words(note: Note, spans: object) -> set[str]:
    return {note.text[span.start : span.end] for span in spans}  # type: ignore[attr-defined]


def test_a_name_that_rules_miss_is_read_off_the_others_of_the_batch(model: Path) -> None:
    note = letter(70, UNKNOWN)
    (by_rules,) = load("rules").detect([note])

    (found,) = BatchCrfDetector(model=model).detect([note])

    assert UNKNOWN not in words(note, by_rules)
    assert UNKNOWN in words(note, found)


def test_what_rules_found_of_the_four_categories_stays(model: Path) -> None:
    notes = batch()[:12]
    detector = BatchCrfDetector(model=model)
    found_by_rules = list(load("rules").detect(notes))

    for by_rules, found in zip(found_by_rules, detector.detect(notes), strict=True):
        covered = {at for span in found for at in range(span.start, span.end)}
        wanted = {
            at
            for span in by_rules
            if span.label in detector.labels
            for at in range(span.start, span.end)
        }
        assert wanted <= covered
    assert sum(map(len, found_by_rules)) >= 6


def test_a_note_is_found_in_alike_alone_and_among_others(model: Path) -> None:
    detector = BatchCrfDetector(model=model)
    check_detector(detector)
    notes = [*batch(), letter(70, UNKNOWN)]

    together = list(detector.detect(notes))

    assert [spans for note in reversed(notes) for spans in detector.detect([note])] == together[
        ::-1
    ]


def test_no_note_is_read_by_the_crf_that_learnt_from_it(model: Path, tmp_path: Path) -> None:
    """What is learnt of half 0 is put out of order.

    Only notes of half 1, which it reads, are found in otherwise.
    """
    altered = tmp_path / "model"
    shutil.copytree(model, altered)
    shutil.copytree(altered / "given", altered / "half-0", dirs_exist_ok=True)
    notes = [letter(number, UNKNOWN) for number in range(100, 120)]

    whole, other = (BatchCrfDetector(model=each) for each in (model, altered))

    differ = {
        half_of(note)
        for note, a, b in zip(notes, whole.detect(notes), other.detect(notes), strict=True)
        if a != b
    }
    assert {half_of(note) for note in notes} == {0, 1}
    assert differ == {1}
    assert whole.version != other.version


def test_a_batch_gives_one_model_whatever_its_order(model: Path, tmp_path: Path) -> None:
    again = train(tmp_path / "again", batch()[::-1], least={"NAME": 0.4})
    less = train(tmp_path / "less", batch()[:50], least={"NAME": 0.4})

    assert BatchCrfDetector(model=again).version == BatchCrfDetector(model=model).version
    assert BatchCrfDetector(model=less).version != BatchCrfDetector(model=model).version


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([], "and there are none: name them with --raw"),
        (
            batch()[:8],
            "one half of the 8 notes has .* are the least to learn from: give more raw notes",
        ),
        (
            [Note(f"n{at}", "No fever. Slept well.", f"p{at}", "en") for at in range(40)],
            "has 0 names, places",
        ),
        (
            [Note(f"n{at}", each.text, "one", "en") for at, each in enumerate(batch())],
            "of 0 patients|of 1 patients",
        ),
    ],
)
def test_a_batch_that_says_too_little_is_refused(
    raw: Sequence[Note], message: str, tmp_path: Path
) -> None:
    with pytest.raises(TrainingError, match=message):
        train(tmp_path / "model", raw)
    assert not (tmp_path / "model" / "tagger.json").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"predictions_of": ""}, "must name the detector to learn from"),
        ({"least": {"PHONE": 0.5}}, "one or more of NAME, LOCATION, DATE, ORGANIZATION"),
        ({"least": {"NAME": 2}}, "least.NAME must be a number from 0 to 1"),
        ({"min_owners": 0}, "min_owners must be a whole number from 1"),
        ({"c2": 0.1}, "unknown c2"),
    ],
)
def test_a_wrong_setting_is_told(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BatchCrfTrainer().settings(settings)


def test_a_folder_that_is_no_whole_batch_model_is_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no batch CRF"):
        BatchCrfDetector(model=model / "given")
    cut = tmp_path / "cut"
    shutil.copytree(model, cut)
    shutil.rmtree(cut / "half-1")
    with pytest.raises(ConfigError, match="half-1"):
        BatchCrfDetector(model=cut)
    about = json.loads((model / "tagger.json").read_text())
    shutil.copytree(model, tmp_path / "asks")
    (tmp_path / "asks" / "tagger.json").write_text(
        json.dumps({**about, "predictions_of": "nobody"})
    )
    with pytest.raises(PluginError, match="whose labels it learnt"):
        BatchCrfDetector(model=tmp_path / "asks")
