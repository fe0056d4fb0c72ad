"""``deid next``: which notes to annotate."""

import json
import stat

import pytest
from typer.testing import CliRunner

from deid_assets import Note, plugins
from deid_assets.cli import app
from deid_assets.formats import Annotated, write_notes
from deid_assets.training import Recipe
from deid_assets.training.run import Materials, train_model

pytestmark = [
    pytest.mark.usefixtures("xwords"),
    pytest.mark.skipif("rules" not in plugins.available(), reason="plugin rules is not installed"),
]
TEXTS = {
    "plain": "No news of the patient.",
    "known": "Seen by qzorb.",
    "ruled": "Call 555-0199 or write to ada@example.org.",
}


@pytest.fixture
def deid():
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def given(notes, tmp_path):
    """A model that knows one name, and notes of which it and `rules` think otherwise."""
    recipe = Recipe.model_validate({"name": "mine", "plugin": "xwords"})
    materials = Materials(corpora=[notes("qzorb")], dev=notes("qzorb", corpus="dev"))
    train_model(recipe, materials, tmp_path / "model")
    raw = [Annotated(Note(name, text, lang="en"), None) for name, text in TEXTS.items()]
    write_notes(tmp_path / "raw.jsonl", raw)
    return tmp_path / "model", tmp_path / "raw.jsonl"


def test_notes_of_which_tagger_and_rules_think_otherwise_come_first_and_without_words(
    deid, given, tmp_path
):
    model, raw = given
    done = deid("next", model, "--notes", raw, "--out", tmp_path / "page")

    assert done.exit_code == 0, done.stderr
    assert "annotate these first; 3 of 3 notes" in done.stderr
    rows = json.loads((tmp_path / "page" / "next.json").read_text())["notes"]
    assert [row["note_id"] for row in rows] == ["ruled", "known", "plain"]
    assert [(row["tagger_alone"], row["detector_alone"]) for row in rows] == [
        (0, 2),
        (1, 0),
        (0, 0),
    ]
    page = (tmp_path / "page" / "next.html").read_text()
    assert "ruled" in page
    assert not any(
        word in page + done.stdout + done.stderr for word in ("qzorb", "555-0199", "example.org")
    )


def test_a_restricted_page_shows_what_is_in_question_to_its_owner_alone(deid, given, tmp_path):
    model, raw = given
    done = deid(
        "next", model, "--notes", raw, "--out", tmp_path / "page", "--restricted", "--most", 2
    )

    assert done.exit_code == 0, done.stderr
    page = tmp_path / "page" / "next.html"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert "qzorb" in page.read_text()
    assert "qzorb" not in done.stdout + done.stderr
    assert len(json.loads((tmp_path / "page" / "next.json").read_text())["notes"]) == 2


def test_a_wrong_ranking_is_told(deid, given, tmp_path):
    model, raw = given
    done = deid("next", model, "--notes", raw, "--out", tmp_path / "page", "--by", "uncertain")

    assert done.exit_code != 0
    assert "--by 'uncertain'" in done.stderr
    assert "did you mean 'uncertainty'?; choose one of disagreement, uncertainty" in done.stderr
