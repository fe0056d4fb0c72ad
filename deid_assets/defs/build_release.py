"""The assets of a release: the installation's own, and that of each study.

What is withheld, the evidence, the approval where one is asked for, and what leaves.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from dagster import AssetsDefinition

from deid_assets.assets import evidence, ingest, redaction, release
from deid_assets.assets.declarations import AssetDeclaration
from deid_assets.config import Settings
from deid_assets.core.assets import MAIN, STUDY, Family, ReleaseAssets
from deid_assets.core.redact import Policy
from deid_assets.defs import approving, diffing
from deid_assets.defs.audit import build_audited_asset
from deid_assets.defs.jobs import AWAITS_APPROVAL
from deid_assets.defs.placing import name_in
from deid_assets.defs.releasing import bind_release
from deid_assets.intake.arrivals import ARRIVAL_VERSION
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.runtime.snapshot import software_version
from deid_assets.runtime.studies import Study
from deid_assets.store import frames
from deid_assets.store.denials import DENIED_VALUES, DENIED_VERSION
from deid_assets.store.withdrawals import ARRIVAL


@dataclass(frozen=True, slots=True)
class ReleaseLine:
    """One of the releases that an installation makes of the same spans: its own, or a study's.

    Args:
        settings: As the release has them.
        policy: Its redaction policy.
        names: Of its assets.
        version: What else its assets follow from, for their code versions; empty for the
            installation's own.
    """

    settings: Settings
    policy: Policy
    names: ReleaseAssets = MAIN
    version: str = ""

    @property
    def group(self) -> str:
        """Group in the Dagster UI."""
        return f"{STUDY}_{self.names.study}" if self.names.study else "release"

    @property
    def tags(self) -> dict[str, str]:
        """Tags by which the assets of a study are selected."""
        return {"deid/study": self.names.study} if self.names.study else {}

    @property
    def whose(self) -> str:
        """Whose release it is, as descriptions say it."""
        return f" Of study `{self.names.study}`." if self.names.study else ""


def line_of_study(
    settings: Settings, study: Study, quoted: Policy
) -> tuple[ReleaseLine, AssetsDefinition]:
    """Return a study's release and its redacted notes.

    Args:
        settings: Of the installation.
        study: The study.
        quoted: Policy of the installation's own release, on which the study's rests.
    """
    names = ReleaseAssets(study.name)
    recipients = hashlib.sha256("\n".join(study.settings.recipients).encode()).hexdigest()
    version = f"+{study.digest[:10]}{recipients[:4]}"
    line = ReleaseLine(settings.of_study(study.name), study.policy, names, version)
    return line, _study_notes(line, study, quoted)


def _study_notes(line: ReleaseLine, study: Study, quoted: Policy) -> AssetsDefinition:
    return build_audited_asset(
        bind_release(line.names, partial(redaction.make_redacted_notes, policy=line.policy)),
        AssetDeclaration(
            key=line.names.name_redacted(line.policy.name),
            checks=redaction.STUDY_CHECKS,
            deps=[
                ingest.RAW_NOTES,
                ingest.GOLD,
                MERGED_SPANS,
                Family.REDACTED_NOTES.of(quoted.name),
            ],
            code_version=(
                f"{software_version()}+{study.digest[:12]}"
                f"+{line.settings.digest('redact_gold', 'ensemble', 'gates')}"
            ),
            group=line.group,
            description=(
                f"Notes of study `{study.name}`, redacted under policy `{line.policy.name}` with a"
                " key of its own. No detector looks for spans again."
            ),
            kinds={"redacted", "parquet", "restricted"},
            schema=redaction.NOTES,
            may_wait=True,
            tags={"deid/policy": line.policy.name, **line.tags},
            metadata={"policy_digest": line.policy.digest},
        ),
    )


def quarantine(line: ReleaseLine) -> AssetsDefinition:
    """Return what does not leave."""
    return build_audited_asset(
        bind_release(line.names, partial(redaction.make_quarantine, policy=line.policy.name)),
        AssetDeclaration(
            key=line.names.quarantine,
            checks=redaction.QUARANTINE_CHECKS,
            deps=[ingest.RAW_NOTES, MERGED_SPANS, line.names.name_redacted(line.policy.name)],
            code_version=f"{software_version()}+{line.policy.digest[:12]}{line.version}",
            group=line.group,
            description=(
                "Notes that are not released, each with the stage and the reason. Ids only."
                f"{line.whose}"
            ),
            kinds={"parquet"},
            schema=frames.FAILED,
            tags=line.tags,
        ),
    )


def release_end(
    line: ReleaseLine, detectors: Sequence[str], *, upstream: Sequence[AssetsDefinition]
) -> list[AssetsDefinition]:
    """Return the evidence, the approval where one is asked for, and what leaves.

    Args:
        line: Whose release it is.
        detectors: Those that can be used.
        upstream: The assets behind a release. It is refused where one was made by another version
            of them.
    """
    report = _release_report(line, detectors, upstream)
    asked = line.settings.release.approval
    tags = {**(AWAITS_APPROVAL if asked else {}), **line.tags}
    released = _build_released_corpus(line, [*upstream, report], tags=tags)
    approval = [approving.release_approval(line.names, group=line.group)] if asked else []
    diff = diffing.release_diff(line.policy, tags=tags, names=line.names, group=line.group)
    return [report, *approval, released, diff]


def _release_report(
    line: ReleaseLine, detectors: Sequence[str], upstream: Sequence[AssetsDefinition]
) -> AssetsDefinition:
    make = partial(
        evidence.make_release_report,
        policy=line.policy,
        detectors=detectors,
        code_versions=code_versions(upstream),
    )
    return build_audited_asset(
        bind_release(line.names, make),
        AssetDeclaration(
            key=line.names.report,
            checks=evidence.CHECKS,
            deps=[line.names.name_redacted(line.policy.name), line.names.quarantine],
            code_version=(
                f"{software_version()}+{line.settings.digest('release', 'gates')}{line.version}"
            ),
            group=line.group,
            description=f"One page of evidence for whoever signs the release.{line.whose}",
            kinds={"report", "html"},
            schema=evidence.CHECK_ROWS,
            tags=line.tags,
        ),
    )


def _build_released_corpus(
    line: ReleaseLine, upstream: Sequence[AssetsDefinition], *, tags: Mapping[str, str]
) -> AssetsDefinition:
    names, policy = line.names, line.policy
    deps = [ingest.RAW_NOTES, names.name_redacted(policy.name), names.quarantine, names.report]
    if line.settings.release.approval:
        deps.append(names.approval)
    make = partial(
        release.make_released_corpus, policy=policy, code_versions=code_versions(upstream)
    )
    return build_audited_asset(
        bind_release(names, make),
        AssetDeclaration(
            key=names.released,
            checks=release.checks_of(line.settings),
            deps=deps,
            code_version=(
                f"{software_version()}+{policy.digest[:12]}"
                f"+{line.settings.digest('release', 'gates')}{line.version}"
            ),
            group=line.group,
            description=(
                "The released corpus, with a signed manifest. Made only if every receipt back to"
                f" the raw notes holds.{line.whose}"
            ),
            kinds={"parquet", "json", "published"},
            schema=release.NOTES,
            may_wait=True,
            tags=tags,
        ),
    )


def code_versions(assets: Sequence[AssetsDefinition]) -> dict[str, str]:
    """Return by asset under which code version each would be made now."""
    specs = (spec for asset in assets for spec in asset.specs)
    return {ARRIVAL: ARRIVAL_VERSION, DENIED_VALUES: DENIED_VERSION} | {
        name_in(spec.key): spec.code_version or "" for spec in specs
    }
