"""OMOP CDM 5.4: rows of ``NOTE`` from Parquet and databases.

Broken rows are faults, and both tables are written without text.
"""

import datetime as dt
import sqlite3
import tempfile
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats import (
    Annotated,
    Fault,
    ReadOptions,
    detect_format,
    read_notes,
    write_notes,
)
from deid_clinical_formats.omop_notes import read_omop

DATA = Path(__file__).parent / "data" / "omop"
FAST = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SECRET = "Zyxwick"


def table(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def read(path, **options):
    return list(read_notes(path, format="omop", options=ReadOptions(**options)))


@pytest.fixture
def database(tmp_path, monkeypatch):
    """A database with three notes, and the ``.omop`` file that names it."""
    with sqlite3.connect(tmp_path / "cdm.db") as connection:
        columns = (
            "note_id INTEGER, person_id INTEGER, language_concept_id INTEGER, note_source_value"
            " TEXT, note_text TEXT"
        )
        connection.execute(f"CREATE TABLE note ({columns})")
        rows = [(3, 8, 0, None, "c\r\n"), (1, 7, 4180186, "x", "a"), (2, 7, 0, None, "é")]
        connection.executemany("INSERT INTO note VALUES (?, ?, ?, ?, ?)", rows)
    connection.close()
    monkeypatch.setenv("CDM_URL", f"sqlite:///{tmp_path}/cdm.db")
    (tmp_path / "cdm.omop").write_text('url_env = "CDM_URL"\nbatch = 2\n')
    return tmp_path / "cdm.omop"


def test_the_golden_table_is_told_and_read(golden_text):
    assert detect_format(DATA) == detect_format(DATA / "note.parquet") == "omop"
    assert [(entry.note, entry.spans) for entry in read_notes(DATA)] == [
        (Note("1", golden_text, "440044", "en"), None),
        (Note(str(2**60), "Señora sin hallazgos.", "440045"), None),
    ]


def test_what_is_written_has_every_column_of_the_cdm_and_only_the_text_in_them(tmp_path):
    found = list(read_notes(DATA))
    assert write_notes(tmp_path / "out", found, format="omop") == 2
    assert list(read_notes(tmp_path / "out")) == found
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["note.parquet"]
    golden, written = (
        pq.read_table(DATA / "note.parquet"),
        pq.read_table(tmp_path / "out" / "note.parquet"),
    )
    assert written.schema == golden.schema
    kept = {"note_id", "person_id", "note_text", "language_concept_id"}
    assert not [
        name for name in written.column_names if name not in kept and any(written[name].to_pylist())
    ]


def test_other_tables_of_a_cdm_are_passed_over_and_names_may_be_in_capitals(tmp_path):
    table(tmp_path / "PERSON.parquet", PERSON_ID=[1])
    table(tmp_path / "NOTE.parquet", NOTE_ID=[5], NOTE_TEXT=["x"], PERSON_ID=[1])
    (found,) = read(tmp_path)
    assert (found.note.note_id, found.note.text, found.note.patient_id) == ("5", "x", "1")
    assert detect_format(tmp_path / "NOTE.parquet") == "omop"
    (fault,) = read(tmp_path / "PERSON.parquet")
    assert fault.kind == "empty-file"


@pytest.mark.parametrize(
    "number",
    [5, 5.0, Decimal(5), "5"],
    ids=["integer", "float of pandas", "decimal of Oracle", "string"],
)
def test_whole_numbers_are_ids_however_they_are_stored(number, tmp_path):
    (found,) = read(
        table(tmp_path / "n.parquet", note_id=[number], note_text=["x"], person_id=[number])
    )
    assert (found.note.note_id, found.note.patient_id) == ("5", "5")


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"note_id": [None], "note_text": [SECRET]}, "missing-field"),
        ({"note_id": [1], "note_text": pa.array([None], pa.string())}, "missing-field"),
        ({"note_id": [1], "note_text": [7]}, "malformed"),
        ({"note_id": [SECRET], "note_text": ["x"]}, "malformed"),
        ({"note_id": [1.5], "note_text": ["x"]}, "malformed"),
        ({"note_id": [1], "note_text": [SECRET * 5]}, "too-large"),
        ({"note_id": [1], "note_text": ["x"], "person_id": [SECRET]}, "malformed"),
        ({"note_text": [SECRET]}, "missing-field"),
    ],
)
def test_a_broken_row_is_a_fault_without_its_text(columns, kind, tmp_path):
    (fault,) = read(table(tmp_path / "n.parquet", **columns), max_note_chars=20)
    assert isinstance(fault, Fault)
    assert fault.kind == kind
    assert SECRET not in fault.message


