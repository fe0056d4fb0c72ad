"""What Dagster does and we rely on.

A failure here after an upgrade reads: Dagster changed, not we.
"""

import dagster as dg
import pytest
from dagster._core.definitions.assets.graph.asset_graph_subset import AssetGraphSubset
from dagster._core.execution.backfill import PartitionBackfill
from dagster_shared.check import CheckError

batches = dg.DynamicPartitionsDefinition(name="batches")
BATCHES = ["b-1", "b-2", "b-3"]


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as made:
        made.add_dynamic_partitions("batches", BATCHES)
        yield made


@dg.asset
def checked():
    return dg.MaterializeResult()


@dg.asset(deps=[checked])
def child():
    return dg.MaterializeResult()


def failing_check(severity=dg.AssetCheckSeverity.ERROR):
    @dg.asset_check(asset=checked, blocking=True)
    def verdict():
        return dg.AssetCheckResult(passed=False, severity=severity)

    return verdict


@dg.asset_check(asset=checked, blocking=True)
def raising_check():
    raise LookupError


@dg.multi_asset_check(specs=[dg.AssetCheckSpec("verdict", asset="checked", blocking=True)])
def silent_check():
    yield from ()


@dg.asset(
    name="checked", check_specs=[dg.AssetCheckSpec("verdict", asset="checked", blocking=True)]
)
def fails_then_stores():
    yield dg.AssetCheckResult(check_name="verdict", passed=False)
    yield dg.MaterializeResult()


@dg.asset(
    name="checked", check_specs=[dg.AssetCheckSpec("verdict", asset="checked", blocking=True)]
)
def fails_then_raises():
    yield dg.AssetCheckResult(check_name="verdict", passed=False)
    raise dg.Failure(description="not stored", allow_retries=False)


@pytest.mark.parametrize(
    ("definitions", "parent_made", "child_made"),
    [
        pytest.param(
            [checked, failing_check()],
            True,
            False,
            id="a failed check of its own: the data is written",
        ),
        pytest.param(
            [fails_then_stores], True, False, id="a failed check in the asset: the data is written"
        ),
        pytest.param(
            [fails_then_raises], False, False, id="a failed check, then raise: nothing is written"
        ),
        pytest.param([checked, raising_check], True, False, id="a check that raises blocks"),
        pytest.param([checked, silent_check], True, False, id="a check without an answer blocks"),
        pytest.param(
            [checked, failing_check(dg.AssetCheckSeverity.WARN)],
            True,
            True,
            id="a warning does not block",
        ),
    ],
)
def test_a_blocking_check_gates_within_its_run(instance, definitions, parent_made, child_made):
    result = dg.materialize([*definitions, child], instance=instance, raise_on_error=False)

    assert result.success == child_made
    assert (instance.get_latest_materialization_event(checked.key) is not None) == parent_made
    assert (instance.get_latest_materialization_event(child.key) is not None) == child_made


def test_a_failed_result_is_recorded_though_the_asset_raises(instance):
    result = dg.materialize([fails_then_raises], instance=instance, raise_on_error=False)

    assert [found.passed for found in result.get_asset_check_evaluations()] == [False]


def test_a_failed_blocking_check_does_not_gate_another_run(instance):
    dg.materialize([checked, failing_check()], instance=instance, raise_on_error=False)

    assert dg.materialize([checked, child], selection=[child], instance=instance).success


def test_eager_requests_the_child_of_a_parent_that_failed_its_check(instance):
    eager_child = child.with_attributes(automation_condition=dg.AutomationCondition.eager())
    defs = dg.Definitions([checked, eager_child], asset_checks=[failing_check()])
    first = dg.evaluate_automation_conditions(defs=defs, instance=instance)
    dg.materialize([checked, failing_check()], instance=instance, raise_on_error=False)

    second = dg.evaluate_automation_conditions(defs=defs, instance=instance, cursor=first.cursor)

    assert second.get_num_requested(child.key) == 1


