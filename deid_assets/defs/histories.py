"""The sensor that notices new, upgraded, broken and removed detectors, offers their backfills, and
launches them where the settings say so; and the assets that show what it found.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import dagster as dg
from dagster._core.definitions.assets.graph.asset_graph_subset import AssetGraphSubset
from dagster._core.execution.backfill import BULK_ACTION_TERMINAL_STATUSES, BulkActionsFilter
from dagster._core.execution.backfill import BulkActionStatus as Status
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES
from dagster._core.storage.tags import BACKFILL_ID_TAG, PARTITION_NAME_TAG, PRIORITY_TAG

from deid_assets.assets.declarations import AssetDeclaration
from deid_assets.assets.histories import (
    CHECKS,
    HISTORIES,
    SCHEMA,
    histories_md,
    judge,
    make_histories,
)
from deid_assets.config import Settings
from deid_assets.core.assets import Family
from deid_assets.core.errors import DeidError
from deid_assets.defs.audit import build_audited_asset
from deid_assets.defs.jobs import ON_DEMAND
from deid_assets.defs.placing import Place, place
from deid_assets.runtime.histories import (
    DetectorState,
    ExpectedSpans,
    History,
    histories,
    history_of,
    list_left_behind,
)
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.snapshot import software_version

SENSOR = "detector_sensor"
HISTORY_TAG = "deid/history"
"""Tag of the backfill that fills a detector's history, and of its runs, with the detector's
name.
"""
POOL = {"deid/pool": "history"}
"""Tag of the same: ``dagster.yaml`` says how many of these runs there are at once."""
LAUNCHES = 3
"""Backfills that are launched for one version of a detector, before somebody has to look why
batches stay without its spans.
"""
NEW, UPGRADED = "new", "upgraded"
_ACTIVE = [status for status in Status if status not in BULK_ACTION_TERMINAL_STATUSES]
_Told = dict[str, dict[str, Any]]


def detector_histories(expected: Mapping[str, ExpectedSpans]) -> dg.AssetsDefinition:
    """Return the asset that lists every detector there is or was."""
    return build_audited_asset(
        partial(make_histories, expected=expected),
        AssetDeclaration(
            key=HISTORIES,
            checks=CHECKS,
            deps=[],
            code_version=software_version(),
            group="scores",
            description=(
                "Every detector that is installed or left spans: new, incomplete, upgraded, broken"
                " or removed, how many batches it has, and what to do. The detector sensor keeps it"
                " up to date; materialize it to ask now."
            ),
            kinds={"report"},
            schema=SCHEMA,
            partitioned=False,
            automatic=False,
            tags=ON_DEMAND,
        ),
    )


def list_removed_detectors(
    settings: Settings, expected: Mapping[str, ExpectedSpans]
) -> list[dg.AssetSpec]:
    """Return a placeholder for each detector that is gone and left spans in the store."""
    there, found = place(), []
    for name in list_left_behind(settings.store, expected):
        history = history_of(settings.store, name, ExpectedSpans(is_installed=False))
        found.append(
            dg.AssetSpec(
                there.key(Family.SPANS.of(name)),
                group_name=there.name("removed_detectors"),
                description=(
                    f"Not installed any more. Its spans are kept: {history.kept} (batches)."
                    f" What to do: {history.remedy}."
                ),
                metadata={"state": DetectorState.REMOVED.value, "kept": history.kept},
            )
        )
    return found


def detector_sensor(
    settings: Settings, expected: Mapping[str, ExpectedSpans], *, is_on: bool
) -> dg.SensorDefinition:
    """Return the sensor of an installation's detectors.

    Args:
        settings: Of the installation.
        expected: What each detector's spans are made by now, by its name.
        is_on: Whether it runs from the first load on.
    """
    there = place()
    resource = there.name("installation")
    usable = [name for name, one in expected.items() if one.code]

    @dg.sensor(
        name=there.name(SENSOR),
        asset_selection=dg.AssetSelection.assets(
            *(there.key(Family.SPANS.of(name)) for name in usable), there.key(HISTORIES)
        ),
        minimum_interval_seconds=30,
        default_status=(
            dg.DefaultSensorStatus.RUNNING if is_on else dg.DefaultSensorStatus.STOPPED
        ),
        description=(
            "Notices new, upgraded, broken and removed detectors, says of each how many batches it"
            f" has, and launches the backfill of those in backfill.launch:"
            f" {_show_launch(settings)}."
        ),
        required_resource_keys={resource},
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        installation: Installation = getattr(context.resources, resource)
        arriving = batches_under_way(context.instance)
        found = histories(installation.settings.store, expected, without=arriving)
        return tick(context.instance, installation, there, found, cursor=context.cursor)

    return sensor


def _show_launch(settings: Settings) -> str:
    return ", ".join(settings.backfill.launch) or "none"


def batches_under_way(instance: dg.DagsterInstance) -> set[str]:
    """Return the batches of which a run of the graph goes on, which may make the spans itself."""
    runs = instance.get_runs(dg.RunsFilter(statuses=NOT_FINISHED_STATUSES))
    return {
        run.tags[PARTITION_NAME_TAG]
        for run in runs
        if PARTITION_NAME_TAG in run.tags and BACKFILL_ID_TAG not in run.tags
    }


def tick(
    instance: dg.DagsterInstance,
    installation: Installation,
    there: Place,
    found: Mapping[str, History],
    *,
    cursor: str | None,
) -> dg.SensorResult | dg.SkipReason:
    """Tell what changed of the detectors since the last tick, and launch what the settings say.

    Args:
        instance: Of Dagster.
        installation: Opened.
        there: Place of its graph.
        found: History of each detector.
        cursor: Of the last tick.
    """
    told = _read(cursor)
    changed = [
        one for one in found.values() if told.get(one.detector, {}).get("told") != _line(one)
    ]
    launches = _Launches.now(instance, installation, there)
    due = [one for one in found.values() if launches.of(one, told.get(one.detector, {}))]
    if due:
        try:
            installation.snapshot.check_unchanged()
        except DeidError as error:
            return dg.SkipReason(f"{error}")
    if not changed and not due:
        return dg.SkipReason("every detector is as it was told")
    after = {
        name: _after(one, told.get(name, {}), launched=one in due) for name, one in found.items()
    }
    requests = [launches.request(one, told.get(one.detector, {})) for one in due]
    return dg.SensorResult(
        run_requests=requests,
        skip_reason=None if requests else f"told of {len(changed):,} detectors; none is launched",
        dynamic_partitions_requests=launches.request_partitions(due, told),
        asset_events=[*_events(changed, [*found.values()], there)],
        cursor=json.dumps(after, sort_keys=True),
    )


@dataclass(frozen=True, slots=True)
class _Launches:
    """What may be launched now.

    Args:
        there: Place of the graph.
        kinds: ``new`` and ``upgraded``, where the settings name them.
        only: Detectors that these hold for; all where none is named.
        busy: Assets of which a backfill goes on.
        registered: Batches that Dagster knows.
    """

    there: Place
    kinds: Sequence[str]
    only: Sequence[str]
    busy: frozenset[dg.AssetKey]
    registered: frozenset[str]

    @classmethod
    def now(
        cls, instance: dg.DagsterInstance, installation: Installation, there: Place
    ) -> "_Launches":
        """Ask Dagster what goes on; nothing where the settings launch nothing."""
        kinds, only = installation.settings.backfill.launch, installation.settings.backfill.only
        if not kinds:
            return cls(there, (), (), frozenset(), frozenset())
        backfills = instance.get_backfills(filters=BulkActionsFilter(statuses=_ACTIVE))
        return cls(
            there,
            kinds,
            only,
            frozenset(key for one in backfills for key in one.asset_selection or ()),
            frozenset(there.batches.get_partition_keys(dynamic_partitions_store=instance)),
        )

    def of(self, one: History, told: Mapping[str, Any]) -> list[str]:
        """Return the batches of a detector to launch a backfill over; none for now, or at all."""
        if not one.expected.code or self.there.key(Family.SPANS.of(one.detector)) in self.busy:
            return []
        if self.only and one.detector not in self.only:
            return []
        if told.get("code") == one.expected.code and told.get("launches", 0) >= LAUNCHES:
            return []
        wanted = [
            *(one.lacking if NEW in self.kinds else ()),
            *(one.stale if UPGRADED in self.kinds else ()),
        ]
        return sorted({*wanted} - {*one.stopped})

    def request(self, one: History, told: Mapping[str, Any]) -> dg.RunRequest:
        """Return what asks Dagster for a backfill of one detector's spans, and of nothing else."""
        subset = self.there.batches.subset_with_partition_keys(self.of(one, told))
        key = self.there.key(Family.SPANS.of(one.detector))
        return dg.RunRequest.for_asset_graph_subset(
            AssetGraphSubset({key: subset}),  # type: ignore[call-arg]  # its decorator hides its fields
            # After new batches, which wait for nothing.
            tags={HISTORY_TAG: one.detector, PRIORITY_TAG: "-1", **POOL},
        )

    def request_partitions(
        self, due: Sequence[History], told: _Told
    ) -> list[dg.AddDynamicPartitionsRequest]:
        """Return what makes Dagster know the batches that it does not know yet."""
        wanted = {batch for one in due for batch in self.of(one, told.get(one.detector, {}))}
        new = sorted(wanted - self.registered)
        return [self.there.batches.build_add_request(new)] if new else []


