"""release_approval: who approved a batch's release, as an input of the released corpus."""

from typing import Any

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from deid_assets.core.assets import MAIN, ReleaseAssets
from deid_assets.defs.guard import guard_step
from deid_assets.defs.jobs import ON_DEMAND, approve_job_of
from deid_assets.defs.placing import place
from deid_assets.runtime.installation import Installation
from deid_assets.store.approvals import approve, proof_by_login


class Approval(dg.Config):
    """The whole configuration of ``approve_release``.

    Args:
        by: User name or e-mail address of who approves.
        page: SHA-256 of the page that was read: ``page`` in the metadata of ``release_report``.
    """

    by: str
    page: str


def release_approval(names: ReleaseAssets = MAIN, *, group: str = "release") -> dg.AssetsDefinition:
    """Return the asset of who approved the release of a batch.

    Args:
        names: Whose release it is.
        group: Group in the Dagster UI.
    """
    there = place()
    resource = there.name("installation")

    @dg.asset(
        key=there.key(names.approval),
        deps=[there.key(names.report)],
        required_resource_keys={resource},
        io_manager_key=there.name("io_manager"),
        partitions_def=there.batches,
        code_version="1",
        group_name=there.name(group),
        kinds={"json"},
        tags=ON_DEMAND,
        description=(
            "Who approved the release of a batch, when, and the digest of the page that was read."
            f" Made by the job `{there.name(approve_job_of(names))}`, or by `deid approve` from a"
            " shell."
        ),
    )
    def approval(context: dg.AssetExecutionContext, config: Approval) -> dg.MaterializeResult[Any]:
        return _approve(context, config, getattr(context.resources, resource), names)

    return approval


def _approve(
    context: dg.AssetExecutionContext,
    config: Approval,
    installation: Installation,
    names: ReleaseAssets,
) -> dg.MaterializeResult[Any]:
    """Sign and store the approval, if the page is the present one."""
    batch = context.partition_key
    with guard_step(context, names.approval, batch):
        run = context.run
        receipt = approve(
            installation.files,
            batch,
            by=config.by,
            page=config.page,
            proof=proof_by_login(installation.key, run.tags, run_id=run.run_id, by=config.by),
            declared=installation.settings.approvals.keys,
            names=names,
        )
    return dg.MaterializeResult(
        data_version=dg.DataVersion(receipt.digest), metadata=dict(receipt.counts)
    )


def approve_job(names: ReleaseAssets = MAIN) -> UnresolvedAssetJobDefinition:
    """Return the job that releases a batch once somebody has read the page on it."""
    there = place()
    return dg.define_asset_job(
        there.name(approve_job_of(names)),
        selection=dg.AssetSelection.assets(
            *(there.key(asset) for asset in (names.approval, names.released, names.diff))
        ),
        executor_def=there.executor,
        description=(
            "Approve a batch's release and make it. Name yourself and the SHA-256 of the page that"
            " you read."
        ),
    )
