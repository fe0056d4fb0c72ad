"""Assets, job and schedule of retention, with what Dagster keeps of runs."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from deid_assets.assets.declarations import AssetDeclaration, Check
from deid_assets.assets.retaining import (
    DUE,
    PLAN,
    REMOVED,
    RETENTION,
    make_plan,
    make_retention,
)
from deid_assets.config.operation import RetentionSettings
from deid_assets.defs.audit import build_audited_asset
from deid_assets.defs.jobs import ON_DEMAND, Job
from deid_assets.defs.placing import place
from deid_assets.operation.retention import RUNS, Due
from deid_assets.runtime.snapshot import software_version

RETENTION_JOB = "apply_retention"
_ENDED = [
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
]


def retention_assets(retention: RetentionSettings) -> list[dg.AssetsDefinition]:
    """Return the list of what is due, and what removes it."""
    days = {name: days for name, days in retention.model_dump().items() if days is not None}
    said = ", ".join(f"{name} {count:,} days" for name, count in days.items()) or "for ever"

    def give_runs(context: dg.AssetExecutionContext) -> Mapping[str, Any]:
        return {"runs": lambda: [*runs_due(context.instance, retention)]}

    def give_to_remove(context: dg.AssetExecutionContext) -> Mapping[str, Any]:
        return {**give_runs(context), "delete_run": context.instance.delete_run}

    plan = build_audited_asset(
        make_plan,
        operation_declaration(
            PLAN,
            [],
            f"What the settings let be removed now, and nothing is. Kept: {said}.",
            DUE,
        ),
        given=give_runs,
    )
    removal = build_audited_asset(
        make_retention,
        operation_declaration(
            RETENTION,
            [PLAN],
            "Removes what `retention_plan` lists and is still due, and keeps a signed list of it.",
            REMOVED,
        ),
        given=give_to_remove,
    )
    return [plan, removal]


def operation_declaration(
    key: str, deps: list[str], description: str, schema: Any, *, checks: tuple[Check, ...] = ()
) -> AssetDeclaration:
    """Return the declaration of an asset about the installation as a whole, made on demand."""
    return AssetDeclaration(
        key=key,
        checks=checks,
        deps=deps,
        code_version=software_version(),
        group="operation",
        description=description,
        kinds={"report"},
        schema=schema,
        partitioned=False,
        automatic=False,
        tags=ON_DEMAND,
    )


def retention_job() -> tuple[Job, dg.ScheduleDefinition]:
    """Return the job that lists and removes, and its schedule, which somebody has to start."""
    there = place()
    job = dg.define_asset_job(
        there.name(RETENTION_JOB),
        selection=dg.AssetSelection.assets(there.key(PLAN), there.key(RETENTION)),
        description="Lists what the settings let be removed, and removes it.",
        executor_def=there.executor,
    )
    schedule = dg.ScheduleDefinition(
        name=there.name("retention_schedule"),
        job=job,
        cron_schedule="10 5 * * *",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Removes every night what the settings let be removed.",
    )
    return job, schedule


def runs_due(
    instance: dg.DagsterInstance, retention: RetentionSettings, *, now: datetime | None = None
) -> Iterator[Due]:
    """Yield the runs that ended long ago and made nothing that is still the latest of its kind.

    Without the others Dagster would take what they made for missing.

    Args:
        instance: Of Dagster.
        retention: Settings.
        now: The present; the clock where not given.
    """
    if retention.runs is None:
        return
    before = (now or datetime.now(UTC)) - timedelta(days=retention.runs)
    filters = dg.RunsFilter(statuses=_ENDED, updated_before=before)
    for record in instance.get_run_records(filters):
        run = record.dagster_run
        if not _has_made_outputs(instance, run.run_id):
            ended = record.update_timestamp.replace(tzinfo=UTC)
            yield Due(RUNS, run.run_id, ended.isoformat(timespec="seconds"))


def _has_made_outputs(instance: dg.DagsterInstance, run_id: str) -> bool:
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION):
        made = entry.asset_materialization
        if made is None:
            continue
        latest = instance.fetch_materializations(
            dg.AssetRecordsFilter(
                made.asset_key, asset_partitions=[made.partition] if made.partition else None
            ),
            limit=1,
        ).records
        if latest and latest[0].run_id == run_id:
            return True
    return False
