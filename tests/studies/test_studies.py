"""Studies: releases of their own over the spans of one detection."""

import json
import re
from datetime import date

import dagster as dg
import pytest
from typer.testing import CliRunner

from deid_assets.assets.release import _release
from deid_assets.cli import app
from deid_assets.defs.consenting import tick

pytestmark = pytest.mark.long

BASE = """\
ensemble = ["counting"]
recipes = []
policies = ["tag"]
release_policy = "tag"
languages = ["en"]
release.require = "none"
gates.quarantined = 1.0
gates.min_gold_characters = 100000
"""
STUDIES = """
[studies.heart]
policy = "shifted.toml"
recipients = ["team:heart"]
[studies.lung]
policy = "shifted.toml"
[studies.letters]
policy = "tag"
consent = "consent.txt"
[studies.letters.notes.meta]
kind = ["letter"]
[studies.nobody]
policy = "tag"
[studies.nobody.notes.meta]
kind = ["X-ray"]
"""
LETTERS = """
[studies.letters]
policy = "tag"
consent = "consent.txt"
"""
LATE = """
[studies.late]
policy = "blackout"
[studies.late.release]
require = "none"
approval = true
[studies.late.notes.since]
day = 2020-03-01
[studies.late.notes.until]
day = 2020-05-31
"""
POLICY = """\
name = "shifted"
default = "hash"
[actions]
DATE = { action = "shift", max_days = 364 }
"""
COUNTING = '''
"""Test detector that writes a line for every note that it reads.

In redacted text it finds one thing more: the word after a tag.
"""

import os
import re

from deid_assets import Phi, Span, SpanSet

NAMES, RECORDS = re.compile(r"\\bZed[a-z]+\\b"), re.compile(r"\\b[0-9]{7}\\b")
DATES = re.compile(r"\\b[0-9]{4}-[0-9]{2}-[0-9]{2}\\b")
AFTER = re.compile(r"(?<=\\[NAME\\], )record")


class Detector:
    name = "@NAME@"
    version = "1"
    labels = frozenset({Phi.NAME, Phi.MRN, Phi.DATE})

    def detect(self, notes):
        with open(os.environ["READ_BY_DETECTOR"], "a") as file:
            file.writelines("read\\n" for _ in notes)
        return [SpanSet.of(note, self._spans(note)) for note in notes]

    def _spans(self, note):
        pairs = ((Phi.NAME, NAMES), (Phi.MRN, RECORDS), (Phi.DATE, DATES), (Phi.NAME, AFTER))
        for label, pattern in pairs:
            for match in pattern.finditer(note.text):
                yield Span(match.start(), match.end(), label, 0.9, self.name)
'''


@pytest.fixture
def house(installation, note_records, write_detector, detector_site, monkeypatch):
    """An installation with four studies, of which one takes nothing, and its notes."""
    if not (detector_site / "deid_counting").exists():
        write_detector(detector_site, "counting", body=COUNTING)
    installation.detectors = ("counting",)
    installation.root.mkdir(parents=True, exist_ok=True)
    installation.reads = installation.root / "reads"
    installation.reads.touch()
    monkeypatch.setenv("READ_BY_DETECTOR", str(installation.reads))
    monkeypatch.chdir(installation.root)
    (installation.root / "shifted.toml").write_text(POLICY)
    (installation.root / "consent.txt").write_text("patient-1\npatient-2\npatient-3\npatient-99\n")
    installation.configure(BASE + STUDIES)
    installation.records = [of_kind(at, one) for at, one in enumerate(note_records())]
    return installation


def of_kind(place, record):
    """A note of which every other one is a letter, with a date in its text."""
    text = f"{record['text']}Seen on 2021-05-{place + 10}.\n"
    meta = {"kind": "letter" if place % 2 else "summary", "day": f"2020-0{place + 1}-01"}
    return {**record, "text": text, "meta": meta}


def released(installation, study):
    """Folder name to rows of a study's releases."""
    folder = installation.home / "studies" / study / "released"
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return {
        path.name: [json.loads(line) for line in (path / "notes.jsonl").read_text().splitlines()]
        for path in found
        if path.is_dir()
    }


