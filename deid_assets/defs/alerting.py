"""The sensor that tells people of runs that failed and of checks that stopped a batch.

It reads what Dagster recorded of runs, and is no part of any: whatever a channel does, no run is
touched. A batch that waits for somebody fails no run, and so is never told.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
from dagster._core.storage.dagster_run import RunRecord
from dagster._core.storage.tags import PARTITION_NAME_TAG, WILL_RETRY_TAG

from deid_assets.config.operation import AlertSettings
from deid_assets.core.errors import DeidError
from deid_assets.defs.placing import name_in, place
from deid_assets.operation.alerts import Alert, send, show_batch, show_name
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import ALL

SENSOR = "alert_sensor"
TRIES = 5
"""Ticks in which a channel is tried for one alert."""
TICK_S = 30.0
"""No channel is begun after so much of a tick."""
RUNS = 200
"""Failed runs that one tick reads; the next reads the others."""
_OVERLAP = timedelta(minutes=2)
"""Runs are looked for again for so long: they may be recorded out of order."""
_DECIDED = timedelta(minutes=1)
"""Dagster has said by then whether it starts a run again, which it does after it says that it
failed.
"""
_KEPT = 2_000
"""Causes that are remembered."""
_EVENTS = {dg.DagsterEventType.STEP_FAILURE, dg.DagsterEventType.ASSET_CHECK_EVALUATION}


@dataclass(frozen=True, slots=True)
class Watched:
    """What belongs to the installation in a code location.

    Args:
        steps: Name of each asset's step to the asset.
        keys: Keys of its assets.
        jobs: Names of its jobs.
    """

    steps: Mapping[str, str]
    keys: frozenset[dg.AssetKey]
    jobs: frozenset[str]

    @classmethod
    def of(
        cls, assets: Sequence[dg.AssetsDefinition | dg.AssetSpec], jobs: Sequence[str]
    ) -> "Watched":
        """Return what is watched of a graph."""
        made = [asset for asset in assets if isinstance(asset, dg.AssetsDefinition)]
        steps = {asset.op.name: name_in(key) for asset in made for key in asset.keys}
        return cls(steps, frozenset(key for asset in made for key in asset.keys), frozenset(jobs))

    def has(self, run: dg.DagsterRun, location: str | None) -> bool:
        """Whether a run is of the installation.

        Args:
            run: The run.
            location: Name of the code location of the installation, if that is known.
        """
        origin = run.remote_job_origin
        if origin is not None and location is not None and origin.location_name != location:
            return False
        if run.asset_selection:
            return not self.keys.isdisjoint(run.asset_selection)
        return run.job_name in self.jobs


@dataclass(frozen=True, slots=True)
class Pending:
    """An alert that did not arrive by every channel yet.

    Args:
        alert: The alert.
        channels: By which it did not.
        tries: Ticks in which it was tried.
    """

    alert: Alert
    channels: tuple[str, ...]
    tries: int = 0


@dataclass(slots=True)
class Memory:
    """What the sensor remembers from tick to tick.

    Args:
        after: Runs that changed since are looked at; UTC, ISO 8601.
        seen: Runs that were looked at, of the time that is looked at again, with when they failed.
        told: Cause to the time of the last failure that was told or belongs to one that was.
        pending: What did not arrive yet.
    """

    after: str
    seen: dict[str, str] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    pending: list[Pending] = field(default_factory=list)

    @classmethod
    def read(cls, cursor: str | None) -> "Memory | None":
        """Return what a cursor holds; ``None`` where there is none that can be read."""
        try:
            held = json.loads(cursor or "")
            pending = [
                Pending(Alert(**one["alert"]), tuple(one["channels"]), int(one["tries"]))
                for one in held["pending"]
            ]
            datetime.fromisoformat(held["after"])
            return cls(held["after"], dict(held["seen"]), dict(held["told"]), pending)
        except (ValueError, KeyError, TypeError):
            return None

    def write_cursor(self) -> str:
        """Return it as a cursor."""
        kept = sorted(self.told.items(), key=lambda entry: entry[1])[-_KEPT:]
        return json.dumps(
            {
                "after": self.after,
                "seen": self.seen,
                "told": dict(kept),
                "pending": [asdict(one) for one in self.pending],
            }
        )


def alert_sensor(alerts: AlertSettings, watched: Watched) -> dg.SensorDefinition:
    """Return the sensor that sends the alerts of an installation; it is on where a channel is set.

    Args:
        alerts: Channels.
        watched: What belongs to the installation.
    """
    there = place()
    resource = there.name("installation")
    channels = ", ".join(alerts.channels) or "none; set alerts in the settings"

    @dg.sensor(
        name=there.name(SENSOR),
        minimum_interval_seconds=30,
        default_status=(
            dg.DefaultSensorStatus.RUNNING if alerts.channels else dg.DefaultSensorStatus.STOPPED
        ),
        description=(
            "Tells of runs that failed and of checks that stopped a batch, each cause once and"
            f" without text. Channels: {channels}."
        ),
        required_resource_keys={resource},
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        installation: Installation = getattr(context.resources, resource)
        origin = context.code_location_origin
        memory, said = tick(
            context.instance,
            installation,
            watched,
            cursor=context.cursor,
            location=origin.location_name if origin else None,
        )
        return dg.SensorResult(skip_reason=said, cursor=memory.write_cursor())

    return sensor


def tick(
    instance: dg.DagsterInstance,
    installation: Installation,
    watched: Watched,
    *,
    cursor: str | None,
    location: str | None = None,
) -> tuple[Memory, str]:
    """Tell of what failed since the last tick; return what to remember, and what was done.

    The first tick tells nothing: it begins with what fails from then on.

    Args:
        instance: Of Dagster.
        installation: Opened.
        watched: What belongs to it.
        cursor: Of the last tick.
        location: Name of its code location, if that is known.
    """
    settings = installation.settings.alerts
    memory = Memory.read(cursor)
    if memory is None:
        return Memory(datetime.now(UTC).isoformat()), "looks at runs from now on"
    found = [
        (alert, run)
        for record in _find_failed(instance, memory)
        if watched.has(record.dagster_run, location)
        for run in [record.dagster_run]
        for alert in alerts_of(instance, record, watched.steps)
    ]
    new = [one for one in found if _is_new(*one, memory, installation, instance)]
    for alert, _ in found:
        memory.told[alert.cause] = max(alert.time, memory.told.get(alert.cause, ""))
    fresh = [Pending(alert, settings.channels) for alert in _group(alert for alert, _ in new)]
    faults: list[str] = []
    memory.pending = _deliver([*memory.pending, *fresh], settings, faults)
    if faults:
        return memory, f"not delivered: {'; '.join(faults)}"
    return memory, f"told {len(fresh):,}" if fresh else "nothing failed"


def _find_failed(instance: dg.DagsterInstance, memory: Memory) -> list[RunRecord]:
    """Return the runs that failed for good and were not looked at yet, and remember them.

    Dagster starts others again by itself; the last one that fails is told.
    """
    since = datetime.fromisoformat(memory.after)
    records = instance.get_run_records(
        dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], updated_after=since - _OVERLAP),
        order_by="update_timestamp",
        ascending=True,
    )
    new = [one for one in records if one.dagster_run.run_id not in memory.seen]
    decided = [one for one in new if _is_decided(one, instance)][:RUNS]
    times = {one.dagster_run.run_id: _utc(one.update_timestamp) for one in decided}
    after = max([since, *times.values()])
    memory.after = after.isoformat()
    memory.seen |= {run: moment.isoformat() for run, moment in times.items()}
    memory.seen = {
        run: moment
        for run, moment in memory.seen.items()
        if datetime.fromisoformat(moment) > after - 2 * _OVERLAP
    }
    return [one for one in decided if one.dagster_run.tags.get(WILL_RETRY_TAG) != "true"]


def _is_decided(record: RunRecord, instance: dg.DagsterInstance) -> bool:
    """Whether Dagster has said whether it starts a run again."""
    if not instance.run_retries_enabled or WILL_RETRY_TAG in record.dagster_run.tags:
        return True
    return datetime.now(UTC) - _utc(record.update_timestamp) > _DECIDED


def alerts_of(
    instance: dg.DagsterInstance, record: RunRecord, steps: Mapping[str, str]
) -> Iterator[Alert]:
    """Yield an alert for each step of a run that failed; of a run whose process died, one.

    Args:
        instance: Of Dagster.
        record: Of the run.
        steps: Name of each asset's step to the asset.
    """
    run = record.dagster_run
    events = [
        entry.dagster_event
        for entry in instance.all_logs(run.run_id, of_type=_EVENTS)
        if entry.dagster_event
    ]
    stopped: dict[str, list[str]] = {}
    for event in events:
        if event.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            check = event.asset_check_evaluation_data
            is_fault = check.severity is dg.AssetCheckSeverity.ERROR and not check.passed
            if is_fault and event.step_key:
                stopped.setdefault(event.step_key, []).append(show_name(check.check_name))
    of_run = Alert(
        asset=show_name(run.job_name),
        check="",
        batch=show_batch(run.tags.get(PARTITION_NAME_TAG, ALL)),
        time=_utc(record.update_timestamp).isoformat(timespec="milliseconds"),
        remedy=f"The process of run {run.run_id} ended; see it in Dagster, and launch it again.",
        run=run.run_id,
    )
    failed = [
        event.step_key
        for event in events
        if event.event_type is dg.DagsterEventType.STEP_FAILURE and event.step_key
    ]
    for step in failed:
        asset = show_name(steps.get(step, step))
        checks = ", ".join(sorted(stopped.get(step, ())))
        yield replace(of_run, asset=asset, check=checks, remedy=_remedy(asset, checks, of_run))
    if not failed:
        yield of_run


def _remedy(asset: str, checks: str, of_run: Alert) -> str:
    where = f"`deid batches show {of_run.batch}` and run {of_run.run} in Dagster say why"
    if checks:
        return f"{where}; fix what the check names, then materialize {asset} of the batch again."
    return f"{where}; fix it, then launch the run again."


def _is_new(
    alert: Alert,
    run: dg.DagsterRun,
    memory: Memory,
    installation: Installation,
    instance: dg.DagsterInstance,
) -> bool:
    """Whether nobody was told of the cause since it last was put right."""
    if alert.cause not in memory.told:
        return True
    told = datetime.fromisoformat(memory.told[alert.cause])
    if datetime.fromisoformat(alert.time) <= told:
        return False
    try:
        stored = installation.files.find(alert.asset, alert.batch)
    except DeidError:
        stored = None
    if stored is not None:
        return datetime.fromisoformat(stored.created_at) > told
    tags = {PARTITION_NAME_TAG: alert.batch} if alert.batch != ALL else {}
    succeeded = dg.RunsFilter(
        job_name=run.job_name,
        tags=tags,
        statuses=[dg.DagsterRunStatus.SUCCESS],
        updated_after=told,
    )
    return alert.asset == run.job_name and instance.get_runs_count(succeeded) > 0


def _group(alerts: Iterator[Alert]) -> list[Alert]:
    """Return one alert for what failed in the same way in many batches, such as by a full disk."""
    groups: dict[tuple[str, str], dict[str, Alert]] = {}
    for alert in alerts:
        groups.setdefault((alert.asset, alert.check), {})[alert.batch] = alert
    found = []
    for group in groups.values():
        last = max(group.values(), key=lambda one: one.time)
        others = len(group) - 1
        found.append(replace(last, batch=f"{last.batch} and {others:,} more") if others else last)
    return found


def _deliver(
    waiting: Sequence[Pending],
    settings: AlertSettings,
    faults: list[str],
    *,
    clock: Callable[[], float] = time.monotonic,
) -> list[Pending]:
    """Send what waits, and return what did not arrive and is tried again."""
    begun, left = clock(), []
    for one in waiting:
        missed = []
        for channel in one.channels:
            if channel not in settings.channels:  # the settings have it no longer
                continue
            if clock() - begun > TICK_S:
                missed.append(channel)
                continue
            if fault := send(one.alert, settings, channel):
                faults.append(fault)
                missed.append(channel)
        if missed and one.tries + 1 < TRIES:
            left.append(replace(one, channels=tuple(missed), tries=one.tries + 1))
    return left


def _utc(moment: Any) -> datetime:
    """Return a time of Dagster's, which has no zone in SQLite, in UTC."""
    found: datetime = moment
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
