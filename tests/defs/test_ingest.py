"""How what arrived becomes notes."""

import pytest

from deid_assets.assets.ingest import with_language_code
from deid_assets.core.note import Note
from deid_assets.formats.installed import installed
from deid_assets.plugins import FORMATS


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("en", "en"),
        ("EN", "en"),
        ("en-US", "en"),
        ("pt_BR", "pt"),
        (None, None),
        ("", None),
        ("english", None),
        ("xx", None),
        ("Zedmarlow", None),
    ],
)
def test_a_language_is_a_code_or_not_known(given, expected):
    assert with_language_code(Note("n", "text", lang=given)).lang == expected


def test_text_patient_and_meta_stay_as_they_came():
    note = Note("n", "t\r\next", patient_id="p", lang="Zedmarlow", meta={"ward": "3"})

    found = with_language_code(note)

    assert (found.text, found.patient_id, found.meta, found.digest) == (note.text, "p", {"ward": "3"}, note.digest)


@pytest.mark.parametrize("given", ["klingon", "", None])
def test_a_language_that_is_not_named_is_told_from_the_text(given):
    text = "Der Patient wurde wegen Schmerzen in der Brust und Atemnot seit gestern Abend aufgenommen."
    assert with_language_code(Note("n", text, lang=given)).lang == "de"


def test_a_language_that_is_not_configured_warns_and_stops_nothing(installation, note_records):
    batch = installation.receive([{**record, "lang": "pl"} for record in note_records()])

    assert installation.failures(installation.run(batch, "raw_notes")) == {}

    verdicts = installation.opened().files.receipt("raw_notes", batch).verdicts
    assert verdicts["languages_known"]["counts"]["unknown"] == len(note_records())


ABORTING = """
import os


def read(source, options):
    os.abort()
    yield
"""


def test_a_reader_that_aborts_stops_its_batch_alone(installation, note_records, tmp_path, monkeypatch):
    """The test goes on, which it would not if files were read in this process."""
    package, info = tmp_path / "site" / "deid_aborting", tmp_path / "site" / "deid_aborting-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from deid_assets.extending.formats import Format\n\n"
        'FORMAT = Format("aborting", (".aborting",), "deid_aborting.files", is_folder=True, keeps=frozenset())\n'
    )
    (package / "files.py").write_text(ABORTING)
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: deid_aborting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{FORMATS}]\naborting = deid_aborting:FORMAT\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    installed.cache_clear()
    broken = installation.receive(note_records(), name="notes.aborting")
    good = installation.receive(note_records(20), name="notes.jsonl")

    failures = installation.failures(installation.run(broken, "raw_notes"))

    assert "a worker process ended early" in failures["raw_notes"]
    assert installation.failures(installation.run(good, "raw_notes", "gold_annotations")) == {}
    installed.cache_clear()
