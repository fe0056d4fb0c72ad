"""Tables that leave with the notes, on a real Dagster instance in process."""

import csv
import json
import shutil
from datetime import date, timedelta

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from deid_assets.cli import app
from deid_assets.evidence.build import build_evidence
from deid_assets.evidence.document import MeasureStanding, Regime

pytestmark = pytest.mark.long

BASE = """\
ensemble = ["dated"]
recipes = []
policies = ["shifted.toml"]
release_policy = "shifted.toml"
languages = ["en"]
release.require = "none"
gates.quarantined = 1.0
gates.min_gold_characters = 100000
"""
STUDY = """
[studies.heart]
policy = "shifted.toml"
[studies.lung]
policy = "shifted.toml"
"""
TABLES = """
[tables.admissions]
file = "admissions.csv"
patient = "pid"
ids = { visit = "visit" }
unique = ["visit"]
dates = ["admitted"]
births = ["born"]
ages = ["age"]
quasi = ["sex"]
drop = ["name"]
keep = ["ward"]
dates_to = 2030-01-01
[tables.labs]
file = "labs.parquet"
patient = "subject"
ids = { visit_id = "visit", note = "note" }
dates = ["taken"]
keep = ["value"]
dates_to = 2030-01-01
"""
POLICY = """\
name = "shifted"
default = "tag"
[actions]
AGE = "age_90"
DATE = { action = "shift", max_days = 364, whole_weeks = false }
"""
DATED = '''
"""Test detector: names, record numbers and dates."""

import re

from deid_assets import Phi, Span, SpanSet

FINDERS = (
    (Phi.NAME, re.compile(r"\\bZed[a-z]+\\b")),
    (Phi.MRN, re.compile(r"\\b[0-9]{7}\\b")),
    (Phi.DATE, re.compile(r"\\b[0-9]{4}-[0-9]{2}-[0-9]{2}\\b")),
)


class Detector:
    name = "@NAME@"
    version = "1"
    labels = frozenset({Phi.NAME, Phi.MRN, Phi.DATE})

    def detect(self, notes):
        return [SpanSet.of(note, self._spans(note)) for note in notes]

    def _spans(self, note):
        for label, pattern in FINDERS:
            for match in pattern.finditer(note.text):
                yield Span(match.start(), match.end(), label, 0.9, self.name)
'''
SEEN = date(2021, 5, 10)


_MADE = {}


@pytest.fixture
def dated_detector(write_detector, detector_site):
    """The detector ``dated`` on the path."""
    if not (detector_site / "deid_dated").exists():
        write_detector(detector_site, "dated", body=DATED)


@pytest.fixture
def house(installation, note_records, dated_detector, monkeypatch, tmp_path_factory):
    """An installation that released the notes of eight patients, for two studies too, and tables
    of seven of them and of one more. The notes are released once, and copied.
    """
    installation.detectors = ("dated",)
    installation.root.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(installation.root)
    installation.records = [
        {**one, "text": f"{one['text']}Seen on {SEEN + timedelta(days=at)}.\n"}
        for at, one in enumerate(note_records(gold=False))
    ]
    if "root" in _MADE:
        shutil.copytree(_MADE["root"], installation.root, dirs_exist_ok=True)
        installation.batch = _MADE["batch"]
        return installation
    (installation.root / "shifted.toml").write_text(POLICY)
    installation.configure(BASE + STUDY + TABLES)
    write_tables(installation.root)
    installation.batch = installation.receive(installation.records)
    assert installation.failures(installation.run(installation.batch)) == {}
    kept = tmp_path_factory.mktemp("made") / "installation"
    shutil.copytree(installation.root, kept)
    _MADE.update(root=kept, batch=installation.batch)
    return installation


def write_tables(root, *, patients=range(1, 9), more=""):
    """Write admissions, one of each patient, and two laboratory values of each admission."""
    header = "pid,visit,admitted,born,age,sex,name,ward\n"
    rows = [
        f"patient-{at},{70 + at},{SEEN + timedelta(days=at - 3)} 08:15:00,{1930 + 5 * at}-02-03,"
        f"{91 - 5 * at},{'FM'[at % 2]},Zed,ward {at % 3}\n"
        for at in patients
    ]
    (root / "admissions.csv").write_text(header + "".join(rows) + more)
    twice = [at for at in patients for _ in range(2)]
    labs = {
        "subject": [f"patient-{at}" for at in twice],
        "visit_id": [70 + at for at in twice],
        "note": [f"note-{at}" for at in twice],
        "taken": [SEEN + timedelta(days=at) for at in twice],
        "value": [at / 2 for at in range(len(twice))],
    }
    pq.write_table(pa.table(labs), root / "labs.parquet")


