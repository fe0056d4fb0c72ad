"""What a table holds of a patient is found in that patient's notes, however it is written."""

from __future__ import annotations

import pickle
import sqlite3
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.detector import Failed, detect
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans
from deid_assets.formats.identities import Identity
from deid_assets.identities import IdentityTable, build_table
from deid_assets.testing import check_detector, mark, parse_marked
from deid_known_identity import KnownIdentityDetector

PATIENT = [
    ("name", "William Anton Zedmarlow"),
    ("alias", "Zedi"),
    ("birth_date", "1960-03-02"),
    ("address", "14 Quillhaven Street"),
    ("address", "Borgwarthstraße 7"),
    ("city", "Łódź"),
    ("zip", "90-001"),
    ("phone", "+49 30 1234567"),
    ("phone", "0612 345678"),
    ("email", "w.zedmarlow@example.org"),
    ("record_number", "MR-00412-77"),
    ("record_number", "000418827"),
    ("record_number", "00001960"),
    ("national_id", "1602031234567"),
    ("relative", "Klára de la Fontaine-Brück"),
]
OTHER = [("name", "May Wood"), ("name", "Ann Lee")]
STAFF = ["Jon Quillhaven", "Petra Mai"]


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("known") / "identities.sqlite"
    rows = [Identity("p1", kind, value) for kind, value in PATIENT]  # type: ignore[arg-type]
    rows += [Identity("p2", kind, value) for kind, value in OTHER]  # type: ignore[arg-type]
    rows += [Identity(None, "staff", value) for value in STAFF]
    build_table(path, rows)
    return path


def marked_by(table: Path, text: str, patient_id: str | None = "p1") -> str:
    note = Note("n", text, patient_id=patient_id)
    (spans,) = KnownIdentityDetector(model=table).detect([note])
    return mark(note, spans)


FOUND = [
    "Seen: <NAME>William Anton Zedmarlow</NAME>, well.",
    "<NAME>Zedmarlow, William A.</NAME>, born 1960.",
    "<NAME>W. Zedmarlow</NAME> and <NAME>Mr Zedmarlow</NAME>'s wound.".replace(
        "<NAME>Mr ", "Mr <NAME>"
    ),
    "<NAME>ZEDMARLOW WILLIAM</NAME> was seen; later <NAME>zedmarlow</NAME> left.",
    "We met <NAME>Bill</NAME> and his friend.",
    "<NAME>Zedmarlows</NAME> Befund; Rezept an <NAME>Zedmarlowin</NAME>.",
    "Dear <NAME>Mr Zedmalrow</NAME>,".replace("<NAME>Mr ", "Mr <NAME>"),
    "<NAME>Wiliam</NAME> is fine, <NAME>Zedi</NAME> too.",
    "Signed <NAME>W.A.Z.</NAME> at noon.",
    (
        "DOB <DATE>02.03.1960</DATE>, <DATE>3/2/60</DATE>, <DATE>1960-03-02</DATE>,"
        " <DATE>19600302</DATE>, <DATE>020360</DATE>."
    ),
    "Born on <DATE>2 March 1960</DATE>, <DATE>March 2nd, 1960</DATE>, <DATE>2 de marzo de"
    " 1960</DATE>, <DATE>2. März 1960</DATE>, <DATE>2. maaliskuuta 1960</DATE>, <DATE>le 2 mars"
    " 1960</DATE>.".replace("<DATE>le ", "le <DATE>"),
    (
        "Lives at <STREET>14 Quillhaven St</STREET>., moved from <STREET>Borgwarthstr. 7</STREET>;"
        " <STREET>Quillhaven Street</STREET>."
    ),
    "From <CITY>Lodz</CITY>, <ZIP>90 001</ZIP>.",
    (
        "Call <PHONE>+49 (0)30 123 45 67</PHONE>, <PHONE>030-1234567</PHONE>, <PHONE>0049 30"
        " 1234567</PHONE> or <PHONE>06 12 34 56 78</PHONE>."
    ),
    "Mail <EMAIL>W.Zedmarlow@Example.org</EMAIL>.",
    "No. <MRN>MR-00412-77</MRN>, <MRN>mr0041277</MRN>, <MRN>MR 00412\n77</MRN>.",
    (
        "Chart <MRN>000418827</MRN>, <MRN>418827</MRN> or <MRN>41-88-27</MRN>, label"
        " <MRN>MR-412-77</MRN>."
    ),
    (
        "Insurance <NATIONAL_ID>1602 0312 34567</NATIONAL_ID>, mistyped"
        " <NATIONAL_ID>1602031234568</NATIONAL_ID>."
    ),
    "His wife <NAME>Klara de la Fontaine</NAME> (<NAME>Fontaine-Brueck</NAME>).".replace(
        "Brueck", "Brück"
    ),
    (
        "Dr <NAME>Jon Quillhaven</NAME> and <NAME>Quillhaven, J.</NAME> agree; <NAME>P. Mai</NAME>"
        " does not."
    ),
]