@dg.asset(partitions_def=batches)
def parent():
    return dg.MaterializeResult()


@dg.asset(
    partitions_def=batches, deps=[parent], automation_condition=dg.AutomationCondition.eager()
)
def newcomer():
    return dg.MaterializeResult()


def test_a_new_eager_asset_requests_no_history_but_what_comes_next(instance):
    for batch in BATCHES:
        dg.materialize([parent], partition_key=batch, instance=instance)
    first = dg.evaluate_automation_conditions(
        defs=dg.Definitions([parent, newcomer]), instance=instance
    )
    dg.materialize([parent], partition_key="b-2", instance=instance)
    second = dg.evaluate_automation_conditions(
        defs=dg.Definitions([parent, newcomer]), instance=instance, cursor=first.cursor
    )

    assert first.get_num_requested(newcomer.key) == 0
    assert second.get_requested_partitions(newcomer.key) == {"b-2"}


def partitioned_checked(policy):
    @dg.asset(
        partitions_def=batches,
        backfill_policy=policy,
        check_specs=[dg.AssetCheckSpec("verdict", asset="ranged", partitions_def=batches)],
    )
    def ranged():
        yield dg.AssetCheckResult(check_name="verdict", passed=True)
        yield dg.MaterializeResult()

    return ranged


def check_rows(instance, asset):
    """The newest stored status of the asset's check, by partition."""
    (key,) = asset.check_keys
    history = instance.event_log_storage.get_asset_check_execution_history(key, limit=100)
    return {row.partition: row.status.value for row in reversed(history)}


def test_a_run_of_one_partition_stores_its_check_row(instance):
    asset = partitioned_checked(None)
    dg.materialize([asset], partition_key="b-1", instance=instance)

    assert check_rows(instance, asset) == {"b-1": "SUCCEEDED"}


def test_a_run_over_a_range_leaves_check_rows_planned_for_ever(instance):
    """Why ``build_audited_asset`` sets no backfill policy."""
    asset = partitioned_checked(dg.BackfillPolicy.single_run())
    tags = {
        "dagster/asset_partition_range_start": "b-1",
        "dagster/asset_partition_range_end": "b-3",
    }
    assert dg.materialize([asset], instance=instance, tags=tags).success

    assert check_rows(instance, asset) == {**dict.fromkeys(BATCHES, "PLANNED"), None: "SUCCEEDED"}


@pytest.mark.parametrize(("together", "requested"), [(True, 1), (False, 0)])
def test_a_partitioned_check_reported_before_its_materialization_has_not_passed(
    instance, together, requested
):
    """Why ``build_audited_asset`` puts the checks into the ``MaterializeResult``."""

    @dg.asset(
        partitions_def=batches,
        check_specs=[
            dg.AssetCheckSpec("verdict", asset="judged", blocking=True, partitions_def=batches)
        ],
    )
    def judged():
        verdict = dg.AssetCheckResult(check_name="verdict", passed=True)
        if not together:
            yield verdict
        yield dg.MaterializeResult(check_results=[verdict] if together else [])

    passed = dg.AutomationCondition.all_deps_match(
        dg.AutomationCondition.all_checks_match(
            dg.AutomationCondition.check_passed(), blocking_only=True
        )
    )

    @dg.asset(
        partitions_def=batches,
        deps=[judged],
        automation_condition=dg.AutomationCondition.eager() & passed,
    )
    def below():
        return dg.MaterializeResult()

    defs = dg.Definitions([judged, below])
    first = dg.evaluate_automation_conditions(defs=defs, instance=instance)
    dg.materialize([judged], partition_key="b-1", instance=instance)
    second = dg.evaluate_automation_conditions(defs=defs, instance=instance, cursor=first.cursor)

    assert second.get_num_requested(below.key) == requested


