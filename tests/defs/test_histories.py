"""Detectors that are new, upgraded, broken or gone: what is told, and what is launched."""

import json
import shutil
import sys
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.test_utils import create_run_for_test

from deid_assets import plugins
from deid_assets.core.assets import Family
from deid_assets.defs.build import definitions_of
from deid_assets.defs.build_spans import list_expected_spans
from deid_assets.defs.histories import LAUNCHES, SENSOR
from deid_assets.intake.stops import record_stop
from deid_assets.runtime.histories import DetectorState, histories
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.snapshot import Snapshot
from deid_assets.store.files import UnsignedReceipt

pytestmark = pytest.mark.long


@pytest.fixture
def site(tmp_path, write_detector, monkeypatch):
    """A folder on the path with the detector ``newcomer``."""
    folder = tmp_path / "more"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    write_detector(folder, "newcomer")
    yield folder
    sys.modules.pop("deid_newcomer", None)


@pytest.fixture
def house(installation, site):
    """An installation with three batches that were read, and the ensemble's spans of them."""
    installation.batches = ["b-1", "b-2", "b-3"]
    installation.detectors = ("stencil", "newcomer")
    for batch in installation.batches:
        written(installation, "raw_notes", batch, "1")
    made(installation, "stencil", *installation.batches)
    return installation


def written(house, asset, batch, code):
    """Write a receipt into the store, as the assets do."""
    table = pa.table({"note_id": pa.array([], pa.string())})
    house.opened().files.write(asset, batch, {"notes": table}, receipt=UnsignedReceipt(code))


def made(house, name, *batches):
    """Write spans of some batches by the detector that is there now."""
    code = list_expected_spans(taken(house))[name].code
    for batch in batches:
        written(house, Family.SPANS.of(name), batch, code)


def taken(house):
    """The snapshot of what is installed now, of the test's detectors."""
    found = plugins.available()
    names = [name for name in house.detectors if name in found]
    return Snapshot.take(house.settings(), plugins={name: found[name] for name in names})


class Ticks:
    """The detector sensor, asked again and again with its own cursor."""

    def __init__(self, house):
        self.house, self.cursor = house, None

    def __call__(self):
        snapshot = self.snapshot()
        repository = definitions_of(snapshot).get_repository_def()
        context = dg.build_sensor_context(
            instance=self.house.instance,
            repository_def=repository,
            cursor=self.cursor,
            resources={"installation": Installation(snapshot.settings, snapshot=snapshot)},
        )
        with context:
            told = repository.get_sensor_def(SENSOR).evaluate_tick(context)
        self.cursor = told.cursor or self.cursor
        self.requests = told.run_requests
        self.skipped = told.skip_message
        self.observed = {
            event.asset_key.to_user_string(): {
                name: value.value for name, value in event.metadata.items()
            }
            for event in told.asset_events
            if isinstance(event, dg.AssetObservation)
        }
        self.checks = {
            event.check_name: event
            for event in told.asset_events
            if isinstance(event, dg.AssetCheckEvaluation)
        }
        return self

    def snapshot(self):
        return taken(self.house)

    def asked(self):
        """Assets to the batches of the backfills that were asked for."""
        return {
            key.to_user_string(): set(subset.get_partition_keys())
            for request in self.requests
            for key, subset in request.asset_graph_subset.partitions_subsets_by_asset_key.items()
        }


@pytest.fixture
def ticks(house, site):
    return Ticks(house)


def launching(house, kinds, only=()):
    told = f"backfill.launch = {kinds}\nbackfill.only = {[*only]}\n[gates]"
    house.configure(house.default_settings.replace("[gates]", told))


def test_a_new_detector_is_offered_once_and_not_launched(ticks):
    told = ticks()

    assert told.requests == []
    assert told.observed["spans_newcomer"]["state"] == "new"
    assert told.observed["spans_newcomer"]["history"] == "0 of 3 batches"
    assert "detector__newcomer" in told.observed["spans_newcomer"]["what_to_do"]
    assert told.observed["spans_stencil"]["state"] == "complete"
    assert not told.checks["complete"].passed
    assert told.checks["complete"].severity is dg.AssetCheckSeverity.WARN
    assert told.checks["usable"].passed
    assert ticks().skipped == "every detector is as it was told"


def test_what_was_made_meanwhile_is_told(house, ticks):
    ticks()
    made(house, "newcomer", *house.batches[:2])

    told = ticks()
    assert told.observed.keys() == {"spans_newcomer", "detector_histories"}
    assert told.observed["spans_newcomer"]["history"] == "2 of 3 batches"
    assert told.observed["spans_newcomer"]["state"] == "incomplete"
    made(house, "newcomer", house.batches[2])
    assert ticks().observed["spans_newcomer"]["state"] == "complete"
    assert all(check.passed for check in ticks.checks.values())


def test_told_to_it_launches_the_backfill_of_the_new_detector_alone(house, ticks):
    launching(house, ["new"])
    made(house, "newcomer", house.batches[0])

    told = ticks()
    assert told.asked() == {"spans_newcomer": set(house.batches[1:])}
    (request,) = told.requests
    assert request.requires_backfill_daemon()
    assert request.tags["deid/history"] == "newcomer"
    assert request.tags["dagster/priority"] == "-1"


def test_it_launches_those_alone_that_the_settings_name(house, ticks):
    launching(house, ["new"], only=["other"])
    assert ticks().requests == []

    launching(house, ["new"], only=["newcomer", "other"])
    assert ticks().asked() == {"spans_newcomer": set(house.batches)}


