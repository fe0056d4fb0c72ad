"""What leaves beside the notes, and what leads back to the originals: told, checked, or missing."""

import sqlite3
from types import SimpleNamespace

import pytest

from deid_assets.core.errors import ProvenanceError
from deid_assets.evidence.audits import AuditRecord
from deid_assets.evidence.build import build_evidence, find_release
from deid_assets.evidence.document import MeasureStanding, Regime
from deid_assets.evidence.leaving_models import missing_of_model
from deid_assets.evidence.page import evidence_html
from deid_assets.privacy.measurement import Measurement
from deid_assets.privacy.result import AuditResult, Control, Outcome, Rule, Subject
from deid_assets.store.files import UnsignedReceipt
from deid_assets.training.card import TAGGER

pytestmark = pytest.mark.long

SETTINGS = """
ensemble = ["stencil"]
recipes = []
policies = ["moved.toml"]
release_policy = "moved.toml"
languages = ["en"]
release.require = "none"
gates.min_gold_characters = 1
[vault]
url = "sqlite:///vault/vault.db"
[studies.heart]
policy = "hash"
[tables.admissions]
file = "admissions.csv"
patient = "pid"
ids = { visit = "visit" }
dates = ["admitted"]
quasi = ["sex"]
keep = ["ward"]
drop = ["name"]
"""
POLICY = """
name = "moved"
default = "tag"
[actions]
DATE = { action = "shift", max_days = 364 }
"""


@pytest.fixture(scope="module")
def made(installed, tmp_path_factory, note_records):
    """An installation with a vault that released eight notes and a table, for a study too."""
    with pytest.MonkeyPatch.context() as patch, installed(tmp_path_factory.mktemp("beside")) as one:
        one.detectors = ("stencil",)
        one.configure(SETTINGS)
        patch.chdir(one.root)
        patch.setenv("DEID_VAULT_KEY", "66" * 32)
        (one.root / "vault").mkdir(mode=0o700)
        (one.root / "moved.toml").write_text(POLICY)
        rows = [f"patient-{n},{70 + n},2024-05-0{n + 1},{'FM'[n % 2]},4B,Zed\n" for n in range(8)]
        header = "pid,visit,admitted,sex,ward,name\n"
        (one.root / "admissions.csv").write_text(header + "".join(rows) + "p,1,2024-05-01,F,4,Z\n")
        one.batch = one.receive(note_records())
        assert one.failures(one.run(one.batch)) == {}
        assert one.failures(one.run(None, job="release_tables")) == {}
        yield one
        one.instance.dispose()


@pytest.fixture
def house(made, copied, tmp_path, monkeypatch):
    """A copy of it."""
    with copied(made, tmp_path / "copy") as one:
        monkeypatch.chdir(one.root)
        monkeypatch.setenv("DEID_VAULT_KEY", "66" * 32)
        yield one


def built(house, study=""):
    opened = house.opened()
    name = opened.of_study(study).releases.name_of(house.batch) if study else house.batch
    batch, own = find_release(name, opened)
    return build_evidence(batch, own, regime=Regime.HIPAA)


def said_in(document, read_page):
    return read_page(evidence_html(document)).text


def gaps(document):
    return {gap.measure: gap.reason for gap in document.missing}


def test_columns_joins_groups_and_the_way_back_are_told(
    house, read_page, leaked, note_records, say
):
    (path,) = (house.home / "released").glob("b-*/notes.jsonl")
    asked = ["--by", "nurse", "--reason", "recall", "--out", house.root / "back.jsonl"]
    assert say("reidentify", path, "--vault", "sqlite:///vault/vault.db", *asked)[0] == 0

    document = built(house)
    text = said_in(document, read_page)

    assert "8 rows and 5 columns of the table admissions leave with the notes" in text
    assert "Left out: 1 row of patients without a released note" in text
    assert "Ids of the kind visit join other tables" in text
    assert "Dates of a patient are moved by the days by which those in their notes are" in text
    assert "Counted were combinations of sex" in text
    assert "Its column ward is kept and in no count of groups" in text
    assert "What the table admissions tells of a person together" in text
    assert "what was not found in a note was not searched for" in text
    (own,) = (one for one in document.results if one.measure == "Table admissions")
    # groups of four pass, since the settings ask for none, and are small for this document
    assert own.standing is MeasureStanding.WARNED
    assert "holds the originals of 8 notes of 8 patients" in text
    assert "gives back 8 of the 8 notes of this release" in text
    assert "reidentify\n1\n1" in text
    assert "What stands for DATE is drawn from the key" in text
    assert not {"check of the vault", "table admissions"} & gaps(document).keys()
    assert leaked(note_records(), text) == []
    assert "nurse" not in text


def test_a_study_is_told_that_the_vault_is_of_the_same_notes(house, read_page):
    document = built(house, "heart")
    text = said_in(document, read_page)

    assert "of the installation's own release of these notes were sealed in a vault" in text
    assert "gives back 0 of the 8 notes of this release" in text
    assert "8 rows and 5 columns of the table admissions" in text
    # in the remedy of what is missing alone
    assert evidence_html(document).count(house.batch) == 1


def without_vault(house, monkeypatch):
    (house.root / "vault" / "vault.db").unlink()


def with_another_key(house, monkeypatch):
    monkeypatch.setenv("DEID_VAULT_KEY", "77" * 32)