@pytest.mark.parametrize("text", FOUND)
def test_values_are_found_however_they_are_written(table: Path, text: str) -> None:
    note, _ = parse_marked(text)
    assert marked_by(table, note.text) == text


KEPT = [
    "A will and an art, on 02.03.1961 and 3/2/61, in 1960 and 03/60.",
    "RR 120/80, room 14, 7 days, 12345 leukocytes, 0612 ml.",
    "In lodz mode the william-like or marlow test; bella and zed.",
    "Weight 4188 g, 88 27, MR 412, 1960 steps.",
    "Seen in May by Mai in the Quillhaven ward.",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_only_looks_alike_is_kept(table: Path, text: str) -> None:
    assert marked_by(table, text.replace("william-like", "willow-like")) == text.replace(
        "william-like", "willow-like"
    )


def test_a_name_that_is_a_word_counts_alone_only_with_a_capital_inside_a_sentence(
    table: Path,
) -> None:
    assert (
        marked_by(table, "We saw Wood today. Wood splint. The wood in may.", "p2")
        == "We saw <NAME>Wood</NAME> today. Wood splint. The wood in may."
    )
    assert (
        marked_by(table, "may wood came; Wood, May.", "p2")
        == "<NAME>may wood</NAME> came; <NAME>Wood, May</NAME>."
    )


def test_the_values_of_one_patient_are_not_looked_for_in_the_notes_of_another(table: Path) -> None:
    text = "Zedmarlow, 02.03.1960, MR-00412-77."
    assert marked_by(table, text, "p2") == text
    assert marked_by(table, text, None) == text


def test_strict_withholds_a_note_whose_patient_is_not_known(table: Path) -> None:
    detector = KnownIdentityDetector(model=table, strict=True)
    notes = [Note("a", "x", patient_id="p1"), Note("b", "x", patient_id="p9"), Note("c", "x")]
    assert [isinstance(result, Failed) for result in detect(detector, notes)] == [False, True, True]


def test_it_keeps_the_contract_of_detectors(table: Path) -> None:
    check_detector(KnownIdentityDetector(model=table))
    copied = pickle.loads(pickle.dumps(KnownIdentityDetector(model=table)))
    assert [len(spans) for spans in copied.detect([Note("n", "Zedmarlow", patient_id="p1")])] == [1]


def test_a_new_table_is_a_new_version(tmp_path: Path) -> None:
    rows = [Identity("p", "name", "Ann Lee")]
    versions = set()
    for name in ("a", "b"):
        build_table(tmp_path / name, rows)
        versions.add(KnownIdentityDetector(model=tmp_path / name).version)
    assert len(versions) == 2


def test_the_table_is_its_owners_and_shows_nothing(table: Path) -> None:
    assert stat.S_IMODE(table.stat().st_mode) == 0o600
    detector = KnownIdentityDetector(model=table)
    shown = repr(
        [*vars(detector).values(), detector._everybody, IdentityTable(table).of_everybody()]
    )
    assert "uillhaven" not in shown


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("patient_id,kind,value\n", encoding="utf-8")
    sqlite3.connect(tmp_path / "empty.sqlite").execute("CREATE TABLE x (y)").connection.commit()
    for name in ("text", "empty.sqlite", "absent"):
        with pytest.raises(InputError, match=name):
            KnownIdentityDetector(model=tmp_path / name)
    with pytest.raises(ConfigError, match="needs a table"):
        KnownIdentityDetector()
    with pytest.raises(InputError, match="no identity"):
        build_table(tmp_path / "new", [])
    assert {path.name for path in tmp_path.iterdir()} == {"text", "empty.sqlite"}


def test_values_are_kept_once_and_read_by_patient(tmp_path: Path) -> None:
    rows = [Identity(f"p{n % 50}", "name", f"Name {n % 100}") for n in range(45_000)]
    counts = build_table(tmp_path / "t", rows)
    assert (counts.patients, counts.values) == (50, {"name": 100})
    found = IdentityTable(tmp_path / "t").of_patients(["p1", "p7", "p99"])
    assert {patient: len(values) for patient, values in found.items()} == {
        "p1": 2,
        "p7": 2,
        "p99": 0,
    }


WORDS = [
    "Zedmarlow",
    "william",
    "W.",
    "A.",
    "02",
    "03",
    "1960",
    "März",
    "MR",
    "00412",
    "77",
    "+49",
    "30",
    "1234567",
    "de",
    "la",
]


@settings(max_examples=200, deadline=None)
@given(
    parts=st.lists(
        st.sampled_from(WORDS)
        | st.sampled_from([" ", ", ", "-", ".", "\n", "é", "\U0001f600", "ß"])
    )
)
def test_spans_are_disjoint_and_begin_and_end_with_a_letter_or_digit(
    table: Path, parts: list[str]
) -> None:
    note = Note("n", "".join(parts), patient_id="p1")
    (spans,) = KnownIdentityDetector(model=table).detect([note])
    DisjointSpans(note.note_id, note.digest, spans.spans).check_against(note)
    assert all(note.text[s.start].isalnum() or note.text[s.start] == "+" for s in spans)
