"""Rows of a table under the key of a release: intervals, joins, and what does not leave."""

import json
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from deid_assets import Note, Phi, Span
from deid_assets.config import Settings
from deid_assets.config.tables import TableSettings
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.keys import Key
from deid_assets.core.redact import redact
from deid_assets.core.span import DisjointSpans
from deid_assets.pipeline.leaks import LeakedValues
from deid_assets.pipeline.spreading import Values
from deid_assets.policies import load_policy
from deid_assets.tables.acting import DateMode, PolicyActions
from deid_assets.tables.checking import begin, check_table
from deid_assets.tables.counting import DayCounter, GroupCounter, IdCounter, hashes_of
from deid_assets.tables.rewriting import ReleasedNotes, TableRewriter
from deid_assets.tables.sources import open_table
from deid_assets.tables.writing import write_rows

SHIFTED = """\
name = "shifted"
default = "tag"
[actions]
AGE = "age_90"
DATE = { action = "shift", max_days = 364, whole_weeks = false }
"""
RANGE = {"dates_from": date(1900, 1, 2), "dates_to": date(2040, 1, 1)}


class Everybody:
    """All patients, and all notes."""

    def __contains__(self, one):
        return True


def pseudonyms(key):
    """As a release names ids."""
    return lambda kind, value: f"{kind[0]}-{key.derive('released', kind, value).hex()[:20]}"


def rewritten(settings, policy, key, *, released=None):
    """Rows of a table under a key, and the rewriter."""
    with open_table(settings) as source:
        rewriter = TableRewriter(
            begin(settings, source),
            PolicyActions.of(policy, key),
            pseudonyms(key),
            released or ReleasedNotes(Everybody(), Everybody()),
        )
        return [row for batch in rewriter.batches() for row in batch.to_pylist()], rewriter


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    """Dates moved by days."""
    path = tmp_path_factory.mktemp("policy") / "shifted.toml"
    path.write_text(SHIFTED)
    return load_policy(str(path))


DAYS = st.dates(date(1990, 1, 1), date(2030, 1, 1))
ROWS = st.lists(
    st.tuples(st.integers(0, 4), DAYS, DAYS, st.integers(0, 6)), min_size=1, max_size=12
)


def seen_in_note(row, policy, key):
    """The date of a note of a patient after its redaction."""
    patient, day, _, _ = row
    note = Note("n", f"Seen {day}.", patient_id=f"p{patient}", lang="en")
    found = DisjointSpans(note.note_id, note.digest, (Span(5, 15, Phi.DATE),))
    text = redact(note, found, policy, key=key).text
    return date.fromisoformat(text[5:15])