def test_a_note_that_comes_twice_is_a_fault_once(tmp_path):
    found = read(table(tmp_path / "n.parquet", note_id=[1, 1, 2], note_text=["a", "b", "c"]))
    assert [entry.kind if isinstance(entry, Fault) else entry.note.text for entry in found] == [
        "a",
        "duplicate-id",
        "c",
    ]


def test_spans_become_rows_of_note_nlp_without_text(tmp_path):
    note = Note("n1", f"Seen by {SECRET}.")
    spans = SpanSet.of(note, [Span(8, 15, Phi.NAME, 0.5, "rules", "DOCTOR"), Span(0, 4, Phi.DATE)])
    write_notes(
        tmp_path / "out", [Annotated(note, spans), Annotated(Note("2", "x"))], format="omop"
    )
    found = pq.read_table(tmp_path / "out/note_nlp.parquet").to_pylist()
    first, second = found
    assert (first["note_nlp_id"], first["offset"], first["nlp_system"]) == (
        1,
        "0",
        "deid-assets: gold",
    )
    assert (second["offset"], second["nlp_system"]) == ("8", "deid-assets: rules")
    assert isinstance(second["nlp_date"], dt.date)
    assert second["term_modifiers"] == "category=NAME;length=7;score=0.5"
    assert (second["snippet"], second["lexical_variant"]) == ("", "")
    assert {row["note_id"] for row in found} == {
        pq.read_table(tmp_path / "out/note.parquet")["note_id"][0].as_py()
    }
    assert [entry.note.note_id for entry in read(tmp_path / "out")] == ["n1", "2"]


@pytest.mark.parametrize(
    "note", [Note("n" * 51, "x"), Note("1", "x", "p1"), Note("1", "x", "-1"), Note("1", "x", "007")]
)
def test_ids_that_omop_cannot_hold_are_refused(note, tmp_path):
    with pytest.raises(InputError, match="id is no whole number"):
        write_notes(tmp_path / "out", [Annotated(note)], format="omop")
    assert not list(tmp_path.iterdir())


@FAST
@given(
    texts=st.lists(st.text(max_size=20), min_size=1, max_size=3),
    prefix=st.text(st.characters(exclude_categories=["C", "Z"]), max_size=8),
    patient_id=st.none() | st.integers(0, 2**63 - 1).map(str),
)
@example(texts=["\0\r\n\ufeff"], prefix="00", patient_id="0")
@example(texts=["a", "b"], prefix="9" * 18, patient_id=None)
def test_any_text_and_id_come_back(texts, prefix, patient_id):
    notes = [
        Annotated(Note(f"{prefix}{number}", text, patient_id, "en"))
        for number, text in enumerate(texts)
    ]
    with tempfile.TemporaryDirectory() as folder:
        write_notes(Path(folder, "out"), notes, format="omop")
        assert list(read_notes(Path(folder, "out"))) == notes


