"""The asset graph of one installation.

A fixed trunk, and a family of assets for each installed detector.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import dagster as dg
from dagster._core.definitions.definitions_load_context import (
    DefinitionsLoadContext,
    DefinitionsLoadType,
)

from deid_assets.assets import evaluating
from deid_assets.assets.notes_table import LANDED_NOTES, NotesTable
from deid_assets.assets.own import asking, check_asked
from deid_assets.config import Settings
from deid_assets.core.assets import ReleaseAssets, study_part
from deid_assets.core.errors import ConfigError
from deid_assets.core.redact import Policy
from deid_assets.defs import (
    alerting,
    approving,
    auditing,
    build_release,
    build_scores,
    build_synthesis,
    build_tables,
    documenting,
    retaining,
    tables_of_notes,
    vaulting,
)
from deid_assets.defs.build_spans import (
    detector_family,
    intake,
    list_expected_spans,
    redaction_start,
    unusable_detectors,
)
from deid_assets.defs.build_taggers import tagger_assets
from deid_assets.defs.consenting import consent_sensor
from deid_assets.defs.feeding import feed_jobs
from deid_assets.defs.histories import detector_histories, detector_sensor, list_removed_detectors
from deid_assets.defs.instance import harden_process
from deid_assets.defs.jobs import (
    Job,
    Selections,
    is_of_a_batch,
    jobs,
    landing_sensor,
    nightly_schedule,
    study_job,
)
from deid_assets.defs.operating import operation_assets, operation_jobs
from deid_assets.defs.placing import (
    LANDING,
    Execute,
    Place,
    check_prefix,
    events_alone,
    name_in,
    place,
    place_definitions,
)
from deid_assets.defs.resources import NOWHERE, installation_resource, vault_resource
from deid_assets.plugins import Plugin
from deid_assets.runtime.checks import check_snapshot
from deid_assets.runtime.settings_record import SettingsSource
from deid_assets.runtime.snapshot import Snapshot
from deid_assets.runtime.taggers import model_asset

PROMISED = "deid_assets/snapshot"
"""Tag of a run that holds the digest of what the code location was made of."""
NAMES = "deid_assets/names"
"""The same for what its assets are named after."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """What differs for an installation that shares a code location.

    Args:
        key_prefix: Parts before the name of each of its assets; none for a location of its own.
        table: Asset of somebody else whose rows are the notes, in place of the landing folder.
        is_on: Whether sensor and automation run from the first load on.
        is_evaluated: Whether a sensor of ours evaluates the conditions of our assets; else one that
            the location has.
        execute: Runs each step.
        spec_of: What Dagster shows of each asset.
        source: Where the settings come from, and who runs the installation.
        only: The detectors that are installed for it; all where not given.
    """

    key_prefix: tuple[str, ...] = ()
    table: NotesTable | None = None
    is_on: bool = False
    is_evaluated: bool = True
    execute: Execute = events_alone
    spec_of: Callable[[dg.AssetSpec], dg.AssetSpec] = lambda spec: spec
    source: SettingsSource | None = None
    only: Collection[str] | None = None

    @property
    def place(self) -> Place:
        """The place of the graph."""
        landing = LANDED_NOTES if self.table else LANDING
        return Place(self.key_prefix, landing, self.execute)


def build_definitions(
    settings: Settings, *, key_prefix: Sequence[str] | str = ()
) -> dg.Definitions:
    """Return the assets, checks, jobs, sensors and schedule of an installation.

    Without a prefix they are a code location of their own: they set its executor and its IO
    manager. With one they stand beside assets of others, or of other installations, each with a
    ``home`` of its own; merge them with ``dagster.Definitions.merge``.

    Args:
        settings: How the installation de-identifies.
        key_prefix: Parts before the name of every asset; jobs, sensors, schedules, groups,
            resources and the partitions begin with them too, joined by two underscores.

    Raises:
        ConfigError: The settings or the prefix are wrong.
        ProvenanceError: A run was launched from a graph with other assets.
    """
    return build_shared_definitions(settings, Sharing(check_prefix(key_prefix)))


def build_shared_definitions(settings: Settings, sharing: Sharing) -> dg.Definitions:
    """Return what ``build_definitions`` returns, and see that a run executes what it was launched
    from.

    A run that Dagster launches loads the code location again, in a process of its own. The digest
    of what the code server had loaded travels with the run, and each asset compares it with what
    its own process loaded.

    Raises:
        ConfigError: The settings are wrong.
        ProvenanceError: The run was launched from a graph with other assets.
    """
    harden_process()
    loading = DefinitionsLoadContext.get()
    whose = "/".join(["", *sharing.key_prefix])
    checked = partial(check_snapshot, settings, source=_source_of(sharing), only=sharing.only)
    if loading.load_type is DefinitionsLoadType.INITIALIZATION:
        snapshot = checked()
        # Definitions.with_reconstruction_metadata does not reach the runs of a code server in
        # Dagster 1.13.
        loading.add_to_pending_reconstruction_metadata(PROMISED + whose, snapshot.digest)
        loading.add_to_pending_reconstruction_metadata(NAMES + whose, snapshot.names)
        return definitions_of(snapshot, sharing)
    given = loading.reconstruction_metadata
    # A run that a code server launched without a promise is refused.
    promised = str(given.get(PROMISED + whose, "nothing" if loading.code_location_name else ""))
    snapshot = checked(promised=promised)
    if given.get(NAMES + whose, snapshot.names) != snapshot.names:
        snapshot.check_promised()  # before Dagster says of a missing asset what nobody understands
    return definitions_of(snapshot, sharing)


def _source_of(sharing: Sharing) -> SettingsSource | None:
    if sharing.source or not sharing.key_prefix:
        return sharing.source
    return SettingsSource(f"the key prefix {'/'.join(sharing.key_prefix)}")


def definitions_of(snapshot: Snapshot, sharing: Sharing | None = None) -> dg.Definitions:
    """Return the graph of an installation as it was when the snapshot was taken.

    Raises:
        ConfigError: A suite of the installation names no asset.
    """
    sharing = sharing or Sharing()
    with asking(snapshot.suites), place_definitions(sharing.place):
        definitions = _definitions_of(snapshot, sharing)
    assets = [asset for asset in definitions.assets or () if isinstance(asset, dg.AssetsDefinition)]
    check_asked(snapshot.suites, [name_in(key) for asset in assets for key in asset.keys])
    return definitions


def definitions_of_settings(
    settings: Settings,
    *,
    plugins: Mapping[str, Plugin] | None = None,
    audits: Mapping[str, Plugin] | None = None,
) -> dg.Definitions:
    """Return the graph under some settings, without asking whether the installation can be run.

    Args:
        settings: Names the ensemble and the policies.
        plugins: Installed detectors; found by entry point when not given.
        audits: Installed audits; likewise.

    Raises:
        ConfigError: The settings name a policy that does not exist.
    """
    return definitions_of(Snapshot.take(settings, plugins=plugins, audits=audits))


def _definitions_of(snapshot: Snapshot, sharing: Sharing) -> dg.Definitions:
    settings, there = snapshot.settings, place()
    usable = [name for name, plugin in snapshot.detectors.items() if not plugin.fault]
    plain = [*_arriving(sharing), *_assets(snapshot, usable)]
    assets = list(dg.map_asset_specs(partial(_show, sharing=sharing, settings=settings), plain))
    made = jobs(
        Selections.of(plain),
        usable,
        with_bakeoff=snapshot.page(evaluating.BAKEOFF) is not None,
    )
    feeding, feed_schedules = feed_jobs(settings.feeds)
    watching, watch_schedules = operation_jobs(made.training, has_taggers=bool(snapshot.recipes))
    all_jobs = [
        *made.all,
        *feeding,
        *watching,
        *([approving.approve_job()] if settings.release.approval else []),
        *_study_jobs(snapshot, plain),
        *build_tables.tables_job(plain),
        documenting.evidence_job(),
    ]
    return dg.Definitions(
        assets=assets,
        jobs=all_jobs,
        sensors=[
            landing_sensor(made.sensed, is_on=sharing.is_on),
            detector_sensor(
                settings,
                list_expected_spans(snapshot),
                is_on=sharing.is_on or not there.is_shared,
            ),
            alerting.alert_sensor(
                settings.alerts, alerting.Watched.of(assets, [job.name for job in all_jobs])
            ),
            *_consent_sensors(settings),
            *([_automation(assets, sharing)] if sharing.is_evaluated else []),
        ],
        schedules=[nightly_schedule(made.nightly), *feed_schedules, *watch_schedules],
        resources={
            there.name("installation"): installation_resource(snapshot),
            there.name("vault"): vault_resource(settings.vault),
            there.name("io_manager"): NOWHERE,
        },
        executor=None if there.is_shared else dg.in_process_executor,
    )


def _show(spec: dg.AssetSpec, *, sharing: Sharing, settings: Settings) -> dg.AssetSpec:
    """Return an asset as Dagster shows it.

    Raises:
        ConfigError: It would have another key.
    """
    shown = sharing.spec_of(spec.replace_attributes(owners=settings.owners))
    if shown.key != spec.key:
        raise ConfigError(
            f"get_asset_spec gives {spec.key.to_user_string()} another key, and receipts would name"
            " the old one; change key_prefix instead"
        )
    return shown


def _automation(
    assets: Sequence[dg.AssetsDefinition | dg.AssetSpec], sharing: Sharing
) -> dg.AutomationConditionSensorDefinition:
    """Return the sensor that evaluates the conditions of the installation's assets."""
    keys = [
        key
        for asset in assets
        for key in (asset.keys if isinstance(asset, dg.AssetsDefinition) else [asset.key])
    ]
    there = place()
    return dg.AutomationConditionSensorDefinition(
        there.name("automation"),
        target=dg.AssetSelection.assets(*keys) if there.is_shared else dg.AssetSelection.all(),
        default_status=(
            dg.DefaultSensorStatus.RUNNING if sharing.is_on else dg.DefaultSensorStatus.STOPPED
        ),
    )


