"""Sections on approvals and signatures, and on what was not measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import deid_assets
from deid_assets.assets.evidence import LIMITS
from deid_assets.assets.ingest import GOLD
from deid_assets.core.phi import PROFILES, profile
from deid_assets.core.redact import Policy
from deid_assets.core.verdicts import State
from deid_assets.evidence.attacks import source_of
from deid_assets.evidence.audits import AuditRecord
from deid_assets.evidence.detection import LEAST_SPANS
from deid_assets.evidence.document import EvidencePart, EvidenceSection, Statement, make_statement
from deid_assets.evidence.leaving_models import OF_MODELS
from deid_assets.evidence.leaving_tables import limits_of_tables
from deid_assets.evidence.recall import DetectionRecall
from deid_assets.evidence.requirements import BesideNotes
from deid_assets.evidence.verifying import ApprovalCheck, VerifiedRelease
from deid_assets.evidence.wording import at, language, list_words, many
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.store.approvals import PAGE
from deid_assets.store.receipts import state_of


def section_on_approvals(
    release: VerifiedRelease, approval: ApprovalCheck | None
) -> EvidenceSection:
    """Return who approved, and which signatures were checked for this document."""
    names = release.installation.names
    report = release.receipt(names.report)
    files = sum(len(link.outputs) for link in release.chain.values())
    signer = release.installation.release_signer.public.fingerprint
    statements = [
        make_statement(
            f"On {at(release.checked_at)} the signatures of the manifest, of the list of releases"
            f" and of {many(len(release.chain), 'receipt')}, and the SHA-256 of the"
            f" {many(files, 'file')} that they name, were checked again; all hold.",
            release.manifest_source,
            release.list_source,
            *map(release.book.receipt, release.chain.values()),
        ),
        make_statement(
            f"The manifest is signed with the key {signer}. Whoever holds the release can check it"
            " with `deid verify`, and compare this fingerprint over another channel.",
            release.manifest_source,
        ),
        make_statement(
            "The page on which the release was judged is the one that was signed: its SHA-256"
            f" begins with {str(report.counts[PAGE])[:16]}.",
            release.source(names.report),
        ),
        _approval(release, approval),
    ]
    return EvidenceSection("approvals", (EvidencePart("", tuple(statements)),))


def _approval(release: VerifiedRelease, approval: ApprovalCheck | None) -> Statement:
    if approval is None:
        return make_statement(
            "Nobody approved the release by name: it was not asked for when the release was made.",
            release.manifest_source,
        )
    how = {
        "key": (
            f"The signature of their own key {approval.receipt.counts['key']} over name, batch and"
            " page was checked again now, and holds"
        ),
        "login": "They were logged in under this name when they approved",
    }.get(approval.proof, "Nothing proves that it was them: the name is unverified")
    return make_statement(
        f"{approval.by} approved the page on {at(approval.receipt.created_at)}. {how}.",
        release.book.receipt(approval.receipt),
    )


def section_on_limits(
    release: VerifiedRelease,
    known: DetectionRecall,
    beside: BesideNotes,
    policy: Policy,
) -> EvidenceSection:
    """Return what was not measured, in plain words, and what the audits cannot see."""
    audits = beside.audits
    report = release.source(release.installation.names.report)
    general = [make_statement(limit, report) for limit in LIMITS]
    own = [
        *_of_annotations(release, known),
        *_of_checks(release),
        *_of_policy(release, policy),
        *_of_audits(release, audits),
        *limits_of_tables(beside.tables),
        *_of_versions(release),
        *_of_study(release),
    ]
    parts = [
        EvidencePart("Not measured in this release", tuple(own), listed=True),
        EvidencePart("True of every release", tuple(general), listed=True),
    ]
    blind = [
        make_statement(f"{audit.name}: {line}", source_of(audit, release))
        for audit in audits
        if audit.counts and audit.result is not None
        for line in audit.result.blind_spots
    ]
    if blind:
        parts.append(EvidencePart("What the audits cannot see", tuple(blind), listed=True))
    return EvidenceSection("limits", tuple(parts))


def _of_annotations(release: VerifiedRelease, known: DetectionRecall) -> Iterator[Statement]:
    merged, gold = release.source(MERGED_SPANS), release.source(GOLD)
    settings = release.installation.settings
    annotated = {group.name for group in known.categories if group.counts.gold}
    labels = {label.value for label in profile(settings.profile).labels}
    if never := sorted(labels - annotated):
        yield make_statement(
            "No annotated note holds any of these categories, so that it is not known how well they"
            f" are found: {', '.join(never)}.",
            gold,
            merged,
        )
    outside = sorted({label.value for label in PROFILES["gdpr"].labels} - labels)
    if outside:
        yield make_statement(
            f"The profile {settings.profile} does not count {list_words(outside)}; no share above"
            " is about them.",
            release.settings_source,
        )
    few = [language(one.name) for one in known.languages if one.counts.gold < LEAST_SPANS]
    if few:
        yield make_statement(
            f"Fewer than {LEAST_SPANS} identifiers are annotated in {list_words(few)}.",
            gold,
            merged,
        )
    yield make_statement(
        "What annotators themselves overlooked is in no figure: recall is measured against what"
        " they marked.",
        gold,
    )
    yield make_statement(
        "Who annotated, how notes were chosen, and how far two annotators agree, stands in no"
        " receipt.",
        gold,
    )


def _of_checks(release: VerifiedRelease) -> Iterator[Statement]:
    idle = [
        (name, link)
        for link in release.chain.values()
        for name, row in link.verdicts.items()
        if state_of(row) is State.NOT_APPLICABLE
    ]
    if idle:
        named = ", ".join(f"{name} of {link.asset}" for name, link in idle)
        yield make_statement(
            f"These checks had nothing to judge, and say nothing: {named}.",
            *(release.book.receipt(link) for _, link in idle),
        )
    if not release.installation.settings.gates.canaries:
        yield make_statement(
            "No canary patients were read with the batch, so that a detector that stopped working"
            " would show in annotated notes alone.",
            release.settings_source,
        )


def _of_study(release: VerifiedRelease) -> Iterator[Statement]:
    if release.installation.study is not None:
        yield make_statement(
            "This document tells counts of the whole batch, which the release of the study does"
            " not: two of them tell that two studies were made of one batch. It is not for the"
            " recipients.",
            release.manifest_source,
        )


def _of_policy(release: VerifiedRelease, policy: Policy) -> Iterator[Statement]:
    kept = sorted(label.value for label in policy.keep)
    if kept:
        yield make_statement(
            f"The policy keeps {list_words(kept)} on purpose.", release.manifest_source
        )
    yield make_statement(
        "Pictures, scans and attachments are not text, and were not looked at; nor were facts that"
        " identify without naming, such as a rare event in the news.",
        release.manifest_source,
    )


def _of_audits(release: VerifiedRelease, audits: Sequence[AuditRecord]) -> Iterator[Statement]:
    settings = release.installation.house.settings
    for audit in audits:
        if audit.counts or (audit.name in OF_MODELS and settings.privacy.model is None):
            continue
        yield make_statement(
            f"The audit {audit.name} ({audit.title}) tells nothing here: {audit.reason}.",
            source_of(audit, release),
        )
    if settings.privacy.population is None:
        yield make_statement(
            "No list of the population was given (privacy.population): persons were sought among"
            " the patients of the annotated notes.",
            release.settings_source,
        )
    if settings.privacy.model is None:
        yield make_statement(
            "No model that leaves was attacked, as the settings name none.",
            release.settings_source,
        )


def _of_versions(release: VerifiedRelease) -> Iterator[Statement]:
    now = f"deid-assets {deid_assets.__version__}"
    if now != release.manifest["software"]:
        yield make_statement(
            f"The release was made by {release.manifest['software']}, and this document by {now}.",
            release.manifest_source,
        )
    plugins = release.installation.house.plugins
    changed = [
        name
        for name, about in release.manifest["ensemble"].items()
        if name not in plugins or plugins[name].digest != about["digest"]
    ]
    if changed:
        yield make_statement(
            f"Another version of {list_words(changed)} is installed by now; the figures are of the"
            " version in the release.",
            release.manifest_source,
            release.settings_source,
        )
