"""The commands write what the detector reads, and end with one line where something is wrong."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from models_here import TEXTS
from typer.testing import CliRunner

from deid_assets import Note
from deid_assets.training.pretraining import RECORD
from deid_zero_shot import ZeroShotDetector
from deid_zero_shot.commands import app

ANNOTATED = [
    {
        "id": "a",
        "lang": "en",
        "text": TEXTS[0],
        "spans": [{"start": 9, "end": 18, "label": "NAME"}],
    },
    {
        "id": "b",
        "lang": "en",
        "text": TEXTS[1],
        "spans": [{"start": 12, "end": 15, "label": "NAME"}],
    },
]


@pytest.fixture
def model(folders: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(folders["wordpiece"], tmp_path / "model"))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "dev.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ANNOTATED), encoding="utf-8")
    return path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.output


def test_a_calibrated_model_detects_and_keeps_other_languages(model: Path, notes: Path) -> None:
    code, said = run("calibrate", model, "--notes", notes, "--threads", 1)
    assert code == 0
    assert re.search(
        r"a note took \d+\.\d\d CPU s: [1-9]\d* masked variants in [1-9]\d* runs", said
    )
    assert (
        run(
            "calibrate",
            model,
            "--notes",
            notes,
            "--lang",
            "es",
            "--target",
            "recall=1.0",
            "--threads",
            1,
        )[0]
        == 0
    )

    languages = json.loads((model / "calibration.json").read_text())["languages"]
    assert set(languages) == {"en", "es"}
    assert languages["es"]["recall"] == 1.0
    assert (model / "calibration-en.png").read_bytes().startswith(b"\x89PNG")
    assert (model / "calibration-en.csv").read_text().startswith("log10_threshold,")
    assert "Anna" not in (model / "calibration.json").read_text()
    (spans,) = ZeroShotDetector(model=model, threads=1).detect([Note("n", TEXTS[0], lang="es")])
    assert len(spans)


def test_an_export_takes_along_the_calibration_and_what_the_model_has_read(
    model: Path, notes: Path, tmp_path: Path
) -> None:
    run("calibrate", model, "--notes", notes, "--threads", 1)
    record = {"recipe": {}, "fingerprint": "x", "notes": 1, "digests": [Note("a", TEXTS[0]).digest]}
    (model / RECORD).write_text(json.dumps(record))

    code, _ = run("export", model, "--out", tmp_path / "onnx")

    assert code == 0
    ZeroShotDetector(model=tmp_path / "onnx", precision="int8", threads=1)
    assert "pre-trained on it" in run("calibrate", tmp_path / "onnx", "--notes", notes)[1]


def test_notes_that_the_model_has_read_are_refused(model: Path, notes: Path) -> None:
    digest = Note("a", TEXTS[0]).digest
    record = {"recipe": {}, "fingerprint": "x", "notes": 1, "digests": [digest]}
    (model / RECORD).write_text(json.dumps(record))

    code, output = run("calibrate", model, "--notes", notes)

    assert code == 2
    assert "note 'a': the model was pre-trained on it" in output
    assert "Anna" not in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--target", "best"), "recall=0.95"),
        (("--set", "lemmas"), "KEY=VALUE"),
        (("--set", "lemas='none'"), "lemas"),
    ],
)
def test_a_bad_option_ends_with_one_line(
    model: Path, notes: Path, arguments: tuple[str, str], words: str
) -> None:
    code, output = run("calibrate", model, "--notes", notes, "--threads", 1, *arguments)

    assert code == 2
    assert words in output
    assert len(output.strip().splitlines()) == 1


def test_notes_of_several_languages_need_a_choice(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    rows = [row | {"lang": lang} for row, lang in zip(ANNOTATED, ("en", "es"), strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    code, output = run("calibrate", model, "--notes", path)

    assert code == 2
    assert "give --lang" in output