def _read(cursor: str | None) -> _Told:
    """Return what was told of each detector; nothing where the cursor cannot be read."""
    try:
        found = json.loads(cursor or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _line(one: History) -> str:
    """Return what is told of a detector in one line; of a complete one not how many batches, which
    would be told with every batch that arrives.
    """
    if one.state is DetectorState.COMPLETE:
        return f"{one.state.value} | {one.expected.plugin}"
    said = (one.state.value, one.progress, one.kept, one.remedy, one.expected.plugin)
    return " | ".join(said)


def _after(one: History, told: Mapping[str, Any], *, launched: bool) -> dict[str, Any]:
    same = told.get("code") == one.expected.code
    return {
        "told": _line(one),
        "code": one.expected.code,
        "launches": (told.get("launches", 0) if same else 0) + launched,
    }


def _events(
    changed: Sequence[History], found: Sequence[History], there: Place
) -> list[dg.AssetObservation | dg.AssetMaterialization | dg.AssetCheckEvaluation]:
    """Return what Dagster shows of the detectors that changed, and of all together."""
    if not changed:
        return []
    events: list[Any] = [_observe(one, there) for one in changed]
    key = there.key(HISTORIES)
    events.append(
        dg.AssetObservation(
            key, metadata={"detectors_by_state": dg.MetadataValue.md(histories_md(found))}
        )
    )
    for verdict in judge(found):
        reasons = "\n".join(f"- {reason}" for reason in verdict.reasons)
        events.append(
            dg.AssetCheckEvaluation(
                asset_key=key,
                check_name=verdict.name,
                passed=verdict.passed,
                severity=dg.AssetCheckSeverity.WARN,
                metadata={
                    **verdict.counts,
                    **({"reasons": dg.MetadataValue.md(reasons)} if reasons else {}),
                },
                description=verdict.description,
                blocking=False,
            )
        )
    return events


def _observe(one: History, there: Place) -> dg.AssetObservation:
    """Return the state of a detector, as an observation of its spans."""
    return dg.AssetObservation(
        there.key(Family.SPANS.of(one.detector)),
        metadata={
            "state": one.state.value,
            "history": one.progress,
            **({"earlier_spans": one.kept} if one.kept else {}),
            **({"what_to_do": one.remedy} if one.remedy else {}),
            "version": one.expected.plugin or "none",
        },
    )
