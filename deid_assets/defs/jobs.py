"""Jobs, the landing sensor and the nightly schedule."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from deid_assets.assets.ingest import RAW_NOTES
from deid_assets.assets.scoring import has_scores
from deid_assets.core.assets import STUDY, Family, ReleaseAssets
from deid_assets.core.errors import DeidError
from deid_assets.defs.guard import guard_step
from deid_assets.defs.placing import Place, place
from deid_assets.intake.arrivals import waiting
from deid_assets.intake.landing import take_in
from deid_assets.intake.reader import landing_store
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
LANDING_SENSOR = "landing_sensor"
TAGGERS_GROUP = "training"

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


def approve_job_of(names: ReleaseAssets) -> str:
    """Return the name of the job that approves a release."""
    return f"{APPROVE_JOB}__{names.study}" if names.study else APPROVE_JOB


def study_job(study: str, keys: Sequence[dg.AssetKey]) -> "Job":
    """Return the job that makes a study's release of a batch, up to what somebody must approve.

    A backfill of it over all batches looks for no spans.
    """
    return _asset_job(
        f"{STUDY}__{study}",
        keys,
        f"Study {study} alone, from the stored spans: launch it as a backfill to release all"
        " batches.",
    )


Job = dg.JobDefinition | UnresolvedAssetJobDefinition


@dataclass(frozen=True, slots=True)
class Selections:
    """Assets of an installation by when they are made.

    By key: the location may have assets of others, whose groups and tags may be the same.

    Args:
        main: Of one batch, up to what somebody must approve.
        scores: That sum up over all batches, and so have no partitions.
        taggers: That are trained before the first batch, and so have no partitions either.
        privacy: Audits, made when somebody asks for them.
    """

    main: Sequence[dg.AssetKey]
    scores: Sequence[dg.AssetKey]
    taggers: Sequence[dg.AssetKey]
    privacy: Sequence[dg.AssetKey]

    @classmethod
    def of(cls, assets: Iterable[dg.AssetsDefinition | dg.AssetSpec]) -> Self:
        """Return those of an installation, of the assets that are made here."""
        made = [asset for asset in assets if isinstance(asset, dg.AssetsDefinition)]
        specs = [spec for asset in made for spec in asset.specs]
        by_group = {
            group: [spec for spec in specs if spec.group_name == place().name(group)]
            for group in ("scores", TAGGERS_GROUP, "privacy")
        }
        return cls(
            main=[spec.key for spec in specs if is_of_a_batch(spec)],
            scores=[spec.key for spec in by_group["scores"] if not _has(spec, ON_DEMAND)],
            taggers=[spec.key for spec in by_group[TAGGERS_GROUP]],
            privacy=[spec.key for spec in by_group["privacy"]],
        )


def is_of_a_batch(spec: dg.AssetSpec) -> bool:
    """Whether an asset of a batch is made without anybody asking for it or approving it."""
    asked_for = _has(spec, ON_DEMAND) or _has(spec, AWAITS_APPROVAL)
    return spec.partitions_def is not None and not asked_for


def _has(spec: dg.AssetSpec, tag: Mapping[str, str]) -> bool:
    return tag.items() <= spec.tags.items()


def _asset_job(name: str, keys: Sequence[dg.AssetKey], description: str) -> Job:
    there = place()
    return dg.define_asset_job(
        there.name(name),
        selection=dg.AssetSelection.assets(*keys),
        description=description,
        executor_def=there.executor,
    )


def step_job(
    name: str,
    step: str,
    act: Callable[[dg.OpExecutionContext, Installation], None],
    *,
    description: str,
    step_description: str,
) -> dg.JobDefinition:
    """Return a job of one step that is no asset.

    Args:
        name: Of the job.
        step: Name of the step.
        act: Does it, and guards what it does.
        description: Of the job.
        step_description: Of the step.
    """
    there = place()
    resource = there.name("installation")

    @dg.op(
        name=there.name(step),
        description=step_description,
        config_schema={},
        required_resource_keys={resource},
    )
    def op(context: dg.OpExecutionContext) -> None:
        act(context, getattr(context.resources, resource))

    @dg.job(name=there.name(name), description=description, executor_def=there.executor)
    def job() -> None:
        op()

    return job


def _split(context: dg.OpExecutionContext, installation: Installation) -> None:
    """Split the arrival that the sensor asked for, or all that wait."""
    arrival = context.run.tags.get(ARRIVAL_TAG, "")
    with guard_step(context, "landing", arrival or ALL):
        installation.snapshot.check_promised()
        split_arrivals(installation.settings, only=arrival)


def nightly_schedule(nightly_job: Job) -> dg.ScheduleDefinition:
    """Return the schedule that scores every night."""
    there = place()
    resource = there.name("installation")

    @dg.schedule(
        name=there.name("nightly_scorecards_schedule"),
        job=nightly_job,
        cron_schedule="30 2 * * *",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Scores every night, once something is annotated.",
        required_resource_keys={resource},
    )
    def schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        """Request the scores where there is anything to score."""
        has_any = has_scores(getattr(context.resources, resource))
        return dg.RunRequest() if has_any else dg.SkipReason("nothing is annotated")

    return schedule


def detector_job(name: str) -> Job:
    """Return the job that runs one detector.

    A backfill of it over all batches touches nothing else.
    """
    return _asset_job(
        f"detector__{name}",
        [place().key(Family.SPANS.of(name))],
        f"Detector {name} alone: launch it as a backfill to fill its history.",
    )


def landing_sensor(jobs: Sequence[Job], *, is_on: bool = False) -> dg.SensorDefinition:
    """Return the sensor that makes batches of what arrives.

    Args:
        jobs: That it may start.
        is_on: Whether it runs from the first load on.
    """
    there = place()
    resource = there.name("installation")

    @dg.sensor(
        name=there.name(LANDING_SENSOR),
        jobs=[*jobs],
        minimum_interval_seconds=30,
        default_status=(
            dg.DefaultSensorStatus.RUNNING if is_on else dg.DefaultSensorStatus.STOPPED
        ),
        description=(
            "Makes a batch of each new file or folder in the landing folder and starts the graph on"
            " it."
        ),
        required_resource_keys={resource},
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        return runs_of_arrivals(context.instance, getattr(context.resources, resource), there)

    return sensor


def runs_of_arrivals(
    instance: dg.DagsterInstance, installation: Installation, there: Place
) -> dg.SensorResult | dg.SkipReason:
    """Request one run per new batch; a file dropped twice is one batch.

    A batch counts as new until Dagster knows its partition, so a tick that dies half-way loses
    nothing. What may be too large for a batch is split by a run of its own, since a tick must be
    short. While a tagger was never trained, new batches wait for it; for one in shadow only until
    its training failed.
    """
    settings = installation.settings
    take_in(settings)
    if training := _training(instance, installation, there):
        return dg.SensorResult(run_requests=[training])
    registered = set(there.batches.get_partition_keys(dynamic_partitions_store=instance))
    known = open_batches(settings, installation.files)
    new = [batch for batch in known if batch not in registered]
    retried = {batch: run_key for batch in known if (run_key := _find_retry(installation, batch))}
    large = waiting(landing_store(settings))
    if not new and not retried and not large:
        return dg.SkipReason("no new files in the landing folder, or they are still being written")
    run_keys = {**{batch: batch for batch in new}, **retried}
    main_job = there.name(MAIN_JOB)
    return dg.SensorResult(
        run_requests=[
            *(_splitting(instance, arrival, there) for arrival in large),
            *(
                dg.RunRequest(run_key=run_key, partition_key=batch, job_name=main_job)
                for batch, run_key in sorted(run_keys.items())
            ),
        ],
        dynamic_partitions_requests=[there.batches.build_add_request(new)] if new else [],
    )


def _training(
    instance: dg.DagsterInstance, installation: Installation, there: Place
) -> dg.RunRequest | None:
    untrained, job = installation.taggers.list_untrained(), there.name(TRAINING_JOB)
    key = hashlib.sha256(" ".join(untrained).encode()).hexdigest()[:12]
    if not untrained:
        return None
    if not installation.taggers.holds_back(untrained) and _failures(
        instance, job, {TAGGERS_TAG: key}
    ):
        return None
    return dg.RunRequest(run_key=f"train-{key}", job_name=job, tags={TAGGERS_TAG: key})


def _splitting(instance: dg.DagsterInstance, arrival: str, there: Place) -> dg.RunRequest:
    """Return what asks for a run that splits an arrival.

    Its key is a new one after a failure, until ``TRIES``.
    """
    tags = {ARRIVAL_TAG: arrival}
    job = there.name(SPLITTING_JOB)
    attempt = min(_failures(instance, job, tags), TRIES - 1)
    return dg.RunRequest(run_key=f"split-{arrival}.{attempt}", job_name=job, tags=tags)


def _failures(instance: dg.DagsterInstance, job: str, tags: Mapping[str, str]) -> int:
    ended = [dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
    return instance.get_runs_count(dg.RunsFilter(job_name=job, tags=tags, statuses=ended))


def _find_retry(installation: Installation, batch: str) -> str:
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


@dataclass(frozen=True, slots=True)
class Jobs:
    """Jobs of an installation; what the sensor and the schedule start is among them.

    Args:
        main: One batch.
        nightly: Scores.
        training: Taggers.
        splitting: Large arrivals.
        others: Started by people alone.
    """

    main: Job
    nightly: Job
    training: Job
    splitting: Job
    others: Sequence[Job]

    @property
    def sensed(self) -> list[Job]:
        """Those that the landing sensor may start."""
        return [self.main, self.training, self.splitting]

    @property
    def all(self) -> list[Job]:
        """Every job."""
        return [self.main, self.nightly, self.training, self.splitting, *self.others]


def jobs(selections: Selections, detectors: Sequence[str], *, with_bakeoff: bool) -> Jobs:
    """Return every job of an installation.

    Args:
        selections: Of its assets.
        detectors: Those that can be used.
        with_bakeoff: Whether a plugin makes the bake-off.
    """
    bakeoff = _asset_job(
        BAKEOFF_JOB,
        [place().key("bakeoff")],
        "Every detector side by side on the annotated notes, with speed and memory on a timed"
        " sample.",
    )
    privacy = _asset_job(
        PRIVACY_JOB,
        selections.privacy,
        "Attacks on the redaction policies, over every batch with annotated notes.",
    )
    of_detectors = [detector_job(name) for name in detectors]
    return Jobs(
        main=_asset_job(
            MAIN_JOB,
            selections.main,
            "One batch, from raw notes to the page on it and, unless somebody must approve that,"
            " the released corpus. The landing sensor starts it.",
        ),
        nightly=_asset_job(
            NIGHTLY_JOB,
            selections.scores,
            "Scores and reports of every detector over all batches with annotated notes, and the"
            " leaderboard.",
        ),
        training=_asset_job(
            TRAINING_JOB,
            selections.taggers,
            "Taggers of all recipes, from their corpora to their ONNX exports. The landing sensor"
            " starts it once.",
        ),
        splitting=_splitting_job(),
        others=[*([bakeoff] if with_bakeoff else []), privacy, *of_detectors],
    )


def _splitting_job() -> Job:
    return step_job(
        SPLITTING_JOB,
        "split_arrivals",
        _split,
        description=(
            "Makes several batches of a large file, folder or archive, the notes of a patient"
            " together. The landing sensor starts it."
        ),
        step_description=(
            "Reads what arrived and may be too large for a batch, and makes batches of it."
        ),
    )
