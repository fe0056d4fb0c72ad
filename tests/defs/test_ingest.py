"""How what arrived becomes notes."""

import pytest

from deid_assets.core.note import Note
from deid_assets.defs.ingest import with_language_code


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
