"""A recipe makes a folder with thresholds, which is scored, carded and used as any tagger's is."""

from __future__ import annotations

from pathlib import Path

import pytest
from models_here import save_model

from deid_assets import DisjointSpans, Note
from deid_assets.core.errors import ConfigError
from deid_assets.core.trainer import Document
from deid_assets.plugins import load as load_plugin
from deid_assets.plugins import load_trainer
from deid_assets.testing import parse_marked
from deid_assets.training import Corpus, Materials, Recipe, load_recipe, read_card, train_model
from deid_zero_shot import ZeroShotTrainer

TEXTS = (
    (
        "Patient: <NAME>Anna Berg</NAME>, <EMAIL>anna.berg@example.org</EMAIL>\nAge: <AGE>47</AGE>"
        " years"
    ),
    (
        "Discharged on <DATE>12/03/2020</DATE>, <EMAIL>lee@example.org</EMAIL>. Fever for 3 days,"
        " no cough."
    ),
    "Write to <EMAIL>mora@example.org</EMAIL>. The patient has no fever and no cough.",
)


def corpus(name: str) -> Corpus:
    documents = []
    for number, text in enumerate(TEXTS):
        note, spans = parse_marked(f"{text}\n{name}", note_id=f"{name}-{number}")
        documents.append(Document(note, DisjointSpans.of(note, list(spans))))
    return Corpus(name, tuple(documents))


def test_a_recipe_gives_a_detector_with_a_card(tmp_path: Path) -> None:
    model = save_model(tmp_path / "lm")
    settings = {"model": str(model), "target": "recall=1.0", "threads": 1, "lemmas": "none"}
    recipe = Recipe(name="zero_shot_tiny", plugin="zero_shot", settings=settings)

    card = train_model(
        recipe, Materials(corpora=[corpus("one")], dev=corpus("two")), tmp_path / "out"
    )

    assert card == read_card(tmp_path / "out", verify=True)
    assert {
        "calibration.json",
        "calibration-en.png",
        "calibration-en.csv",
        "model.int8.onnx",
    } <= set(card.files)
    detector = load_plugin(
        "zero_shot_tiny", plugin="zero_shot", options={"model": str(tmp_path / "out")}
    )
    (spans,) = detector.detect([Note("n", "Write to lee@example.org", lang="en")])
    assert "EMAIL" in {span.label for span in spans}
    assert {span.source for span in spans} == {"zero_shot_tiny"}


def test_categories_of_the_notes_are_those_of_the_spans(tmp_path: Path) -> None:
    model = save_model(tmp_path / "lm")
    settings = {"model": str(model), "target": "recall=1.0", "threads": 1, "lemmas": "none"}
    recipe = Recipe(name="zero_shot_tiny", plugin="zero_shot", settings=settings)
    train_model(recipe, Materials(corpora=[corpus("one")], dev=corpus("two")), tmp_path / "out")

    detector = load_plugin(
        "zero_shot_tiny", plugin="zero_shot", options={"model": str(tmp_path / "out")}
    )
    (spans,) = detector.detect([Note("n", "Patient: Carl Dahl, Age: 51 years", lang="en")])
    (first,) = (span for span in spans if span.start == 9)

    assert {"NAME", "AGE"} <= set(detector.labels)
    assert first.label == "NAME"


def test_the_recipes_of_the_study_are_valid_and_fetch_only_where_they_say_so() -> None:
    paths = sorted((Path(__file__).parents[2] / "recipes" / "zero_shot" / "study").glob("*.toml"))
    recipes = [load_recipe(path) for path in paths]

    assert len({recipe.settings["model"] for recipe in recipes}) == 9
    for recipe in recipes:
        assert ZeroShotTrainer().settings(recipe.settings)["allow_download"] is True


@pytest.mark.parametrize("name", ["small_masked_lm", "minutes_masked_lm", "adapted_masked_lm"])
def test_the_recipes_of_models_made_here_are_valid(name: str) -> None:
    recipe = load_recipe(Path(__file__).parents[2] / "recipes" / "zero_shot" / f"{name}.toml")

    settings = load_trainer(recipe.plugin).settings(recipe.settings)

    assert settings["pretrain"]["whole_words"]


@pytest.mark.parametrize(
    "settings", [{}, {"model": "x", "lemas": "none"}, {"model": "x", "prior": 9}]
)
def test_bad_settings_are_named(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        ZeroShotTrainer().settings(settings)
