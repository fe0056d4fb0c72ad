"""The model that comes with the plugin, and its detector."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

import numpy as np
import pytest

from deid_assets import Note
from deid_assets.extending import ConfigError, PluginError
from deid_assets.testing import check_detector, check_offline
from deid_compact import CompactDetector
from deid_compact.detector import PACKAGED

DEV = Path(__file__).resolve().parents[3] / "corpora" / "composed" / "dev"
MOST_BYTES = 10_000_000


@pytest.fixture(scope="module")
def detector() -> CompactDetector:
    return CompactDetector()


def test_the_files_are_those_of_the_model_card() -> None:
    card = json.loads((PACKAGED / "card.json").read_text(encoding="utf-8"))
    for name, digest in card["files"].items():
        assert hashlib.sha256((PACKAGED / name).read_bytes()).hexdigest() == digest
    assert sum(path.stat().st_size for path in PACKAGED.iterdir()) < MOST_BYTES
    assert not any("test" in corpus["name"] for corpus in card["corpora"])


def test_it_keeps_the_contract_of_a_detector(detector: CompactDetector) -> None:
    check_detector(detector)


def test_it_opens_no_connection() -> None:
    found = check_offline(
        CompactDetector, Note("a", "Seen by Dr. Anna Lee on 3 May 2021, MRN 4411223.", lang="en")
    )
    assert len(found) > 1


@pytest.mark.long
def test_it_adds_to_rules_on_messy_notes(detector: CompactDetector) -> None:
    notes = [
        json.loads(line)
        for path in sorted(DEV.glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    given = [Note(note["id"], note["text"], lang=note["lang"]) for note in notes]
    both = _covered(notes, detector.detect(given))
    rules_alone = _covered(notes, CompactDetector(threshold=0.999, veto=0.0).detect(given))
    assert both > rules_alone + 0.1


def test_it_reads_on_the_thread_that_asks(detector: CompactDetector) -> None:
    text = "Seen by Dr. Anna Lee on 3 May 2021, then by the ward of St. Brigid's. " * 40
    notes = [Note(f"n{number}", text, lang="en") for number in range(40)]
    list(detector.detect(notes[:1]))
    of_process = time.process_time()
    of_thread = time.thread_time()
    list(detector.detect(notes))
    of_thread = time.thread_time() - of_thread
    of_process = time.process_time() - of_process
    assert of_process - of_thread < 0.2 * of_thread


def _covered(notes: list[dict], found: object) -> float:
    covered = 0
    marked = 0
    for note, spans in zip(notes, found, strict=True):
        at = np.zeros(len(note["text"]), dtype=bool)
        for span in spans:
            at[span.start : span.end] = True
        for span in note["spans"]:
            if span["label"] != "PROFESSION":
                marked += span["end"] - span["start"]
                covered += int(at[span["start"] : span["end"]].sum())
    return covered / marked


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t ",
        "\U0001f600" * 500,
        "\u05d3\u05e8 \u05dc\u05d5\u05d9 12/3/2020",
        "a" * 50_000,
        "\ufeff0\u0660\u0966",
    ],
    ids=["empty", "blank", "emoji", "right to left", "one long word", "digits of other scripts"],
)
def test_odd_notes_are_read(detector: CompactDetector, text: str) -> None:
    (spans,) = detector.detect([Note("odd", text)])
    assert all(0 <= span.start < span.end <= len(text) for span in spans)


def test_options_are_part_of_the_version() -> None:
    versions = {CompactDetector(threshold=value).version for value in (None, 0.5, 0.9)}
    assert len(versions) == 3


@pytest.mark.parametrize("options", [{"threshold": 1.0}, {"veto": -0.1}])
def test_a_wrong_option_is_named(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        CompactDetector(**options)


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"tagger\.json"):
        CompactDetector(model=tmp_path)
