"""The assets of a release.

What is withheld, the evidence, the approval where one is asked for, and what leaves.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import dagster as dg

from deid_assets.assets import evidence, ingest, redaction, release
from deid_assets.assets.declarations import AssetDeclaration
from deid_assets.config import Settings
from deid_assets.core.assets import Family
from deid_assets.core.redact import Policy
from deid_assets.defs import approving, diffing
from deid_assets.defs.audit import audited_asset
from deid_assets.defs.jobs import AWAITS_APPROVAL
from deid_assets.defs.placing import name_in
from deid_assets.intake.arrivals import ARRIVAL_VERSION
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.runtime.snapshot import software_version
from deid_assets.store import frames
from deid_assets.store.approvals import APPROVAL, REPORT
from deid_assets.store.withdrawals import ARRIVAL


def quarantine(policy: Policy) -> dg.AssetsDefinition:
    """Return what does not leave."""
    return audited_asset(
        partial(redaction.make_quarantine, policy=policy.name),
        AssetDeclaration(
            key=redaction.QUARANTINE,
            checks=redaction.QUARANTINE_CHECKS,
            deps=[ingest.RAW_NOTES, MERGED_SPANS, Family.REDACTED_NOTES.of(policy.name)],
            code_version=f"{software_version()}+{policy.digest[:12]}",
            group="release",
            description=(
                "Notes that are not released, each with the stage and the reason. Ids only."
            ),
            kinds={"parquet"},
            schema=frames.FAILED,
        ),
    )


def release_end(
    settings: Settings,
    policy: Policy,
    detectors: Sequence[str],
    *,
    upstream: Sequence[dg.AssetsDefinition],
) -> list[dg.AssetsDefinition]:
    """Return the evidence, the approval where one is asked for, and what leaves.

    Args:
        settings: Of the installation.
        policy: The one that is released.
        detectors: Those that can be used.
        upstream: The assets behind a release. It is refused where one was made by another version
            of them.
    """
    report = _release_report(settings, policy, detectors, upstream)
    asked = settings.release.approval
    tags = AWAITS_APPROVAL if asked else {}
    released = _released_corpus(settings, policy, [*upstream, report], tags=tags)
    approval = [approving.release_approval()] if asked else []
    return [report, *approval, released, diffing.release_diff(policy, tags=tags)]


def _release_report(
    settings: Settings,
    policy: Policy,
    detectors: Sequence[str],
    upstream: Sequence[dg.AssetsDefinition],
) -> dg.AssetsDefinition:
    return audited_asset(
        partial(
            evidence.make_release_report,
            policy=policy,
            detectors=detectors,
            code_versions=code_versions(upstream),
        ),
        AssetDeclaration(
            key=REPORT,
            checks=evidence.CHECKS,
            deps=[Family.REDACTED_NOTES.of(policy.name), redaction.QUARANTINE],
            code_version=f"{software_version()}+{settings.digest('release', 'gates')}",
            group="release",
            description="One page of evidence for whoever signs the release.",
            kinds={"report", "html"},
            schema=evidence.CHECK_ROWS,
        ),
    )


def _released_corpus(
    settings: Settings,
    policy: Policy,
    upstream: Sequence[dg.AssetsDefinition],
    *,
    tags: Mapping[str, str],
) -> dg.AssetsDefinition:
    deps = [
        ingest.RAW_NOTES,
        Family.REDACTED_NOTES.of(policy.name),
        redaction.QUARANTINE,
        REPORT,
    ]
    if settings.release.approval:
        deps.append(APPROVAL)
    return audited_asset(
        partial(release.make_released_corpus, policy=policy, code_versions=code_versions(upstream)),
        AssetDeclaration(
            key=release.RELEASED,
            checks=release.checks_of(settings),
            deps=deps,
            code_version=(
                f"{software_version()}+{policy.digest[:12]}+{settings.digest('release', 'gates')}"
            ),
            group="release",
            description=(
                "The released corpus, with a signed manifest. Made only if every receipt back to"
                " the raw notes holds."
            ),
            kinds={"parquet", "json", "published"},
            schema=release.NOTES,
            may_wait=True,
            tags=tags,
        ),
    )


def code_versions(assets: Sequence[dg.AssetsDefinition]) -> dict[str, str]:
    """Return by asset under which code version each would be made now."""
    specs = (spec for asset in assets for spec in asset.specs)
    return {ARRIVAL: ARRIVAL_VERSION} | {
        name_in(spec.key): spec.code_version or "" for spec in specs
    }