def test_a_database_is_read_in_the_order_of_its_ids(database):
    assert detect_format(database) == "omop"
    found = list(read_notes(database))
    assert [
        (entry.note.note_id, entry.note.text, entry.note.patient_id, entry.note.lang)
        for entry in found
    ] == [
        ("1", "a", "7", "en"),
        ("2", "é", "7", None),
        ("3", "c\r\n", "8", None),
    ]
    url = f"sqlite:///{database.parent}/cdm.db"
    assert list(read_omop(url, batch=1)) == list(read_omop(url, schema="main")) == found


def test_a_broken_row_of_a_database_is_a_fault_and_the_rest_is_read(database):
    with sqlite3.connect(database.parent / "cdm.db") as connection:
        connection.execute("UPDATE note SET note_text = NULL WHERE note_id = 2")
        connection.execute("INSERT INTO note SELECT * FROM note WHERE note_id = 3")
    connection.close()
    for found in (
        list(read_notes(database)),
        list(read_omop(f"sqlite:///{database.parent}/cdm.db")),
    ):
        shown = [entry.kind if isinstance(entry, Fault) else entry.note.note_id for entry in found]
        assert shown == ["1", "missing-field", "3", "duplicate-id"]


@pytest.mark.parametrize(
    "url",
    [
        f"sqlite:///none/{SECRET}.db",
        f"nothing://user:{SECRET}@host/db",
        SECRET,
        f"sqlite:///:memory:?x={SECRET}",
        f"sqlite:///file:{SECRET}?mode=ro&uri=true",
    ],
)
def test_a_database_that_fails_is_a_fault_without_its_url(url, tmp_path, monkeypatch):
    monkeypatch.setenv("CDM_URL", url)
    (tmp_path / "n.omop").write_text('url_env = "CDM_URL"')
    for found in (list(read_omop(url)), read(tmp_path / "n.omop")):
        (fault,) = found
        assert fault.kind == "unreadable"
        assert "after row 0" in fault.message
        assert SECRET not in fault.message


@pytest.mark.parametrize(
    "content",
    [
        "",
        f'url = "sqlite:///{SECRET}"',
        f'url_env = "CDM_URL"\nurl = "sqlite:///{SECRET}"',
        'url_env = "CDM_URL"\nbatch = 0',
        'url_env = "CDM_URL"\ntable = 7',
        f'url_env = "CDM_URL"\n{SECRET} = 7',
        'url_env = "UNSET"',
        f'url_env = "sqlite:///{SECRET}"',
        f"url_env = {SECRET}",
        "\xff",
    ],
)
def test_a_file_that_names_no_database_is_a_fault(content, database):
    database.write_text(content, encoding="latin-1")
    (fault,) = read(database)
    assert isinstance(fault, Fault)
    assert SECRET not in fault.message


@st.composite
def damaged(draw, seed):
    start = draw(st.integers(0, len(seed)))
    return (
        seed[:start]
        + draw(st.binary(max_size=8))
        + seed[draw(st.integers(start, min(len(seed), start + 40))) :]
    )


@pytest.mark.parametrize("suffix", [".parquet", ".omop"])
def test_damaged_files_give_notes_or_faults(suffix):
    seed = (
        (DATA / "note.parquet").read_bytes()
        if suffix == ".parquet"
        else b'url_env = "NONE"\nschema = "cdm"\nbatch = 2\n'
    )

    @FAST
    @given(content=damaged(seed) | st.binary(max_size=99))
    def reads(content):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, f"n{suffix}").write_bytes(content)
            found = read(Path(folder))
            assert found
            assert not [
                entry for entry in found if isinstance(entry, Fault) and "Ann Le" in entry.message
            ]

    reads()


def test_a_table_of_parquet_with_columns_of_its_own_is_not_taken_for_one_of_omop(tmp_path):
    assert detect_format(table(tmp_path / "n.parquet", id=["a"], text=["note_text"])) == "parquet"
    table(tmp_path / "m.parquet", note_id=[1], note_text=["x"], person_id=[1])
    with pytest.raises(InputError, match="could be omop or parquet"):
        detect_format(tmp_path)