def manifest(installation, study):
    (path,) = (installation.home / "studies" / study / "released").glob("*/manifest.json")
    return json.loads(path.read_text())


def say(*arguments, given=None):
    result = CliRunner().invoke(app, [str(one) for one in arguments], input=given)
    return result.exit_code, result.output


def materialized(installation, result):
    keys = (event.asset_key for event in result.get_asset_materialization_events())
    return {key.to_user_string() for key in keys}


def check_no_join(installation):
    """Try to join the releases of two studies over the same notes, by all that they carry."""
    ((one),) = released(installation, "heart").values()
    ((two),) = released(installation, "lung").values()
    assert len(one) == len(two) == 8

    for column in ("id", "patient_id"):
        assert not {row[column] for row in one} & {row[column] for row in two}
    assert [row["id"] for row in one] == sorted(row["id"] for row in one)
    hashed = [set(re.findall(r"\[\w+:\w+\]", row["text"])) for row in (*one, *two)]
    assert not set.union(*hashed[:8]) & set.union(*hashed[8:])
    assert shifts(one) != shifts(two)

    def digests(study):
        found = manifest(installation, study)
        return {link["digest"] for link in found["receipts"].values()} | {found["page"]}

    assert not digests("heart") & digests("lung")
    assert not released(installation, "heart").keys() & released(installation, "lung").keys()
    assert installation.batch not in json.dumps(manifest(installation, "heart"))


def shifts(rows):
    """Story to how far its date moved."""
    moved = {}
    for row in rows:
        story = re.search(r"\. (\w+ \w+ \w+)", row["text"])[1]
        moved[story] = date.fromisoformat(re.search(r"Seen on (\S+)\.", row["text"])[1])
    return moved


def test_studies_are_released_from_one_detection_and_withdrawn_apart(house):
    house.batch = house.receive(house.records)
    result = house.run(house.batch)

    assert house.failures(result) == {}
    assert "study/heart/released_corpus" in materialized(house, result)
    check_no_join(house)
    # What the search found in the installation's own redacted text is covered in the studies too.
    (own,) = (house.home / "released").glob("b-*/notes.jsonl")
    (letters,) = released(house, "letters").values()
    assert "record" not in own.read_text()
    assert all("record" not in row["text"] for row in letters)
    # Of three who agreed two have a letter; a fourth is in no batch.
    assert len(letters) == 2
    assert released(house, "nobody") == {}
    assert "study/nobody/redacted_notes" not in materialized(house, result)
    assert manifest(house, "heart")["recipients"] == ["team:heart"]

    check_own_counts(house)

    code, said = say("studies", "list")
    assert code == 1
    assert "study nobody: nothing is released" in said.replace("\n", " ")
    assert "1 of the 4 patients of consent.txt are in no batch (line 4)" in said.replace("\n", " ")
    check_verified(house)
    check_late_study(house)
    check_leak(house)
    check_withdrawal(house)
    check_erasure(house)


def check_own_counts(house):
    """A manifest counts the notes of its study, of which letters has 2 of the batch's 8."""
    found = manifest(house, "letters")
    counts = [row["counts"] for rows in found["verdicts"].values() for row in rows.values()]
    assert found["counts"]["notes"] == 2
    assert found["measurement"]["annotated_notes"] == 2
    assert found["measurement"]["gold_spans"] == 4
    assert not {"left_out", "agreed"} & set().union(*counts, found["counts"])
    of_notes = ("notes", "entered", "left", "taken", "notes_searched", "annotated_notes")
    assert max(one[name] for one in counts for name in of_notes if name in one) == 2


def check_verified(house):
    (folder,) = (house.home / "studies" / "heart" / "released").glob("r-*")
    code, said = say("verify", folder, "--public-key", house.home / "release-public-key.pem")
    assert code == 0, said