def release_tables(house, *assets):
    """Release the tables, and return what failed."""
    return house.failures(house.run(None, *assets, job="release_tables"))


def rows_of(house, table, study=""):
    """Rows of a released table."""
    folder = (house.home / "studies" / study if study else house.home) / "released_tables" / table
    (path,) = (path for path in folder.iterdir() if path.name != "manifest.json")
    if path.suffix == ".csv":
        return list(csv.DictReader(path.open()))
    return pq.read_table(path).to_pylist()


def notes_of(house, study=""):
    """Released notes by released id."""
    folder = house.home / "studies" / study / "released" if study else house.home / "released"
    paths = folder.glob("*/notes.jsonl")
    return {row["id"]: row for path in paths for row in map(json.loads, path.open())}


def test_tables_leave_with_the_notes_under_one_key(house):
    assert release_tables(house) == {}

    admissions, labs = rows_of(house, "admissions"), rows_of(house, "labs")
    notes = notes_of(house)
    patients = {row["patient_id"] for row in notes.values()}

    assert len(admissions) == 7  # patient-8 has no note
    assert {row["pid"] for row in admissions} < patients
    assert {row["visit"] for row in admissions} == {row["visit_id"] for row in labs}
    assert "name" not in admissions[0]
    assert {row["age"] for row in admissions} == {"86", "81", "76", "71", "66", "61", "56"}
    for row in labs:
        text = notes[row["note"]]["text"]
        seen = date.fromisoformat(text.rsplit("Seen on ", 1)[1][:10])
        (admission,) = (one for one in admissions if one["visit"] == row["visit_id"])
        assert notes[row["note"]]["patient_id"] == row["subject"] == admission["pid"]
        assert (seen - row["taken"]).days == 0
        assert (seen - date.fromisoformat(admission["admitted"][:10])).days == 3
        assert admission["admitted"].endswith(" 08:15:00")
    assert [row["born"] for row in admissions if row["age"] == "86"] == [""]
    assert all(row["born"] for row in admissions if row["age"] < "80")


def test_two_studies_do_not_join(house):
    assert release_tables(house) == {}

    heart, lung = (rows_of(house, "admissions", study) for study in ("heart", "lung"))

    for column in ("pid", "visit"):
        assert not {row[column] for row in heart} & {row[column] for row in lung}
    assert [row["age"] for row in heart] != [row["age"] for row in lung]
    assert sorted(row["age"] for row in heart) == sorted(row["age"] for row in lung)
    notes = notes_of(house, "heart")
    for row in rows_of(house, "labs", "heart"):
        seen = date.fromisoformat(notes[row["note"]]["text"].rsplit("Seen on ", 1)[1][:10])
        assert seen == row["taken"]


def test_a_released_table_is_verified(house):
    assert release_tables(house) == {}
    folder = house.home / "released_tables" / "admissions"

    done = CliRunner().invoke(app, ["verify", str(folder)])
    assert done.exit_code == 0, done.output
    (folder / "admissions.csv").write_text("altered\n")
    assert CliRunner().invoke(app, ["verify", str(folder)]).exit_code != 0


def test_withdrawn_notes_take_their_rows_along(house):
    assert release_tables(house) == {}

    done = CliRunner().invoke(app, ["batches", "withdraw", house.batch, "--with-release"])

    assert done.exit_code == 0, done.output
    for whose in ("", "studies/heart/", "studies/lung/"):
        assert not (house.home / f"{whose}released_tables" / "admissions").exists()


def test_an_erased_patient_leaves_the_tables(house):
    assert release_tables(house) == {}
    before = len(rows_of(house, "admissions"))

    done = CliRunner().invoke(app, ["erase", "patient-3", "--by", "A", "--reason", "asked"])

    assert done.exit_code == 0, done.output
    assert not (house.home / "released_tables" / "admissions").exists()
    (path,) = (house.home / "erasures").glob("*.json")
    items = json.loads(path.read_text())["items"]
    assert ("released table", "released_table_admissions", "done") in [
        (item["what"], item["name"], item["status"]) for item in items
    ]
    (again,) = (one for one in house.opened().files.batches("arrival"))
    assert house.failures(house.run(again)) == {}
    assert release_tables(house) == {}
    assert len(rows_of(house, "admissions")) == before - 1


