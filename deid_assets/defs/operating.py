"""Assets, jobs and schedules of the daily operation: runs and releases, drift, re-training."""

import hashlib
from collections.abc import Iterator

import dagster as dg
import pyarrow as pa

from deid_assets.assets.declarations import Check, Make
from deid_assets.assets.ingest import GOLD
from deid_assets.assets.operating import (
    DRIFT,
    DRIFT_CHECKS,
    OPERATION,
    OPERATION_CHECKS,
    PROFILES,
    RUNS,
    make_drift,
    make_operation,
)
from deid_assets.assets.repeats import gold_batches
from deid_assets.config.operation import WatchSettings
from deid_assets.defs.audit import build_audited_asset
from deid_assets.defs.jobs import Job
from deid_assets.defs.placing import place
from deid_assets.defs.retaining import operation_declaration, retention_job
from deid_assets.runtime.installation import Installation

OPERATION_JOB, DRIFT_JOB = "watch_operation", "watch_drift"
RETRAINING = "retraining_schedule"


def operation_assets(watch: WatchSettings) -> list[dg.AssetsDefinition]:
    """Return the assets that show how the installation does."""
    hours = f"{watch.release_within_hours:g}"
    return [
        _asset(
            make_operation,
            OPERATION,
            OPERATION_CHECKS,
            description=(
                "Each run with its notes, spans, seconds and cost, and the batches that arrived"
                f" over {hours} hours ago and are not released."
            ),
            schema=RUNS,
        ),
        _asset(
            make_drift,
            DRIFT,
            DRIFT_CHECKS,
            description=(
                "Each batch beside those before it: spans in 1,000 words, unknown words,"
                " categories, languages and layouts. Counts alone; a batch is read once."
            ),
            schema=PROFILES,
        ),
    ]


def _asset(
    make: Make, key: str, checks: tuple[Check, ...], *, description: str, schema: pa.Schema
) -> dg.AssetsDefinition:
    return build_audited_asset(
        make, operation_declaration(key, [], description, schema, checks=checks)
    )


def operation_jobs(
    training: Job, *, has_taggers: bool
) -> tuple[list[Job], list[dg.ScheduleDefinition]]:
    """Return the jobs of the operation and their schedules, which somebody has to start.

    Args:
        training: Job that trains the taggers.
        has_taggers: Whether there are any.
    """
    there = place()
    jobs: list[Job] = [
        dg.define_asset_job(
            there.name(name),
            selection=dg.AssetSelection.assets(there.key(asset)),
            description=said,
            executor_def=there.executor,
        )
        for name, asset, said in (
            (OPERATION_JOB, OPERATION, "What ran, and which batches are late."),
            (DRIFT_JOB, DRIFT, "How the newest batches differ from those before them."),
        )
    ]
    retaining, retaining_schedule = retention_job()
    jobs.append(retaining)
    schedules = [
        retaining_schedule,
        _schedule(jobs[0], "20 * * * *", "Looks every hour whether a release is late."),
        _schedule(jobs[1], "40 3 * * *", "Looks every night for drift."),
    ]
    return jobs, [*schedules, *([retraining_schedule(training)] if has_taggers else [])]


def _schedule(job: Job, cron: str, description: str) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name=f"{job.name}_schedule",
        job=job,
        cron_schedule=cron,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description=description,
    )


def retraining_schedule(training: Job) -> dg.ScheduleDefinition:
    """Return the schedule that trains the taggers anew once there are new annotations.

    The check ``promoted`` of a tagger decides whether the new model takes the place of the one in
    use: only where the whole interval of the paired difference lies above zero.
    """
    there = place()
    resource = there.name("installation")

    @dg.schedule(
        name=there.name(RETRAINING),
        job=training,
        cron_schedule="0 4 * * 0",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description=(
            "Trains the taggers every Sunday where annotations are new. A model is taken only if it"
            " is better than the one in use, beyond chance, on annotated notes that neither saw."
        ),
        required_resource_keys={resource},
    )
    def schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        """Request the training where annotations came since the last one."""
        installation: Installation = getattr(context.resources, resource)
        if not installation.taggers.learns_from_gold:
            return dg.SkipReason("no recipe learns from the annotations that arrive")
        annotations = [*_annotations(installation)]
        if not annotations:
            return dg.SkipReason("nothing is annotated")
        digest = hashlib.sha256(" ".join(annotations).encode()).hexdigest()[:16]
        # Dagster starts one run a key, so that the same annotations are learnt from once.
        return dg.RunRequest(run_key=f"retrain-{digest}", tags={"deid/annotations": digest})

    return schedule


def _annotations(installation: Installation) -> Iterator[str]:
    for batch in gold_batches(installation):
        yield installation.files.receipt(GOLD, batch).digest
