"""Canary patients go through detection with every batch, and into nothing that leaves or counts."""

import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from deid_assets.assets.answering import Asked, answer_notes
from deid_assets.assets.canaries import CANARIES, read_canaries
from deid_assets.assets.detection import read_notes_of
from deid_assets.assets.training_corpus import make_training_corpus
from deid_assets.cli import app
from deid_assets.plugins import CORPORA, available
from deid_assets.store.files import ALL
from deid_assets.training.recipe import load_recipe

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif("synthetic" not in available(CORPORA), reason="no plugin writes notes"),
]

SETTINGS = """
ensemble = ["stencil"]
recipes = []
policies = ["tag"]
release_policy = "tag"
languages = ["en", "de"]
release.require = "none"
gates.min_gold_characters = 1
gates.canaries = 6
gates.canary_recall = {ALL = 0.0}
[studies.heart]
policy = "blackout"
"""
RECIPE = {"corpora": ["synthetic:en:2"], "raw": ["received"], "strategy": "single"}
ALONG = ("raw_notes", "gold_annotations", "spans_stencil", "merged_spans")


@pytest.fixture
def house(installation, note_records):
    """An installation with a study, canary patients and a batch."""
    installation.detectors = ("stencil",)
    installation.configure(SETTINGS)
    installation.batch = installation.receive(note_records())
    return installation


def canaries_of(installation):
    return read_canaries(installation.batch, installation.opened())


def check_of(result, name):
    (found,) = [one for one in result.get_asset_check_evaluations() if one.check_name == name]
    return found


def places_with(installation, notes):
    """Files of an installation with an id or a line of one of the notes."""
    words = {note.note_id for note in notes} | {note.patient_id for note in notes}
    words |= {max(note.text.splitlines(), key=len) for note in notes}
    found = set()
    for path in installation.root.rglob("*"):
        if path.is_file():
            is_table = path.suffix == ".parquet"
            text = (
                str(pq.read_table(path).to_pylist())
                if is_table
                else path.read_bytes().decode("utf-8", "replace")
            )
            if any(word in text for word in words):
                found.add(path.relative_to(installation.home).as_posix())
    return found


def test_canary_patients_are_read_and_go_no_further(house, note_records):
    result = house.run(house.batch)
    assert house.failures(result) == {}

    notes = canaries_of(house)
    assert [note.lang for note in notes].count("de") == 6
    assert len(notes) == 12
    stored = {path.rsplit("/", 1)[0] for path in places_with(house, notes)}
    batch = house.batch
    assert stored == {
        f"store/restricted/raw_notes/{batch}",
        f"store/internal/spans_stencil/{batch}",
    }
    tables = {path.rsplit("/", 1)[1].rpartition("-")[0] for path in places_with(house, notes)}
    assert all(table.startswith("canar") for table in tables)
    released = [*house.home.glob("**/released/*/notes.jsonl")]
    assert [len(path.read_text().splitlines()) for path in released] == [8, 8]
    files = house.opened().files
    for asset in ("raw_notes", "spans_stencil", "merged_spans", "redacted_notes_tag"):
        assert files.receipt(asset, batch).counts["notes"] == 8, asset
    assert files.receipt("raw_notes", batch).counts["languages"] == "en:8"
    manifest = json.loads((released[0].parent / "manifest.json").read_text())
    assert manifest["counts"]["notes"] == 8
    (read,) = [
        event.step_materialization_data.materialization.metadata["read"].value
        for event in result.get_asset_materialization_events()
        if event.asset_key.to_user_string() == "spans_stencil"
    ]
    assert read == "8 of 8 notes read"
    assert check_of(result, "canary_recall").passed
    opened = house.opened()
    recipe = load_recipe("crf", changes=RECIPE)
    gathered = make_training_corpus(ALL, opened, recipes=[recipe])
    named = {row["corpus"]: row["table"] for row in gathered.tables["corpora"].to_pylist()}
    learnt = set(gathered.tables[named["received"]].column("text").to_pylist())
    assert len(learnt) == 8
    assert learnt.isdisjoint(note.text for note in notes)
    every = [*read_notes_of(batch, opened), *notes]
    asked = Asked(opened, "stencil", batch, every, files.receipt("raw_notes", batch))
    assert answer_notes(asked).read == 0

    again = house.run(house.batch, *ALONG)
    assert house.failures(again) == {}
    assert canaries_of(house) == notes


def test_a_batch_stops_where_too_little_of_its_canaries_is_found(house):
    house.configure(SETTINGS.replace("{ALL = 0.0}", "{ALL = 0.9}"))

    result = house.run(house.batch, *ALONG)

    assert (
        "too little of what canary patients' notes hold" in house.failures(result)["merged_spans"]
    )
    found = check_of(result, "canary_recall")
    counts = {name: one.value for name, one in found.metadata.items()}
    assert (found.passed, counts["missing"], counts["unanswered"]) == (False, 0, 0)
    assert counts["lower_ALL"] < counts["minimum_ALL"] == 0.9


def test_canaries_that_are_missing_or_unanswered_do_not_pass(house):
    settings = SETTINGS + '[detectors.stencil]\nraise_on = "e"\n'
    house.configure(settings.replace("gates.canaries", "gates.quarantined = 1.0\ngates.canaries"))
    result = house.run(house.batch, *ALONG)
    assert "12 notes of canary patients have no answer" in house.failures(result)["merged_spans"]

    house.configure(SETTINGS)
    assert house.failures(house.run(house.batch, *ALONG)) == {}
    house.configure(SETTINGS.replace("canaries = 6", "canaries = 8"))
    result = house.run(house.batch, "merged_spans")
    assert "4 notes of canary patients are missing" in house.failures(result)["merged_spans"]


def test_without_the_setting_there_are_none(house):
    house.configure(SETTINGS.replace("canaries = 6", "canaries = 0"))

    assert house.failures(house.run(house.batch, *ALONG)) == {}

    assert canaries_of(house) == []
    assert CANARIES not in house.opened().files.receipt("raw_notes", house.batch).outputs


def test_recall_is_listed_by_batch_and_drawn_as_a_page(house, tmp_path):
    assert house.failures(house.run(house.batch, *ALONG)) == {}

    listed = CliRunner().invoke(app, ["canaries", "--json"])
    page = tmp_path / "page.html"
    drawn = CliRunner().invoke(app, ["canaries", "--page", str(page)])

    rows = json.loads(listed.stdout)
    assert {row["lang"] for row in rows} == {"ALL", "de", "en"}
    assert {row["batch"] for row in rows} == {house.batch}
    assert sum(row["spans"] for row in rows if row["lang"] != "ALL" and row["label"] == "ALL") == (
        next(row["spans"] for row in rows if row["lang"] == row["label"] == "ALL")
    )
    assert drawn.exit_code == 0, drawn.output
    assert "data:image/png" in page.read_text()
    assert house.batch in page.read_text()
