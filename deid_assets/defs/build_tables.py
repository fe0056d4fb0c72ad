"""The assets of structured tables: one that checks each, and one for each release of it."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from dagster import AssetsDefinition, AssetSelection, AssetSpec, define_asset_job

from deid_assets.assets import checked_tables, released_tables
from deid_assets.assets.declarations import AssetDeclaration
from deid_assets.config.tables import TableSettings
from deid_assets.core.assets import Family, family_of, study_part
from deid_assets.defs.audit import build_audited_asset
from deid_assets.defs.build_release import ReleaseLine
from deid_assets.defs.jobs import Job
from deid_assets.defs.placing import name_in, place
from deid_assets.defs.releasing import bind_release
from deid_assets.runtime.snapshot import software_version

TABLES_JOB = "release_tables"


def table_assets(
    name: str, settings: TableSettings, lines: Sequence[ReleaseLine]
) -> list[AssetsDefinition]:
    """Return the assets of a table.

    Args:
        name: Of the table.
        settings: Of the table.
        lines: The releases of notes that it leaves with: the installation's own, and studies.
    """
    version = f"{software_version()}+{settings.digest[:12]}"
    source = build_audited_asset(
        partial(checked_tables.make_table, table=name),
        AssetDeclaration(
            key=Family.TABLE.of(name),
            checks=checked_tables.CHECKS,
            deps=[],
            code_version=f"{version}+{_stamp(settings.file)}",
            group="tables",
            description=f"Table `{name}` as it stands at its source, checked. None of its rows.",
            kinds={"table"},
            schema=checked_tables.COLUMNS,
            partitioned=False,
            automatic=False,
        ),
    )
    mine = [line for line in lines if settings.is_of(line.names.study)]
    return [source, *(_build_released_table(name, settings, line, version) for line in mine)]


def _build_released_table(
    name: str, settings: TableSettings, line: ReleaseLine, version: str
) -> AssetsDefinition:
    make = partial(released_tables.make_released_table, table=name, policy=line.policy)
    return build_audited_asset(
        bind_release(line.names, make),
        AssetDeclaration(
            key=line.names.name_released_table(name),
            checks=released_tables.list_released_checks(settings),
            deps=[Family.TABLE.of(name), line.names.released],
            code_version=(
                f"{version}+{line.policy.digest[:12]}+{line.settings.digest('release')}"
                f"{line.version}"
            ),
            group=line.group,
            description=(
                f"Table `{name}` with the notes: ids and dates under the same key, with a signed"
                f" manifest.{line.whose}"
            ),
            kinds={"table", "published"},
            schema=checked_tables.COLUMNS,
            partitioned=False,
            automatic=False,
            may_wait=True,
            tags=line.tags,
        ),
    )


def tables_job(assets: Sequence[AssetsDefinition | AssetSpec]) -> list[Job]:
    """Return the job that checks and releases all tables, where there are any."""
    made = [asset for asset in assets if isinstance(asset, AssetsDefinition)]
    there = place()
    keys = [key for asset in made for key in asset.keys if _is_table(name_in(key))]
    if not keys:
        return []
    return [
        define_asset_job(
            there.name(TABLES_JOB),
            selection=AssetSelection.assets(*keys),
            description=(
                "Every table, checked and released with the notes that are out, and for each study."
            ),
            executor_def=there.executor,
        )
    ]


def _is_table(name: str) -> bool:
    return family_of(study_part(name)[1]) in (Family.TABLE, Family.RELEASED_TABLE)


def _stamp(path: Path | None) -> str:
    """Return what changes with a file, without reading it; nothing for a query."""
    try:
        state = path.stat() if path else None
    except OSError:
        return "absent"
    return f"{state.st_size}-{state.st_mtime_ns}" if state else "query"