def _arriving(sharing: Sharing) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    """Return where notes arrive: the landing folder, or what takes the rows of a table."""
    if sharing.table:
        return [tables_of_notes.build_landed_notes(sharing.table)]
    there = place()
    return [
        dg.AssetSpec(
            there.key(LANDING),
            group_name=there.name("intake"),
            kinds={"folder"},
            description=(
                "Folder where new files are dropped. The landing sensor makes a batch of each."
            ),
        )
    ]


def _assets(snapshot: Snapshot, usable: Sequence[str]) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    """Return all assets of the graph.

    Args:
        snapshot: Of the installation.
        usable: Detectors.
    """
    settings = snapshot.settings
    policies = [snapshot.policies[source] for source in settings.policies]
    upstream = _behind_a_release(snapshot, policies, usable)
    own = build_release.ReleaseLine(settings, snapshot.released)
    withheld = build_release.quarantine(own)
    return [
        *upstream,
        withheld,
        *build_release.release_end(own, usable, upstream=[*upstream, withheld]),
        *_studies(snapshot, usable, upstream),
        *_tables(snapshot, own),
        *_audits(snapshot, policies),
        *build_scores.summaries(settings, usable, snapshot.page(evaluating.BAKEOFF)),
        *build_scores.plugin_tables(
            settings, snapshot.tables, origins=_origins(snapshot), usable=usable
        ),
        *build_synthesis.synthetic_corpora(settings, snapshot.generators),
        detector_histories(list_expected_spans(snapshot)),
        *operation_assets(settings.watch),
        *retaining.retention_assets(settings.retention),
        *unusable_detectors(snapshot),
        *list_removed_detectors(settings, list_expected_spans(snapshot)),
    ]


