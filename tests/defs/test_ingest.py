"""How what arrived becomes notes."""

import pytest

from deid_assets.assets.ingest import set_language_code
from deid_assets.core.note import Note
from deid_assets.formats.catalogue import load_installed
from deid_assets.intake.landing import take_in
from deid_assets.intake.stops import find_stop
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
    assert set_language_code(Note("n", "text", lang=given)).lang == expected


def test_text_patient_and_meta_stay_as_they_came():
    note = Note("n", "t\r\next", patient_id="p", lang="Zedmarlow", meta={"ward": "3"})

    found = set_language_code(note)

    assert (found.text, found.patient_id, found.meta, found.digest) == (
        note.text,
        "p",
        {"ward": "3"},
        note.digest,
    )


@pytest.mark.parametrize("given", ["klingon", "", None])
def test_a_language_that_is_not_named_is_told_from_the_text(given):
    text = (
        "Der Patient wurde wegen Schmerzen in der Brust und Atemnot seit gestern Abend aufgenommen."
    )
    assert set_language_code(Note("n", text, lang=given)).lang == "de"


@pytest.mark.long
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


@pytest.fixture
def add_format(tmp_path, monkeypatch):
    """Lay a distribution with one format out in a folder on the path, with this reader."""

    def lay_out(name, reader):
        package, info = (
            tmp_path / "site" / f"deid_{name}",
            tmp_path / "site" / f"deid_{name}-1.0.dist-info",
        )
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(
            "from deid_assets.extending.formats import Format\n\n"
            f'FORMAT = Format("{name}", (".{name}",), "deid_{name}.files", is_folder=True,'
            " keeps=frozenset())\n"
        )
        (package / "files.py").write_text(reader)
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: deid_{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{FORMATS}]\n{name} = deid_{name}:FORMAT\n")
        monkeypatch.syspath_prepend(tmp_path / "site")
        load_installed.cache_clear()

    yield lay_out
    load_installed.cache_clear()


@pytest.mark.long
def test_a_reader_that_aborts_stops_its_batch_alone(installation, note_records, add_format):
    """The test goes on, which it would not if files were read in this process."""
    add_format("aborting", ABORTING)
    broken = installation.receive(note_records(), name="notes.aborting")
    good = installation.receive(note_records(20), name="notes.jsonl")

    failures = installation.failures(installation.run(broken, "raw_notes"))

    assert "a worker process ended early" in failures["raw_notes"]
    assert installation.failures(installation.run(good, "raw_notes", "gold_annotations")) == {}


TALKING = """
from deid_assets.extending import InputError
from deid_assets.extending.formats import Fault


def read(source, options):
    text = source.path.read_text()
    {statement}
    yield from ()
"""


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("raise InputError(text)", "format 'talking' raised InputError"),
        (
            "yield source.fault('malformed', text)",
            "malformed at file-1: is not written as its format wants",
        ),
        (
            "yield Fault(text, 7, None, text, text)",
            "malformed at file-1-line-7: is not written as its format wants",
        ),
    ],
)
def test_what_a_reader_says_of_a_file_is_shown_nowhere(installation, add_format, statement, shown):
    add_format("talking", TALKING.format(statement=statement))
    batch = installation.receive([{"id": "1", "text": "Zedmarlow"}], name="notes.talking")

    result = installation.run(batch, "raw_notes")

    assert shown in installation.failures(result)["raw_notes"]
    records = installation.instance.get_records_for_run(result.run_id).records
    assert not [record for record in records if "Zedmarlow" in record.event_log_entry.to_json()]
    stop = find_stop(installation.opened().files, "raw_notes", batch)
    assert "Zedmarlow" not in "".join(stop.reasons)
    assert not [
        path
        for path in (installation.home / "store" / "internal").rglob("*.parquet")
        if b"Zedmarlow" in path.read_bytes()
    ]


@pytest.mark.long
def test_what_a_sender_writes_into_batch_toml_is_shown_nowhere(installation):
    folder = installation.home / "landing" / "monday"
    folder.mkdir(parents=True)
    (folder / "batch.toml").write_text('[read]\nencoding = "Zedmarlow, MRN 1"\n')
    (folder / "a.txt").write_text("fine")
    (batch,) = take_in(installation.settings(), settle_s=0)

    result = installation.run(batch, "raw_notes")

    assert (
        "the value of encoding in [read] is not allowed"
        in installation.failures(result)["raw_notes"]
    )
    records = installation.instance.get_records_for_run(result.run_id).records
    assert not [record for record in records if "Zedmarlow" in record.event_log_entry.to_json()]