def test_deleting_a_dynamic_partition_leaves_its_events(instance):
    """Why erasing a batch is our own command."""
    dg.materialize([parent], partition_key="b-1", instance=instance)
    instance.delete_dynamic_partition("batches", "b-1")

    assert instance.get_dynamic_partitions("batches") == ["b-2", "b-3"]
    assert instance.get_materialized_partitions(parent.key) == {"b-1"}


def test_masking_keeps_messages_of_errors_but_not_of_failures_from_the_event_log(
    instance, monkeypatch
):
    """Why ``build_audited_asset`` turns errors into failures with a message of its own."""
    monkeypatch.setenv("DAGSTER_REDACT_USER_CODE_ERRORS", "1")

    @dg.asset
    def foreign():
        raise LookupError("quoted text")

    @dg.asset
    def worded():
        raise dg.Failure(description="safe words", allow_retries=False) from None

    result = dg.materialize([foreign, worded], instance=instance, raise_on_error=False)
    log = "".join(
        record.event_log_entry.to_json()
        for record in instance.get_records_for_run(result.run_id).records
    )

    assert "quoted text" not in log
    assert "safe words" in log


def test_a_check_row_can_be_reported_from_outside(instance):
    """Why a release asks signed receipts and no check row."""
    dg.materialize([fails_then_raises], instance=instance, raise_on_error=False)
    instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(asset_key=checked.key, check_name="verdict", passed=True)
    )

    assert check_rows(instance, fails_then_raises) == {None: "SUCCEEDED"}


def asked_by_a_sensor(instance, **targets):
    """What comes back of a sensor that asks for a backfill of two partitions of one asset."""
    subset = batches.subset_with_partition_keys(["b-1", "b-3"])

    @dg.sensor(**targets)
    def asking():
        return dg.SensorResult(
            run_requests=[
                dg.RunRequest.for_asset_graph_subset(
                    AssetGraphSubset(partitions_subsets_by_asset_key={parent.key: subset}),
                    tags={"deid/history": "one"},
                )
            ],
            asset_events=[dg.AssetObservation("outside", metadata={"state": "broken"})],
        )

    defs = dg.Definitions([parent, newcomer, dg.AssetSpec("outside")], sensors=[asking])
    repository = defs.get_repository_def()
    context = dg.build_sensor_context(instance=instance, repository_def=repository)
    return repository.get_sensor_def("asking").evaluate_tick(context)


def test_a_sensor_with_an_asset_selection_asks_for_a_backfill_of_some_partitions(instance):
    """How the detector sensor launches one: the daemon makes it, once, before the cursor moves."""
    told = asked_by_a_sensor(instance, asset_selection=[parent.key])

    (request,) = told.run_requests
    assert request.requires_backfill_daemon()
    backfill = PartitionBackfill.from_asset_graph_subset(
        backfill_id="one",
        backfill_timestamp=0.0,
        tags=request.tags,
        dynamic_partitions_store=instance,
        asset_graph_subset=request.asset_graph_subset,
        title=None,
        description=None,
        run_config=None,
    )
    assert backfill.asset_selection == [parent.key]
    assert backfill.tags == {"deid/history": "one", "dagster/sensor_name": "asking"}
    instance.add_backfill(backfill)
    assert [one.backfill_id for one in instance.get_backfills()] == ["one"]


def test_a_sensor_with_a_target_or_none_cannot(instance):
    """Why the detector sensor has no target: Dagster takes its selection for none."""
    with pytest.raises(CheckError, match="for sensors with an asset_selection"):
        asked_by_a_sensor(instance, target=dg.AssetSelection.assets(parent))


def test_a_sensor_observes_an_asset_that_nothing_makes(instance):
    """How a broken or removed detector is told."""
    (event,) = asked_by_a_sensor(instance, asset_selection=[parent.key]).asset_events

    instance.report_runless_asset_event(event)
    (found,) = instance.fetch_observations(dg.AssetKey("outside"), limit=1).records
    assert found.asset_observation.metadata["state"].value == "broken"