def _behind_a_release(
    snapshot: Snapshot, policies: Sequence[Policy], usable: Sequence[str]
) -> list[dg.AssetsDefinition]:
    """Return the assets that a release is made from."""
    settings, installed, recipes = snapshot.settings, snapshot.installed, snapshot.recipes
    released = snapshot.released
    upstream = [
        *intake(settings, snapshot.format_versions),
        *tagger_assets(settings, list(recipes.values()), installed),
        *redaction_start(
            settings, [*policies, *(study.policy for study in snapshot.studies.values())]
        ),
        *(
            vaulting.build_redacted_notes(settings, policy, released=released)
            for policy in policies
        ),
    ]
    for name in usable:
        model = model_asset(recipes[name], installed) if name in recipes else ""
        upstream += detector_family(snapshot, snapshot.detectors[name], model=model)
    return upstream


def _studies(
    snapshot: Snapshot, usable: Sequence[str], upstream: Sequence[dg.AssetsDefinition]
) -> list[dg.AssetsDefinition]:
    """Return the assets of every study, which rest on the same spans."""
    found: list[dg.AssetsDefinition] = []
    for study in snapshot.studies.values():
        line, notes = build_release.line_of_study(snapshot.settings, study, snapshot.released)
        start = [notes, build_release.quarantine(line)]
        found += start
        found += build_release.release_end(line, usable, upstream=[*upstream, *start])
    return found