def with_no_vault_named(house, monkeypatch):
    house.configure(SETTINGS.replace('url = "sqlite:///vault/vault.db"', ""))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without_vault, "its database is not there"),
        (with_another_key, "it cannot be opened with the keys that are given"),
        (with_no_vault_named, "the settings name none any more"),
    ],
)
def test_a_vault_that_was_not_checked_is_missing(house, monkeypatch, change, reason):
    change(house, monkeypatch)

    document = built(house)

    assert gaps(document)["check of the vault"] == reason
    assert document.verdict is MeasureStanding.UNMEASURED
    assert not (house.root / "vault" / "vault.db").exists() or change is not without_vault


@pytest.mark.slow  # makes the release again
def test_a_vault_that_the_settings_no_more_name_is_not_denied(house, read_page):
    named = SETTINGS.replace('[vault]\nurl = "sqlite:///vault/vault.db"\n', "")
    house.configure(named)
    assert house.failures(house.run(house.batch)) == {}
    assert house.failures(house.run(None, job="release_tables")) == {}

    document = built(house)

    assert "sealed nothing into a vault; an earlier one may have" in said_in(document, read_page)
    assert "a database lies in the folder vault" in gaps(document)["check of the vault"]

    house.configure(SETTINGS)  # and the same release beside the vault that is named again
    found = built(house)
    assert "holds the originals of 8 notes of 8 patients" in said_in(found, read_page)
    assert "check of the vault" not in gaps(found)

    house.configure(named)
    (house.root / "vault" / "vault.db").unlink()
    told = said_in(built(house), read_page)
    assert "whether an earlier one sealed originals of these notes is not known here" in told
    assert "check of the vault" not in gaps(built(house))

    sealed = UnsignedReceipt("1", counts={"sealed_edits": 3})  # as of an earlier policy
    house.opened().files.write("redacted_notes_earlier", house.batch, {}, receipt=sealed)
    assert "another redaction of the batch sealed" in gaps(built(house))["check of the vault"]


def altered_table(house):
    with (house.home / "released_tables" / "admissions" / "admissions.csv").open("a") as file:
        file.write("\n")


def altered_receipt_of_table(house):
    (path,) = house.store.glob("*/released_table_admissions/all/receipt.json")
    path.write_text(path.read_text().replace('"rows": 8', '"rows": 9'))


def altered_vault(house):
    with sqlite3.connect(house.root / "vault" / "vault.db") as connection:
        names = connection.execute("select name from sqlite_master where type='table'").fetchall()
        (table,) = (name for (name,) in names if "edits" in name)
        connection.execute(f"delete from {table} where position = 0")


@pytest.mark.parametrize("alter", [altered_table, altered_receipt_of_table, altered_vault])
def test_what_was_altered_is_refused(house, alter):
    alter(house)

    with pytest.raises(ProvenanceError):
        built(house)


def test_a_table_whose_groups_nobody_counted_is_missing(house):
    house.configure(SETTINGS.replace('quasi = ["sex"]\nkeep = ["ward"]', 'keep = ["ward", "sex"]'))

    assert gaps(built(house))["table admissions"].startswith("its settings are others")

    assert house.failures(house.run(None, job="release_tables")) == {}
    assert gaps(built(house))["groups of patients in table admissions"].startswith("no column")


def test_a_table_that_was_taken_back_does_not_leave(house, read_page, say):
    assert say("tables", "withdraw", "admissions")[0] == 0

    text = said_in(built(house), read_page)

    assert "Of admissions, which the settings name as a table, nothing is released" in text
    assert "leave with the notes. Left out" not in text


def test_the_job_writes_drafts_of_all_releases_and_none_of_one_that_does_not_hold(house):
    names = [house.batch, house.opened().of_study("heart").releases.name_of(house.batch)]
    pages = [
        house.home / "reports" / f"evidence-{name}-{regime}.html"
        for name in names
        for regime in ("hipaa", "dpia")
    ]

    assert house.failures(house.run(None, job="evidence_files")) == {}

    assert all("Draft: not for a decision" in page.read_text() for page in pages)

    with (house.home / "released" / house.batch / "notes.jsonl").open("a") as file:
        file.write("\n")
    (said,) = house.failures(house.run(None, job="evidence_files")).values()

    assert f"{house.batch}: " in said
    assert [page.exists() for page in pages] == [False, False, True, True]


READ = {"training": 30, "training read": 30, "held_out": 30, "held_out read": 0}


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        (READ, ""),
        ({**READ, "training read": 29}, "29 of the 30 notes"),
        ({**READ, "held_out read": 2}, "trained on 2 of the held-out notes"),
        ({}, "0 of the 0 notes"),
    ],
)
def test_an_audit_of_a_model_counts_where_the_model_learnt_these_notes(tmp_path, read, reason):
    (tmp_path / TAGGER).write_text("{}")
    result = AuditResult(
        audit="membership",
        version="1",
        title="Is it told?",
        outcome=Outcome.PASSED,
        reason="chance",
        blind_spots=("Everything else.",),
        figures=(Measurement.share("told", 1, 40, chance=0.5, unit="notes", group="all"),),
        controls=(Control(name="planted", expected=True, reacted=True, description="always"),),
        rules=(Rule(name="few", passed=True, description="at most so many"),),
        subject=Subject(key="k", read=read),
    )
    record = AuditRecord("membership", "Is it told?", Outcome.PASSED, "chance", None, result)
    privacy = SimpleNamespace(model=tmp_path)
    house = SimpleNamespace(settings=SimpleNamespace(privacy=privacy))
    release = SimpleNamespace(installation=SimpleNamespace(house=house))

    found = [gap.reason for gap in missing_of_model(release, [record])]

    assert [reason in one for one in found] == ([True] if reason else [])
