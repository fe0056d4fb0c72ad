"""What is not up to date, decided by signed receipts, by the files there are, and by what this
instance has seen.
"""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg

from deid_assets.assets.ingest import GOLD
from deid_assets.assets.release import RELEASED, check_released
from deid_assets.assets.released_tables import batches_out, check_table_released
from deid_assets.assets.scoring import list_scored_batches
from deid_assets.core.assets import Family, study_part
from deid_assets.core.errors import InputError, ProvenanceError
from deid_assets.defs.jobs import ON_DEMAND
from deid_assets.defs.placing import name_in
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import ALL, Receipt


def list_stale_assets(
    defs: dg.Definitions, installation: Installation, batch: str, instance: dg.DagsterInstance
) -> list[dg.AssetKey]:
    """Return the assets to make for a batch, or for ``ALL`` those without partitions, upstream
    first.

    An asset is stale when it has no valid receipt, when a file is missing or altered, when its code
    or an input changed since, when something upstream of it is stale, or when this instance does
    not know the materialization that the receipt records. A release is also stale when its folder
    is not the newest release, whole and signed; that of a table also when other notes are out.
    """
    stale: list[dg.AssetKey] = []
    for spec in _order(defs, partitioned=batch != ALL):
        upstream = {dep.asset_key for dep in spec.deps}
        if upstream & set(stale) or not _is_current(spec, installation, batch, instance):
            stale.append(spec.key)
    return stale


def _is_current(
    spec: dg.AssetSpec, installation: Installation, batch: str, instance: dg.DagsterInstance
) -> bool:
    name = name_in(spec.key)
    try:
        receipt = installation.files.find(name, batch)
        if receipt is None or receipt.code_version != spec.code_version:
            return False
        if _current_inputs(name, receipt, installation) != receipt.inputs or not _is_known(
            spec.key, receipt, instance
        ):
            return False
        installation.files.check(receipt)
        study, part = study_part(name)
        if part == RELEASED:
            check_released(installation.of_study(study) if study else installation, receipt)
        if table := Family.RELEASED_TABLE.name_in(part):
            check_table_released(installation.of_study(study) if study else installation, table)
    except (InputError, ProvenanceError):
        return False
    return True


def _current_inputs(name: str, receipt: Receipt, installation: Installation) -> Mapping[str, str]:
    """Return the digests that the asset would record if it were made now."""
    names: Sequence[str] = list(receipt.inputs)
    study, part = study_part(name)
    if Family.RELEASED_TABLE.name_in(part):
        whose = installation.of_study(study) if study else installation
        released = [f"{whose.names.released}@{batch}" for batch in batches_out(whose)]
        names = [one for one in names if not one.startswith(f"{whose.names.released}@")] + released
    if detector := Family.SCORECARD.name_in(name):
        spans = Family.SPANS.of(detector)
        scored = list_scored_batches(installation, spans)
        names = [f"{asset}@{batch}" for batch in scored for asset in (GOLD, spans)]
    return {name: installation.files.receipt(*name.rsplit("@", 1)).digest for name in names}


def _is_known(key: dg.AssetKey, receipt: Receipt, instance: dg.DagsterInstance) -> bool:
    records = instance.fetch_materializations(
        dg.AssetRecordsFilter(
            key, asset_partitions=None if receipt.batch == ALL else [receipt.batch]
        ),
        limit=1,
    ).records
    materialization = records[0].asset_materialization if records else None
    return (
        materialization is not None
        and (materialization.tags or {}).get("dagster/data_version") == receipt.digest
    )


def _order(defs: dg.Definitions, *, partitioned: bool) -> Iterator[dg.AssetSpec]:
    """Yield the assets that are made here, each after what it depends on."""
    specs = {
        spec.key: spec
        for spec in defs.resolve_all_asset_specs()
        if spec.code_version
        and (spec.partitions_def is not None) == partitioned
        and not ON_DEMAND.items() <= spec.tags.items()
    }
    done: set[dg.AssetKey] = set()

    def visit(spec: dg.AssetSpec) -> Iterator[dg.AssetSpec]:
        if spec.key in done:
            return
        done.add(spec.key)
        for dep in spec.deps:
            if dep.asset_key in specs:
                yield from visit(specs[dep.asset_key])
        yield spec

    for spec in specs.values():
        yield from visit(spec)