def test_a_leaked_value_is_found_in_a_table_which_stays_withdrawn_until_it_is_brought_back(house):
    assert release_tables(house) == {}
    folder = house.home / "released_tables" / "admissions"
    in_study = house.home / "studies" / "heart" / "released_tables" / "admissions"
    tool = CliRunner()

    found = tool.invoke(app, ["leak", "--values", "-"], input="Ward 1\n")
    assert found.exit_code == 1
    assert found.output.count("cells of table admissions") == 3
    assert tool.invoke(app, ["tables", "withdraw", "admissions"]).exit_code == 0
    assert not folder.exists()
    assert in_study.exists()
    (said,) = release_tables(house, "released_table_admissions").values()
    assert "deid tables retry admissions" in said
    assert tool.invoke(app, ["tables", "retry", "admissions"]).exit_code == 0
    assert release_tables(house, "released_table_admissions") == {}
    assert folder.exists()


FAULTS = [
    ("patient-1,99,2021-02-30,,50,F,x,w\n", "row 9, column admitted: no date"),
    ("patient-1,99,3 May,,50,F,x,w\n", "row 9, column admitted: no date"),
    ("patient-1,99,2021-05-03T10:00Z,,50,F,x,w\n", "row 9, column admitted: another time zone"),
    ("patient-1,99,9999-12-31,,50,F,x,w\n", "row 9, column admitted: lies outside"),
    ("patient-1,71,2021-05-03,,50,F,x,w\n", "row 9, column visit: has an id"),
    ("patient-1,99,2021-05-03,,old,F,x,w\n", "row 9, column age: is not an age"),
    (",99,2021-05-03,,50,F,x,w\n", "row 9, column pid: has no patient"),
    ("patient-1,99\n", "row 9: has 2 columns in place of 8"),
    (f"patient-1,99,2021-05-03,,50,F,x,{'word ' * 30}\n", "row 9, column ward: looks like free"),
]


def test_each_fault_is_one_line_by_row_and_column(house):
    for more, expected in FAULTS:
        write_tables(house.root, more=more)
        (said,) = release_tables(house, "table_admissions").values()
        assert expected in said
        assert "3 May" not in said.replace("2021-05-03", "")
        assert "9999" not in said.replace("such as 9999-12-31", "")


def test_an_identifier_that_is_left_stops_the_table(house):
    name = house.records[2]["text"].split(",")[0]
    write_tables(house.root, more=f"patient-2,99,2021-05-03,,50,F,x,of {name.upper()}\n")

    failed = release_tables(house)

    assert all("row 9, column ward: holds an identifier" in said for said in failed.values())
    assert len(failed) == 3
    assert name.lower() not in str(failed).lower()
    assert not (house.home / "released_tables" / "admissions").exists()


def test_an_undeclared_column_stops_the_table(house):
    house.configure(BASE + STUDY + TABLES.replace('keep = ["ward"]', ""))

    (said,) = release_tables(house, "table_admissions").values()

    assert "column 'ward' is not declared" in said or "column ward is not declared" in said


def test_a_table_that_changed_since_it_was_checked_stops(house):
    assert release_tables(house, "table_admissions") == {}
    write_tables(house.root, more="patient-1,99,2021-05-03,,50,F,x,w\n")

    (said,) = release_tables(house, "released_table_admissions").values()

    assert "not the one that was checked" in said


def test_settings_that_changed_since_the_check_stop_the_table(house):
    assert release_tables(house, "table_admissions") == {}
    changed = TABLES.replace('keep = ["ward"]', 'keep = ["ward", "admitted"]')
    house.configure(BASE + STUDY + changed.replace('dates = ["admitted"]', ""))

    (said,) = release_tables(house, "released_table_admissions").values()

    assert "its settings are not those" in said


def test_rare_combinations_that_stop_nothing_are_a_warning_in_the_evidence(house):
    quasi = TABLES.replace('quasi = ["sex"]', 'quasi = ["sex", "ward"]')
    rare = quasi.replace('keep = ["ward"]\n', "")
    house.configure(BASE + rare)
    assert release_tables(house) == {}

    found = build_evidence(house.batch, house.opened(), regime=Regime.HIPAA).results

    (own,) = (one for one in found if one.measure == "Table admissions")
    assert own.standing is MeasureStanding.WARNED
    assert "too small (combinations: 6" in own.reason
    assert "patients in groups of 1: 5" in own.reason


def test_rare_combinations_stop_where_that_is_asked(house):
    house.configure(BASE + TABLES.replace('quasi = ["sex"]', 'quasi = ["sex"]\nsmallest_group = 4'))

    failed = release_tables(house, "table_admissions", "released_table_admissions")

    assert "the rarest of 3" in failed["released_table_admissions"]
    events = house.instance.fetch_materializations(
        dg.AssetKey("released_table_admissions"), limit=1
    )
    assert not events.records
