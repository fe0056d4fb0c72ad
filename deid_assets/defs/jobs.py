"""Jobs, the landing sensor and the nightly schedule."""

import hashlib
from collections.abc import Mapping, Sequence

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from deid_assets.assets.ingest import RAW_NOTES
from deid_assets.assets.scoring import has_scores
from deid_assets.core.assets import Family
from deid_assets.core.errors import DeidError
from deid_assets.defs.guard import guarded
from deid_assets.defs.partitions import batches
from deid_assets.intake.landing import landing_store, take_in
from deid_assets.intake.parts import waiting
from deid_assets.intake.splitting import split_arrivals
from deid_assets.intake.states import open_batches
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import ALL
from deid_assets.store.withdrawals import ARRIVAL

MAIN_JOB = "main_job"
NIGHTLY_JOB = "nightly_scorecards"
BAKEOFF_JOB = "bakeoff_job"
PRIVACY_JOB = "privacy_audits"
TRAINING_JOB = "train_taggers"
SPLITTING_JOB = "split_large_arrivals"

SCORES = dg.AssetSelection.groups("scores") - dg.AssetSelection.tag("deid/on_demand", "yes")
"""Assets that sum up over all batches, and so have no partitions."""

TAGGERS = dg.AssetSelection.groups("training")
"""Assets that are trained before the first batch, and so have no partitions either."""

ON_DEMAND = {"deid/on_demand": "yes"}
"""Tag of what is made only when somebody asks for it: it is in no schedule, and never stale."""

ARRIVAL_TAG = "deid/arrival"
"""Tag of the run that splits an arrival, with its id."""

TAGGERS_TAG = "deid/taggers"
"""Tag of the run that trains what was never trained, with a digest of the taggers' names."""

TRIES = 3
"""Runs that are started for an arrival that is to be split, before somebody has to look why they
fail.
"""

APPROVE_JOB = "approve_release"
AWAITS_APPROVAL = {"deid/awaits": "approval"}
"""Tag of what is made once somebody approved it."""


def tagged(tag: Mapping[str, str]) -> dg.AssetSelection:
    """Return the assets with a tag."""
    ((name, value),) = tag.items()
    return dg.AssetSelection.tag(name, value)


main_job = dg.define_asset_job(
    MAIN_JOB,
    selection=dg.AssetSelection.all()
    - SCORES
    - TAGGERS
    - tagged(ON_DEMAND)
    - tagged(AWAITS_APPROVAL),
    description=(
        "One batch, from raw notes to the page on it and, unless somebody must approve that, the"
        " released corpus. The landing sensor starts it."
    ),
)

nightly_job = dg.define_asset_job(
    NIGHTLY_JOB,
    selection=SCORES,
    description=(
        "Scores and reports of every detector over all batches with annotated notes, and the"
        " leaderboard."
    ),
)

training_job = dg.define_asset_job(
    TRAINING_JOB,
    selection=TAGGERS,
    description=(
        "Taggers of all recipes, from their corpora to their ONNX exports. The landing sensor"
        " starts it once."
    ),
)

bakeoff_job = dg.define_asset_job(
    BAKEOFF_JOB,
    selection=dg.AssetSelection.assets("bakeoff"),
    description=(
        "Every detector side by side on the annotated notes, with speed and memory on a timed"
        " sample."
    ),
)

privacy_job = dg.define_asset_job(
    PRIVACY_JOB,
    selection=dg.AssetSelection.groups("privacy"),
    description="Attacks on the redaction policies, over every batch with annotated notes.",
)


@dg.op(
    name="split_arrivals",
    description="Reads what arrived and may be too large for a batch, and makes batches of it.",
    config_schema={},
)
def split_op(context: dg.OpExecutionContext, installation: dg.ResourceParam[Installation]) -> None:
    """Split the arrival that the sensor asked for, or all that wait."""
    arrival = context.run.tags.get(ARRIVAL_TAG, "")
    with guarded(context, "landing", arrival or ALL):
        installation.snapshot.check_promised()
        split_arrivals(installation.settings, only=arrival)


@dg.job(
    name=SPLITTING_JOB,
    description=(
        "Makes several batches of a large file, folder or archive, the notes of a patient together."
        " The landing sensor starts it."
    ),
)
def splitting_job() -> None:
    """Split what waits."""
    split_op()


@dg.schedule(
    name="nightly_scorecards_schedule",
    job=nightly_job,
    cron_schedule="30 2 * * *",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Scores every night, once something is annotated.",
)
def nightly_schedule(
    _context: dg.ScheduleEvaluationContext, installation: dg.ResourceParam[Installation]
) -> dg.RunRequest | dg.SkipReason:
    """Request the scores where there is anything to score."""
    return dg.RunRequest() if has_scores(installation) else dg.SkipReason("nothing is annotated")