@given(rows=ROWS, secrets=st.tuples(st.binary(min_size=16), st.binary(min_size=16)))
@hypothesis_settings(max_examples=12)
def test_intervals_and_joins_stay_and_two_keys_do_not_join(rows, secrets, policy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    text = "".join(f"p{one},{taken},{visit}\n" for one, _, taken, visit in rows)
    (folder / "a.csv").write_text(f"pid,taken,visit\n{text}")
    other = {
        "who": [f"p{one[0]}" for one in rows],
        "v": [one[3] for one in rows],
        "day": [one[1] for one in rows],
    }
    pq.write_table(pa.table(other), folder / "b.parquet")
    first = TableSettings(
        file=folder / "a.csv", patient="pid", dates=("taken",), ids={"visit": "visit"}, **RANGE
    )
    second = TableSettings(
        file=folder / "b.parquet", patient="who", dates=("day",), ids={"v": "visit"}, **RANGE
    )
    key = Key(secrets[0])

    ours, _ = rewritten(first, policy, key)
    theirs, _ = rewritten(second, policy, key)

    for row, mine, their in zip(rows, ours, theirs, strict=True):
        seen = seen_in_note(row, policy, key)
        assert seen - date.fromisoformat(mine["taken"]) == row[1] - row[2]
        assert seen == their["day"]
        assert mine["taken"] != row[2].isoformat()
    for at, one in enumerate(rows):
        joined = [n for n, their in enumerate(theirs) if their["v"] == ours[at]["visit"]]
        assert joined == [n for n, row in enumerate(rows) if row[3] == one[3]]
    if secrets[0] != secrets[1]:
        apart, _ = rewritten(first, policy, Key(secrets[1]))
        for column in ("pid", "visit"):
            assert not {one[column] for one in ours} & {one[column] for one in apart}


@pytest.mark.parametrize(
    ("name", "mode", "shown"),
    [
        ("limited_data_set", DateMode.KEEP, ("2021-05-03", "1931-02-03", "95")),
        ("safe_harbor", DateMode.WRITE, ("2021", "[DATE]", "90+")),
        ("tag", DateMode.WRITE, ("[DATE]", "[DATE]", "[AGE]")),
    ],
)
def test_a_policy_does_to_cells_what_it_does_to_notes(name, mode, shown, tmp_path):
    (tmp_path / "a.csv").write_text("pid,day,born,age\np1,2021-05-03,1931-02-03,95\n")
    settings = TableSettings(
        file=tmp_path / "a.csv", patient="pid", dates=("day",), births=("born",), ages=("age",)
    )
    key, policy = Key(b"k" * 16), load_policy(name)

    ((row,), _) = rewritten(settings, policy, key)

    assert PolicyActions.of(policy, key).mode is mode
    assert (row["day"], row["born"], row["age"]) == shown


def test_a_birth_that_tells_an_age_over_89_is_emptied(policy, tmp_path):
    (tmp_path / "a.csv").write_text("pid,born,year\np1,1930-02-03,1930\np2,1980-02-03,1980\n")
    settings = TableSettings(
        file=tmp_path / "a.csv", patient="pid", births=("born",), birth_years=("year",)
    )

    (old, young), rewriter = rewritten(settings, policy, Key(b"k" * 16))

    assert (old["born"], old["year"]) == (None, None)
    assert abs(date.fromisoformat(young["born"]) - date(1980, 2, 3)) <= timedelta(days=364)
    assert rewriter.counts.emptied == {"born": 1, "year": 1}


def test_rows_of_others_and_identifiers_that_are_left_are_counted(policy, tmp_path):
    (tmp_path / "a.csv").write_text(
        "pid,visit,kept\np1,V-4711,of ZEDMARLOW\np1,V-4712,V-4712 again\np2,V-1,zedmarlow\n"
    )
    settings = TableSettings(
        file=tmp_path / "a.csv", patient="pid", ids={"visit": "visit"}, keep=("kept",)
    )
    key, known = Key(b"k" * 16), Values()
    known.add("Zedmarlow", Span(0, 9, Phi.NAME), "en")
    ours = ReleasedNotes({pseudonyms(key)("patient", "p1")}, set(), {"p1": known})

    rows, rewriter = rewritten(settings, policy, key, released=ours)

    assert len(rows) == 2
    assert rewriter.counts.left_out == 1
    assert rewriter.counts.surviving.told == [
        f"row {at}, column kept: holds an identifier of its patient as it is; declare it under ids"
        " or drop"
        for at in (1, 2)
    ]


def test_a_denied_value_is_left_in_no_row_whoever_it_is_of(policy, tmp_path):
    (tmp_path / "a.csv").write_text("pid,kept\np1,by Z\u00e9dmarlow\np2,4711\n", encoding="utf-8")
    settings = TableSettings(file=tmp_path / "a.csv", patient="pid", keep=("kept",))
    out = ReleasedNotes(Everybody(), Everybody(), denied=LeakedValues(["ZEDMARLOW"]))

    _, rewriter = rewritten(settings, policy, Key(b"k" * 16), released=out)

    (told,) = rewriter.counts.surviving.told
    assert told.startswith("row 1, column kept: holds a value that somebody denied; empty it")


def test_faults_are_told_by_row_and_column_and_never_by_value(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(
        b"pid,day,kept\np1,2021-05-03T10:00,a\np1,31/12/1999,\xff\np1,2021-05-03T10:00Z,a\n"
        b"p1,2199-01-01,a\n,2021-05-03,a\n"
    )
    settings = TableSettings(file=path, patient="pid", dates=("day",), keep=("kept",))

    found = check_table(settings)

    said = [line for one in found.faults for line in one.told]
    places = [
        "row 2, column kept: is not in UTF-8",
        "row 2, column day: no date",
        "row 3, column day: another time zone",
        "row 5, column pid: has no patient",
        "row 4, column day: lies outside",
    ]
    assert [line.split(":")[0] for line in said] == [place.split(":")[0] for place in places]
    assert all(line.startswith(place) for line, place in zip(said, places, strict=True))
    assert not any(value in json.dumps(said) for value in ("1999", "2199"))


def test_a_date_in_a_kept_column_does_not_leave(tmp_path):
    (tmp_path / "a.csv").write_text("pid,k\np1,2021-05-03\np1,3.5.2021\np1,1.5\n")
    settings = TableSettings(file=tmp_path / "a.csv", patient="pid", keep=("k",))
    days = {"pid": ["p1"], "k": [date(2021, 5, 3)]}
    pq.write_table(pa.table(days), tmp_path / "b.parquet")
    typed = TableSettings(file=tmp_path / "b.parquet", patient="pid", keep=("k",))

    said = [line[:37] for line in check_table(settings).free_text.told]

    assert said == [f"row {at}, column k: looks like a date; d"[:37] for at in (1, 2)]
    assert check_table(typed).unread.told[0].startswith("column k: holds dates")


def test_bytes_and_a_number_of_the_patient_in_a_kept_column_do_not_leave(policy, tmp_path):
    numbers = [4471902.0, None, 12.5]
    raw = pa.array([b"Zed", None, b"Amy"], pa.binary(3))
    table = pa.table({"pid": ["4471902", "p2", "p3"], "number": numbers, "raw": raw})
    pq.write_table(table, tmp_path / "b.parquet")
    settings = TableSettings(file=tmp_path / "b.parquet", patient="pid", keep=("number", "raw"))

    _, rewriter = rewritten(settings, policy, Key(b"k" * 16))

    assert check_table(settings).unread.told[0].startswith("column raw: holds neither text")
    assert rewriter.counts.surviving.told[0].startswith("row 1, column number: holds an identifier")


def test_a_kept_column_of_dates_without_marks_does_not_leave(tmp_path):
    days = "".join(f"p{at},202105{at:02},19{at:02}1399\n" for at in range(1, 9))
    (tmp_path / "a.csv").write_text(f"pid,day,code\n{days}")
    settings = TableSettings(file=tmp_path / "a.csv", patient="pid", keep=("day", "code"))

    said = check_table(settings).free_text.told

    assert [line.split(":")[0] for line in said] == ["column day"]


def shared(folder, *, seen=lambda at: date(2021, 1, at), born=lambda at: date(1960, 3, at), **more):
    """What is said of dates of twenty patients."""
    rows = "".join(f"p{at},{seen(at)},{born(at)}\n" for at in range(1, 21))
    (folder / "a.csv").write_text(f"pid,seen,born\n{rows}")
    file = folder / "a.csv"
    settings = TableSettings(file=file, patient="pid", dates=("seen",), births=("born",), **more)
    return [line.split(":")[0] for line in check_table(settings).out_of_range.told]


def test_a_day_or_birthday_that_many_patients_have_tells_how_far_the_others_move(tmp_path):
    assert shared(tmp_path) == []
    assert shared(tmp_path, seen=lambda at: date(2021, 1, max(at, 12))) == ["column seen"]
    assert shared(tmp_path, born=lambda at: date(1940 + at, 1, 1)) == ["column born"]
    assert shared(tmp_path, seen=lambda at: date(2021, 1, 1), same_day=1.0) == []


def test_days_of_very_many_patients_are_counted_of_some():
    counter = DayCounter(most=1000)
    for part in range(20):
        patients = hashes_of(pa.array([f"p{part}-{at}" for at in range(500)]))
        days = np.arange(500) % 300
        days[:200] = -7
        counter.add(days, patients)

    most, patients = counter.commonest()

    assert 100 < patients <= 500
    assert 0.3 < most / patients < 0.5


def test_a_file_without_a_header_is_told_without_its_first_row(tmp_path):
    (tmp_path / "a.csv").write_text("10,9201,Zedamar\n11,9202,Amy\n")
    with pytest.raises(InputError) as raised:
        check_table(TableSettings(file=tmp_path / "a.csv", omop="visit_occurrence"))
    assert "Zedamar" not in str(raised.value)


def test_a_column_without_a_role_stops_the_table(tmp_path):
    (tmp_path / "a.csv").write_text("pid,other\np1,x\n")
    with pytest.raises(InputError, match="column other is not declared"):
        check_table(TableSettings(file=tmp_path / "a.csv", patient="pid"))
    settings = TableSettings(file=tmp_path / "a.csv", patient="pid", keep=("other", "there"))
    with pytest.raises(InputError, match="'there' is declared and not there"):
        check_table(settings)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("pid\np1\n")
    settings = TableSettings(file=path, patient="pid")
    source = open_table(settings)
    assert list(source.__enter__().batches())
    path.write_text("pid\np2\n")
    with pytest.raises(InputError, match="changed while it was read"):
        source.__exit__(None, None, None)


def test_tables_of_the_omop_cdm_are_read_by_their_names(tmp_path):
    visits = {
        "visit_occurrence_id": [1, 2],
        "person_id": [10, 11],
        "visit_concept_id": [9201, 9202],
        "visit_start_date": [date(2021, 5, 3)] * 2,
        "visit_start_datetime": [None, None],
        "provider_id": [5, None],
        "visit_source_value": ["x", "y"],
    }
    pq.write_table(pa.table(visits), tmp_path / "v.parquet")
    settings = TableSettings(file=tmp_path / "v.parquet", omop="visit_occurrence")

    found = check_table(settings)
    rows, _ = rewritten(settings, load_policy("limited_data_set"), Key(b"k" * 16))

    assert [line for one in found.faults for line in one.told] == []
    assert found.plan.unique == ("visit_occurrence_id",)
    assert "visit_source_value" not in rows[0]
    assert rows[0]["visit_concept_id"] == 9201
    assert rows[0]["person_id"].startswith("p-")


def test_a_query_is_a_table(tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "d.db") as base:
        base.execute("CREATE TABLE t (pid, day)")
        base.execute("INSERT INTO t VALUES ('p1', '2021-05-03'), ('p2', 'May')")
    sql = {"url": f"sqlite:///{tmp_path}/d.db", "query": "SELECT pid, day FROM t ORDER BY pid"}
    settings = TableSettings.model_validate({"sql": sql, "patient": "pid", "dates": ["day"]})

    found = check_table(settings)

    assert found.rows == 2
    assert [line[:18] for line in found.unread.told] == ["row 2, column day:"]
    assert found.digest == check_table(settings).digest


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ({}, "name a CSV or Parquet file"),
        ({"file": "a.xlsx", "patient": "p"}, "ends in neither"),
        ({"file": "a.csv"}, "name the column with the id of the patient"),
        ({"file": "a.csv", "patient": "p", "keep": ["p"]}, "has two roles"),
        ({"file": "a.csv", "patient": "p", "notes": ["t"]}, "column with the id of the note"),
        ({"file": "a.csv", "patient": "p", "studies": ["x"]}, "there is no study"),
        ({"file": "a.csv", "patient": "p", "encoding": "x1"}, "is unknown to Python"),
    ],
)
def test_wrong_settings_are_one_line(table, fault):
    with pytest.raises(ConfigError, match=fault):
        Settings.of({"tables": {"labs": table}}, str)
    with pytest.raises(ConfigError, match="no name for a table"):
        Settings.of({"tables": {"Labs": table}}, str)


def test_ids_that_occur_twice_and_patients_who_share_a_combination_are_counted():
    ids, groups = IdCounter(), GroupCounter()
    for part in (["a", "b", None], ["c", "a", None]):
        ids.add(pa.array(part))
    groups.add([pa.array(["F", "F", "F", "M"])], pa.array(["p1", "p1", "p2", "p3"]))

    assert ids.again() == [5]
    assert groups.counts().singletons == 1
    assert groups.counts().patients == [1, 2, 0, 0, 0]


def test_another_order_follows_from_the_seed_and_has_all_rows(tmp_path: Path):
    batches = [pa.RecordBatch.from_pydict({"n": list(range(at, at + 50))}) for at in (0, 50, 100)]
    found = []
    for seed in (1, 1, 2):
        path = tmp_path / "t.parquet"
        assert write_rows(batches, path, seed=seed, rows=600_000) == 150
        found.append(pq.read_table(path).column("n").to_pylist())
    assert found[0] == found[1] != found[2]
    assert sorted(found[0]) == list(range(150))
