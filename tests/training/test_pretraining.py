"""Language models as a step of their own.

What is refused, what is done once, and what the folder says.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid_assets import Note
from deid_assets.cli import app
from deid_assets.core.errors import ConfigError, InputError, PluginError
from deid_assets.training.corpora import read_raw
from deid_assets.training.pretraining import RECORD, learnt_from, pretrain_model, read_record
from deid_assets.training.recipe import Recipe

pytest.importorskip("deid_transformers")

NOTES = [
    Note(f"n{number}", f"The patient has fever since day {number}. No cough was seen.")
    for number in range(12)
]
NEW = {"layers": 1, "hidden": 16, "heads": 2, "positions": 32, "vocabulary": 150, "kinds": False}
TRAINING = {
    "epochs": 2,
    "batch": 4,
    "length": 16,
    "packed": False,
    "whole_words": True,
    "held_out": 0.2,
}


def recipe(**changes: object) -> Recipe:
    settings = {"encoder": "new", "threads": 1, "new": NEW, "pretrain": TRAINING} | changes
    return Recipe(name="tiny", plugin="transformers", settings=settings)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("models") / "lm"
    pretrain_model(recipe(), NOTES, out)
    return out


def test_each_epoch_leaves_a_model_and_a_loss_on_notes_held_out(model: Path) -> None:
    curve = json.loads((model / "curve.json").read_text())

    assert [path.name for path in sorted((model / "epochs").iterdir())] == ["001", "002"]
    assert all((model / "epochs" / name / "model.safetensors").exists() for name in ("001", "002"))
    assert [point["held_out_loss"] > 0 for point in curve] == [True, True]


def test_a_second_call_with_nothing_changed_does_nothing(model: Path) -> None:
    before = (model / RECORD).stat().st_mtime_ns

    pretrain_model(recipe(), NOTES[::-1], model)

    assert (model / RECORD).stat().st_mtime_ns == before


def test_the_folder_knows_the_notes_that_it_learnt_from(model: Path) -> None:
    assert learnt_from(model, [*NOTES[:2], Note("other", "Something else.")]) == ["n0", "n1"]
    assert read_record(model).notes == len(NOTES)
    assert "fever" not in (model / RECORD).read_text()


def test_with_a_key_the_folder_tells_it_to_its_holder_alone(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEID_KEY", "5a" * 32)
    pretrain_model(recipe(), NOTES, tmp_path / "lm")

    written = b"".join(path.read_bytes() for path in (tmp_path / "lm").rglob("*") if path.is_file())
    assert not [note for note in NOTES if note.digest.encode() in written]
    assert read_record(tmp_path / "lm").fingerprint != read_record(model).fingerprint
    assert learnt_from(tmp_path / "lm", NOTES[:2]) == ["n0", "n1"]
    assert learnt_from(model, NOTES[:2]) == ["n0", "n1"]  # written without a key
    monkeypatch.setenv("DEID_KEY", "a5" * 32)
    assert learnt_from(tmp_path / "lm", NOTES[:2]) == []


def test_a_given_model_is_gone_on_from(model: Path, tmp_path: Path) -> None:
    pretrain_model(
        recipe(encoder=str(model)), [*NOTES[2:], Note("x", "Day and cough.")], tmp_path / "more"
    )

    assert (tmp_path / "more" / "tokenizer.json").read_text() == (
        model / "tokenizer.json"
    ).read_text()
    # what the given one has read counts too
    assert learnt_from(tmp_path / "more", NOTES[:2]) == ["n0", "n1"]


def test_other_notes_do_not_replace_a_model(model: Path) -> None:
    with pytest.raises(InputError, match="new or empty folder"):
        pretrain_model(recipe(), NOTES[:3], model)


def test_what_cannot_be_pre_trained_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no raw note"):
        pretrain_model(recipe(), [Note("n", " \n")], tmp_path / "a")
    with pytest.raises(ConfigError, match=r"settings\.pretrain"):
        pretrain_model(recipe(pretrain=None), NOTES, tmp_path / "b")
    with pytest.raises(PluginError, match="makes no language models"):
        pretrain_model(Recipe(name="tiny", plugin="crf"), NOTES, tmp_path / "c")


def test_labels_of_raw_notes_need_no_map(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text(
        json.dumps({"id": "n", "text": "Ana", "spans": [{"start": 0, "end": 3, "label": "ODD"}]})
        + "\n"
    )

    assert [note.text for note in read_raw(str(path))] == ["Ana"]


def test_the_command_names_what_is_missing(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["pretrain", str(tmp_path / "none.toml"), "--raw", "x", "--out", str(tmp_path)]
    )

    assert result.exit_code == 2
    assert "there is no recipe" in result.stderr