def detector_job(name: str) -> UnresolvedAssetJobDefinition:
    """Return the job that runs one detector.

    A backfill of it over all batches touches nothing else.
    """
    return dg.define_asset_job(
        f"detector__{name}",
        selection=dg.AssetSelection.assets(Family.SPANS.of(name)),
        description=f"Detector {name} alone: launch it as a backfill to fill its history.",
    )


@dg.sensor(
    jobs=[main_job, training_job, splitting_job],
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description=(
        "Makes a batch of each new file or folder in the landing folder and starts the graph on it."
    ),
)
def landing_sensor(
    context: dg.SensorEvaluationContext, installation: dg.ResourceParam[Installation]
) -> dg.SensorResult | dg.SkipReason:
    """Request one run per new batch; a file dropped twice is one batch.

    A batch counts as new until Dagster knows its partition, so a tick that dies half-way loses
    nothing. What may be too large for a batch is split by a run of its own, since a tick must be
    short. While a tagger was never trained, new batches wait for it; for one in shadow only until
    its training failed.
    """
    settings = installation.settings
    take_in(settings)
    if training := _training(context.instance, installation):
        return dg.SensorResult(run_requests=[training])
    registered = set(batches.get_partition_keys(dynamic_partitions_store=context.instance))
    known = open_batches(settings, installation.files)
    new = [batch for batch in known if batch not in registered]
    retried = {batch: run_key for batch in known if (run_key := _asked_again(installation, batch))}
    large = waiting(landing_store(settings))
    if not new and not retried and not large:
        return dg.SkipReason("no new files in the landing folder, or they are still being written")
    run_keys = {**{batch: batch for batch in new}, **retried}
    return dg.SensorResult(
        run_requests=[
            *(_splitting(context.instance, arrival) for arrival in large),
            *(
                dg.RunRequest(run_key=run_key, partition_key=batch, job_name=MAIN_JOB)
                for batch, run_key in sorted(run_keys.items())
            ),
        ],
        dynamic_partitions_requests=[batches.build_add_request(new)] if new else [],
    )


def _training(instance: dg.DagsterInstance, installation: Installation) -> dg.RunRequest | None:
    untrained = installation.taggers.untrained()
    key = hashlib.sha256(" ".join(untrained).encode()).hexdigest()[:12]
    if not untrained:
        return None
    if not installation.taggers.holds_back(untrained) and _failures(
        instance, TRAINING_JOB, {TAGGERS_TAG: key}
    ):
        return None
    return dg.RunRequest(run_key=f"train-{key}", job_name=TRAINING_JOB, tags={TAGGERS_TAG: key})


def _splitting(instance: dg.DagsterInstance, arrival: str) -> dg.RunRequest:
    """Return what asks for a run that splits an arrival.

    Its key is a new one after a failure, until ``TRIES``.
    """
    tags = {ARRIVAL_TAG: arrival}
    attempt = min(_failures(instance, SPLITTING_JOB, tags), TRIES - 1)
    return dg.RunRequest(run_key=f"split-{arrival}.{attempt}", job_name=SPLITTING_JOB, tags=tags)


def _failures(instance: dg.DagsterInstance, job: str, tags: Mapping[str, str]) -> int:
    ended = [dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
    return instance.get_runs_count(dg.RunsFilter(job_name=job, tags=tags, statuses=ended))


def _asked_again(installation: Installation, batch: str) -> str:
    """Return the key of the run that ``deid batches retry`` asked for and that is not made yet, or
    nothing.

    Dagster starts one run per key, so that a failure is not tried for ever.
    """
    try:
        # The receipt alone: this is asked of every batch at every tick.
        arrival = installation.files.find(ARRIVAL, batch)
        attempt = int(arrival.counts["attempt"]) if arrival else 0
        raw = installation.files.find(RAW_NOTES, batch) if attempt else None
    except DeidError:  # the run itself says what is wrong
        return ""
    if arrival is None or not attempt:
        return ""
    is_made = raw is not None and raw.inputs.get(arrival.name) == arrival.digest
    return "" if is_made else f"{batch}.{attempt}"


def jobs(
    detectors: Sequence[str], *, with_bakeoff: bool
) -> list[dg.JobDefinition | UnresolvedAssetJobDefinition]:
    """Return every job of an installation.

    Args:
        detectors: Those that can be used.
        with_bakeoff: Whether a plugin makes the bake-off.
    """
    fixed: list[dg.JobDefinition | UnresolvedAssetJobDefinition] = [
        main_job,
        nightly_job,
        *([bakeoff_job] if with_bakeoff else []),
        privacy_job,
        training_job,
        splitting_job,
    ]
    return [*fixed, *(detector_job(name) for name in detectors)]
