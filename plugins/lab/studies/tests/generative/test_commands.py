"""Models compared by their curves, spans explained, adapters merged and probed for
planted secrets.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tiny_pairs import task, train
from typer.testing import CliRunner

from deid_assets import Note
from deid_assets.core.errors import InputError
from deid_generative import GenerativeDetector
from deid_generative.commands import generative_app
from deid_generative.compare import at_best, at_epoch
from deid_generative.explain import cues
from deid_generative.folder import ModelFolder, read_folder
from deid_rules import RulesDetector


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(
        task(epochs=2, biases=(-4.0, 0.0, 4.0)), tmp_path_factory.mktemp("compared") / "adapter"
    )


def with_curve(model: Path, values: list[float]) -> ModelFolder:
    """Return a model with a curve of given F1; all else as it was measured."""
    folder = read_folder(model)
    measures = folder.curve[0]["measures"]
    points = [{"epoch": n, "measures": {**measures, "f1": f1}} for n, f1 in enumerate(values, 1)]
    return replace(folder, curve=tuple(points))


def test_models_are_compared_at_one_epoch_and_each_at_its_best(model: Path) -> None:
    early = with_curve(model, [0.5, 0.80, 0.90, 0.90, 0.903])
    late = with_curve(model, [0.1, 0.20, 0.50, 0.70, 0.950])
    models = {"early": early, "late": late}

    equal, best = at_epoch(models, 3), at_best(models)

    assert [(row.name, row.epoch, row.rates["f1"]) for row in equal] == [
        ("early", 3, 0.9),
        ("late", 3, 0.5),
    ]
    assert [(row.epoch, row.plateau, row.rates["f1"]) for row in best] == [
        (5, 3, 0.903),
        (5, 5, 0.95),
    ]
    with pytest.raises(InputError, match="not 6"):
        at_epoch(models, 6)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(generative_app, [str(argument) for argument in arguments])


def test_the_table_of_two_models_is_printed(model: Path) -> None:
    shown, refused = run("compare", model, "--epoch", "2"), run("compare", model, "--epoch", "3")

    assert (shown.exit_code, refused.exit_code) == (0, 2)
    assert shown.stdout.count("| adapter | ") == 2
    assert "adapter has 2 epochs, not 3" in refused.stderr


def test_the_bias_is_chosen_on_development_notes_and_used(model: Path) -> None:
    folder = read_folder(model)

    assert [one["bias"] for one in folder.biases] == [-4.0, 0.0, 4.0]
    (kept,) = [one for one in folder.biases if one["kept"]]
    assert kept["worth"] == max(one["worth"] for one in folder.biases)
    assert folder.settings["bias"] == kept["bias"]


def test_the_title_is_what_a_following_name_is_found_by() -> None:
    note = Note("n", "toux depuis hier, vu par Dr Kerbrat ce matin, stable", lang="fr")
    detector = RulesDetector()
    (spans,) = detector.detect([note])
    (name,) = [span for span in spans if note.text[span.start : span.end] == "Kerbrat"]

    first, *others = cues(detector, note, name)

    assert note.text[first.start : first.end] == "Dr"
    assert first.drop > max(cue.drop for cue in others)
    with pytest.raises(InputError, match="nothing is found"):
        cues(detector, note, replace(name, start=0, end=4))


def test_a_span_of_a_model_is_explained_without_a_word_of_the_note(tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    text = "toux, vu par Dr Kerbrat ce matin"
    spans = [{"start": 16, "end": 23, "label": "NAME"}]
    notes.write_text(json.dumps({"id": "a", "text": text, "lang": "fr", "spans": spans}) + "\n")

    places = run("explain", "rules", notes, "--note", "a")
    nowhere = run("explain", "rules", notes, "--note", "b")
    words = run("explain", "rules", notes, "--note", "a", "--restricted")

    assert (places.exit_code, nowhere.exit_code, words.exit_code) == (0, 2, 0)
    assert "Kerbrat" not in places.output
    assert "16-23 NAME" in places.stdout
    assert "'Dr'" in words.stdout


def test_a_merged_model_finds_what_base_and_adapter_find(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "merged"
    assert run("merge", model, out).exit_code == 0
    assert run("merge", model, out).exit_code == 2

    given: dict[str, Any] = {"checker": "", "threads": 1, "bias": 4.0}
    notes = [Note("a", "Vu par Dr Lee le 3 mai."), Note("b", "Dr Mora, toux, sortie le 12 mars.")]
    pair = GenerativeDetector(model=model, **given)
    one = GenerativeDetector(model=out, prompt="bare", **given)
    assert out.stat().st_mode & 0o077 == 0
    assert [[(s.start, s.end) for s in found] for found in pair.detect(notes)] == [
        [(s.start, s.end) for s in found] for found in one.detect(notes)
    ]