def _tables(snapshot: Snapshot, own: build_release.ReleaseLine) -> list[dg.AssetsDefinition]:
    """Return the assets of structured tables, released with the notes and with those of studies."""
    studies = [
        build_release.line_of_study(snapshot.settings, study, snapshot.released)[0]
        for study in (snapshot.studies.values() if snapshot.settings.tables else ())
    ]
    return [
        asset
        for name, table in snapshot.settings.tables.items()
        for asset in build_tables.table_assets(name, table, [own, *studies])
    ]


def _study_jobs(
    snapshot: Snapshot, assets: Sequence[dg.AssetsDefinition | dg.AssetSpec]
) -> list[Job]:
    """Return the jobs that make one study, and that approve its releases."""
    found: list[Job] = []
    for name in snapshot.studies:
        keys = [
            spec.key
            for asset in assets
            if isinstance(asset, dg.AssetsDefinition)
            for spec in asset.specs
            if study_part(name_in(spec.key))[0] == name and is_of_a_batch(spec)
        ]
        found.append(study_job(name, keys))
        if snapshot.settings.of_study(name).release.approval:
            found.append(approving.approve_job(ReleaseAssets(name)))
    return found


def _consent_sensors(settings: Settings) -> list[dg.SensorDefinition]:
    """Return the sensor of the lists of who agreed, where a study has one."""
    has_lists = any(study.consent for study in settings.studies.values())
    return [consent_sensor()] if has_lists else []


def _audits(
    snapshot: Snapshot, policies: Sequence[Policy]
) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    """Return an asset per privacy audit, a placeholder of one that cannot be used."""
    found: list[dg.AssetsDefinition | dg.AssetSpec] = []
    for plugin in snapshot.audits.values():
        if plugin.fault:
            found.append(auditing.unusable_audit(plugin))
        else:
            found.append(auditing.audit_asset(snapshot.settings, policies, plugin))
    return found


def _origins(snapshot: Snapshot) -> dict[str, str]:
    """Return the package that each detector's plugin is in.

    Of a recipe, its trainer's.
    """
    installed, recipes = snapshot.installed, snapshot.recipes
    found = {name: plugin.package for name, plugin in snapshot.detectors.items()}
    trained = {
        name: installed[one.plugin].package
        for name, one in recipes.items()
        if one.plugin in installed
    }
    return found | trained