def check_late_study(house):
    """A study that comes later calls no detector, and waits for its own approval."""
    before = house.reads.read_text()
    house.configure(BASE + STUDIES + LATE)
    result = house.run(house.batch, job="study__late")

    assert house.failures(result) == {}
    assert house.reads.read_text() == before
    assert released(house, "late") == {}
    page = house.home / "reports" / f"release-study_late-{house.batch}.html"
    assert say("approve", page, "--by", "anna@example.org")[0] == 0
    result = house.run(
        house.batch,
        *(["study", "late", name] for name in ("released_corpus", "release_diff")),
        job="approve_release__late",
    )

    assert house.failures(result) == {}
    ((rows),) = released(house, "late").values()
    assert len(rows) == 3
    assert manifest(house, "late")["approval"]["by"] == "anna@example.org"


def check_leak(house):
    code, said = say("leak", "--values", "-", "--json", given="relieved by rest\n")
    found = json.loads(said[: said.rindex("}") + 1])["found"]
    assert code == 1
    assert {one["study"] for one in found} == {"", "heart", "lung"}
    assert {one["batch"] for one in found} == {house.batch}


def check_withdrawal(house):
    """A study's release is taken back alone, stays away, and comes back when asked for."""
    assert say("studies", "withdraw", "lung", house.batch)[0] == 0
    assert released(house, "lung") == {}
    assert released(house, "heart")
    result = house.run(house.batch, job="study__lung")
    assert house.failures(result) == {}
    assert released(house, "lung") == {}

    assert say("studies", "retry", "lung", house.batch)[0] == 0
    assert house.failures(house.run(house.batch, job="study__lung")) == {}
    ((rows),) = released(house, "lung").values()
    assert len(rows) == 8


def check_erasure(house):
    """An erased patient leaves every study."""
    arguments = ("--by", "Officer", "--reason", "Objection")
    code, said = say("erase", "-", *arguments, given="patient-1\n")
    assert code == 0, said
    for study in ("heart", "lung", "letters", "late"):
        assert released(house, study) == {}
    result = house.run(house.batch)
    assert house.failures(result) == {}
    for study in ("heart", "lung"):
        ((rows),) = released(house, study).values()
        assert len(rows) == 7
    (letters,) = released(house, "letters").values()
    assert len(letters) == 1


def test_who_agrees_no_more_is_in_no_release_whatever_becomes_of_the_next(house):
    approved = LETTERS + '[studies.letters.release]\nrequire = "none"\napproval = true\n'
    consent = house.root / "consent.txt"
    house.configure(BASE + LETTERS)
    house.batch = house.receive(house.records)
    assert house.failures(house.run(house.batch)) == {}
    ((rows),) = released(house, "letters").values()
    assert len(rows) > 2

    # Fewer agree, and the next release waits for an approval.
    consent.write_text("patient-1\n")
    house.configure(BASE + approved)
    assert house.failures(house.run(house.batch, job="study__letters")) == {}
    assert released(house, "letters") == {}
    house.configure(BASE + LETTERS)
    assert house.failures(house.run(house.batch, job="study__letters")) == {}
    ((rows),) = released(house, "letters").values()
    assert 0 < len(rows) <= 2

    # Nobody of the batch agrees.
    consent.write_text("patient-99\n")
    assert house.failures(house.run(house.batch, job="study__letters")) == {}
    assert released(house, "letters") == {}
    assert "study letters: nothing is released" in say("studies", "list")[1].replace("\n", " ")


def test_without_studies_the_graph_has_none(house):
    house.configure(BASE)
    keys = house.definitions().resolve_asset_graph().get_all_asset_keys()

    assert not [key for key in keys if "study" in key.path]
    assert dg.AssetKey("released_corpus") in keys


def stop_the_house(house):
    """Settings under which the installation's own batch fails, and the study is not reached."""
    house.detectors = ("counting", "stencil")
    ensemble = BASE.replace('["counting"]', '["counting", "stencil"]')
    house.configure(ensemble + "detectors.stencil.import_fails = true\n" + LETTERS)