def test_it_launches_no_second_backfill_while_one_goes_on_and_gives_up_after_some(house, ticks):
    launching(house, ["new"])
    ticks()
    backfill = PartitionBackfill.from_asset_graph_subset(
        backfill_id="ongoing",
        backfill_timestamp=0.0,
        tags={},
        dynamic_partitions_store=house.instance,
        asset_graph_subset=ticks.requests[0].asset_graph_subset,
        title=None,
        description=None,
        run_config=None,
    )
    house.instance.add_backfill(backfill)
    assert ticks().requests == []

    ended = backfill.with_status(BulkActionStatus.COMPLETED_FAILED)
    house.instance.update_backfill(ended)
    for _ in range(LAUNCHES - 1):
        assert ticks().asked() == {"spans_newcomer": set(house.batches)}
    assert ticks().requests == []


def test_a_batch_whose_run_goes_on_is_left_to_it(house, ticks):
    launching(house, ["new"])
    create_run_for_test(
        house.instance,
        status=dg.DagsterRunStatus.STARTED,
        tags={"dagster/partition": house.batches[0]},
    )

    assert ticks().asked() == {"spans_newcomer": set(house.batches[1:])}


def test_a_batch_in_which_it_was_stopped_is_not_tried_again(house, ticks):
    launching(house, ["new"])
    record_stop(
        house.opened().files,
        "spans_newcomer",
        house.batches[0],
        ["answered: too many notes"],
        unsigned=UnsignedReceipt("1"),
        is_error=False,
    )

    told = ticks()
    assert told.asked() == {"spans_newcomer": set(house.batches[1:])}


def test_files_that_changed_since_the_location_was_loaded_launch_nothing(house, ticks, site):
    launching(house, ["new"])
    snapshot = ticks.snapshot()
    ticks.snapshot = lambda: snapshot
    (site / "deid_newcomer" / "words.txt").write_text("more")

    assert "plugin 'newcomer' changed since this process started" in ticks().skipped


def test_an_upgraded_detectors_spans_are_kept_named_and_marked(house, ticks, site):
    made(house, "newcomer", *house.batches)
    old = plugins.available()["newcomer"].code_version
    (site / "deid_newcomer" / "words.txt").write_text("more")
    sys.modules.pop("deid_newcomer", None)

    told = ticks()
    shown = told.observed["spans_newcomer"]
    assert shown["state"] == "upgraded"
    assert shown["earlier_spans"] == f"3 of version {old}"
    assert told.requests == []
    assert not told.checks["up_to_date"].passed
    assert house.opened().files.batches("spans_newcomer") == house.batches

    launching(house, ["upgraded"])
    assert ticks().asked() == {"spans_newcomer": set(house.batches)}


def test_other_options_make_its_spans_stale_and_not_upgraded(house, ticks):
    made(house, "newcomer", *house.batches)
    house.configure(house.default_settings + '[detectors.newcomer]\nskip = "DATE"\n')

    assert ticks().observed["spans_newcomer"]["state"] == "stale"


def test_a_removed_detectors_spans_are_kept_and_shown_by_version(house, ticks, site):
    made(house, "newcomer", *house.batches)
    old = plugins.available()["newcomer"].code_version
    shutil.rmtree(site / "deid_newcomer")
    shutil.rmtree(site / "deid_newcomer-1.0.dist-info")

    told = ticks()
    (spec,) = [
        spec
        for spec in definitions_of(ticks.snapshot()).resolve_all_asset_specs()
        if spec.key == dg.AssetKey("spans_newcomer")
    ]
    assert spec.group_name == "removed_detectors"
    assert f"3 of version {old}" in spec.description
    assert told.observed["spans_newcomer"]["state"] == "removed"
    assert not told.checks["installed"].passed
    assert house.opened().files.batches("spans_newcomer") == house.batches


def test_a_broken_detector_is_told_with_its_remedy(house, ticks, site):
    made(house, "newcomer", house.batches[0])
    shutil.rmtree(site / "deid_newcomer")

    told = ticks()
    assert told.observed["spans_newcomer"]["state"] == "broken"
    assert "install the plugin again" in told.observed["spans_newcomer"]["what_to_do"]
    assert not told.checks["usable"].passed


def test_the_list_of_detectors_can_be_made_at_once(house, ticks):
    made(house, "newcomer", house.batches[0])
    result = (
        definitions_of(ticks.snapshot())
        .resolve_implicit_global_asset_job_def()
        .execute_in_process(
            asset_selection=[dg.AssetKey("detector_histories")], instance=house.instance
        )
    )

    assert result.success
    rows = house.opened().files.read("detector_histories", "all", "detectors").to_pylist()
    states = {row["detector"]: row["state"] for row in rows}
    assert states == {"stencil": "complete", "newcomer": "incomplete"}


def test_a_damaged_receipt_is_of_an_unknown_version(house, ticks):
    made(house, "newcomer", *house.batches)
    receipt = Path(house.store, "internal", "spans_newcomer", house.batches[0], "receipt.json")
    receipt.write_text(json.dumps({"code_version": 3}) + "{")

    found = histories(house.store, list_expected_spans(ticks.snapshot()))["newcomer"]
    assert found.state is DetectorState.UPGRADED
    assert found.kept == "1 of version unknown"
