"""What is removed, what is not, and that it is listed before."""

import os
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from deid_assets.config.operation import RetentionSettings
from deid_assets.defs.retaining import runs_due
from deid_assets.intake.reader import landing_store
from deid_assets.intake.states import look, look_at_all
from deid_assets.intake.withdrawal import releases_of, withdraw
from deid_assets.operation.retention import ASIDE, list_due_folders, remove

pytestmark = pytest.mark.long
LATER = datetime.now(UTC) + timedelta(days=31)
DAYS = "[retention]\narrivals = 30\nearlier = 30\n"


@pytest.fixture
def house(installation, note_records):
    """An installation with one withdrawn batch, one that is not, and a folder of an earlier one."""
    installation.configure(installation.default_settings + DAYS)
    installation.kept = installation.receive(note_records())
    installation.gone = installation.receive(note_records(8), name="more.jsonl")
    opened = installation.opened()
    settings, files = opened.settings, opened.files
    found = look(settings, files, installation.gone)
    withdraw(settings, files, releases_of(settings, files, ""), found)
    aside = installation.home / ASIDE
    aside.mkdir()
    (aside / "Zedmarlow.txt").write_text("Zedmarlow")
    installation.aside = aside
    return installation


def due(house, **when):
    opened = house.opened()
    return list_due_folders(opened.settings, opened.files, **when)


def test_nothing_is_due_before_its_days_are_over_or_without_days(house):
    assert due(house) == []
    house.configure(house.default_settings)
    assert due(house, now=LATER) == []


def test_files_of_withdrawn_batches_go_and_those_of_others_stay(house):
    found = due(house, now=LATER)
    assert [(one.kind, one.what, one.files) for one in found] == [
        ("arrivals", house.gone, 1),
        ("earlier", ASIDE, 1),
    ]
    assert not any("Zed" in one.line or "more" in one.line for one in found)
    settings = house.settings()
    remove(found, settings)
    assert [*(landing_store(settings) / house.gone).iterdir()] == []
    assert [*(landing_store(settings) / house.kept).iterdir()]
    assert not house.aside.exists()
    states = {one.batch: one.state for one in look_at_all(settings, house.opened().files)}
    assert states[house.gone] == "withdrawn"
    assert due(house, now=LATER) == []


def test_a_link_is_removed_and_not_what_it_leads_to(house, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("kept")
    (landing_store(house.settings()) / house.gone / "link").symlink_to(elsewhere)
    remove(due(house, now=LATER), house.settings())
    assert (elsewhere / "kept").exists()
    house.aside.symlink_to(elsewhere)
    assert due(house, now=LATER) == []


def test_the_job_lists_before_it_removes_and_keeps_what_was_removed(house):
    old = (datetime.now(UTC) - timedelta(days=40)).timestamp()
    os.utime(house.aside, (old, old))
    plan = house.run(None, "retention_plan", job="apply_retention")
    assert plan.success
    assert house.aside.exists()
    assert house.run(None, job="apply_retention").success
    assert not house.aside.exists()
    assert house.run(None, job="apply_retention").success
    files = house.opened().files
    (removed,) = files.read("retention", "all", "removed").to_pylist()
    assert (removed["kind"], removed["what"], removed["files"]) == ("earlier", ASIDE, 1)
    assert files.read("retention_plan", "all", "due").num_rows == 0


def test_runs_go_that_made_nothing_which_is_still_there():
    @dg.asset
    def made():
        return None

    retention = RetentionSettings(runs=30)
    with dg.DagsterInstance.ephemeral() as instance:
        first = dg.materialize([made], instance=instance).run_id
        last = dg.materialize([made], instance=instance).run_id
        failed = create_run_for_test(instance, "somebodys")
        instance.report_run_failed(failed)
        going = create_run_for_test(instance, "somebodys")
        assert [*runs_due(instance, retention)] == []
        found = {one.what for one in runs_due(instance, retention, now=LATER)}
        assert found == {first, failed.run_id}
        assert {last, going.run_id}.isdisjoint(found)
        assert [*runs_due(instance, RetentionSettings(), now=LATER)] == []