def test_who_agrees_no_more_is_taken_back_though_the_installations_own_batch_stops(house):
    consent = house.root / "consent.txt"
    house.configure(BASE + LETTERS)
    house.batch = house.receive(house.records)
    assert house.failures(house.run(house.batch)) == {}
    ((rows),) = released(house, "letters").values()
    assert len(rows) == 3

    # The list says that it no longer holds, before anything is made.
    consent.write_text("patient-1\npatient-3\n")
    code, said = say("studies", "list")
    assert code == 1
    assert "1 of 3 released notes are of patients who agree no more" in said.replace("\n", " ")
    assert f"deid studies withdraw letters {house.batch}" in said.replace("\n", " ")

    # The batch's own release stops before the study is reached.
    stop_the_house(house)
    assert house.failures(house.run(house.batch, "raw_notes", "spans_stencil", "merged_spans"))
    assert released(house, "letters") == {}


@pytest.mark.slow
def test_lists_that_are_emptied_or_gone_and_studies_that_leave_are_said_and_taken_back(house):
    consent = house.root / "consent.txt"
    house.configure(BASE + LETTERS)
    house.batch = house.receive(house.records)
    assert house.failures(house.run(house.batch)) == {}

    # What cannot be told is said, with the command; nothing is made.
    consent.unlink()
    code, said = say("studies", "list")
    assert code == 1
    assert "whether the patients of its 3 released notes still agree" in said.replace("\n", " ")

    # So is a study that left the settings.
    house.configure(BASE)
    code, said = say("studies", "list")
    assert code == 1
    assert "left the settings with 3 notes released" in said.replace("\n", " ")

    # Ids are compared as they stand: who is written otherwise did not agree.
    house.configure(BASE + LETTERS)
    consent.write_text("PATIENT-1\npatient-2\npatient-3\n")
    assert "1 of 3 released notes are" in say("studies", "list")[1].replace("\n", " ")

    # The sensor looks at the list, and not at what the location was loaded with.
    consent.write_text("\n")
    first = tick(house.opened(), cursor=None)
    assert f"batch {house.batch} from study letters" in first.skip_reason.skip_message
    assert released(house, "letters") == {}
    assert isinstance(tick(house.opened(), cursor=first.cursor), dg.SkipReason)
    assert "names nobody, and nothing is released" in say("studies", "list")[1].replace("\n", " ")

    # Who agrees again is released again, and nobody has to ask for it.
    consent.write_text("patient-1\npatient-3\n")
    assert house.failures(house.run(house.batch)) == {}
    ((rows),) = released(house, "letters").values()
    assert len(rows) == 2
    consent.write_text("")
    assert house.failures(house.run(house.batch)) == {}
    assert released(house, "letters") == {}


@pytest.mark.slow
def test_a_list_that_is_gone_keeps_no_other_study_from_being_taken_back(house):
    house.configure(BASE + LETTERS)
    house.batch = house.receive(house.records)
    assert house.failures(house.run(house.batch)) == {}
    assert released(house, "letters")

    gone = house.root / "gone.txt"
    gone.write_text("patient-1\n")
    house.configure(BASE + '[studies.apart]\npolicy = "tag"\nconsent = "gone.txt"\n' + LETTERS)
    loaded = house.opened()
    assert "apart" in loaded.snapshot.studies
    gone.unlink()
    (house.root / "consent.txt").write_text("patient-1\npatient-3\n")
    found = tick(loaded, cursor=None)

    assert isinstance(found, dg.SkipReason)
    assert "gone.txt" in found.skip_message
    assert released(house, "letters") == {}


@pytest.mark.slow
def test_who_takes_the_consent_back_while_a_release_is_written_is_in_none(house):
    house.configure(BASE + LETTERS)
    house.batch = house.receive(house.records)
    assert house.failures(house.run(house.batch)) == {}
    study = house.opened().of_study("letters")
    receipt = study.files.receipt(study.names.released, house.batch)
    notes = study.files.read(study.names.released, house.batch, "notes")
    assert study.study.consent >= {"patient-2"}

    (house.root / "consent.txt").write_text("patient-1\npatient-3\n")
    _release(study, study.study.policy, notes, receipt)

    assert released(house, "letters") == {}
