"""Measures that an evidence file must have, and the results that its verdict follows from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deid_assets.core.redact import Policy
from deid_assets.core.verdicts import State
from deid_assets.evidence.attacks import source_of
from deid_assets.evidence.audits import AuditRecord
from deid_assets.evidence.document import MeasuredResult, MeasureStanding, MissingMeasure
from deid_assets.evidence.leaving_models import (
    AUDITS_COMMAND,
    OF_MODELS,
    audits_of_model,
    missing_of_model,
)
from deid_assets.evidence.leaving_tables import LeavingTable, missing_of_tables
from deid_assets.evidence.recall import DetectionRecall
from deid_assets.evidence.verifying import ApprovalCheck, VerifiedRelease
from deid_assets.evidence.ways_back import VaultEvidence, missing_of_vault
from deid_assets.policies.needs import writes_surrogates
from deid_assets.privacy.result import Outcome
from deid_assets.store.receipts import state_of


@dataclass(frozen=True, slots=True)
class BesideNotes:
    """What is known beside the notes and their annotations.

    Args:
        audits: Every installed one.
        tables: Those that are out with the notes.
        vault: ``None`` where none is behind the release.
    """

    audits: Sequence[AuditRecord]
    tables: Sequence[LeavingTable]
    vault: VaultEvidence | None


def list_required_audits(release: VerifiedRelease, policy: Policy) -> list[str]:
    """Return the audits without which a document says too little.

    Who can be found, always. Whether missed identifiers hide among surrogates, where the policy
    writes any. Of a model that leaves, whether it tells what it was trained on, and, where it
    writes text, what it says.
    """
    wanted = ["reidentification"]
    if writes_surrogates(policy):
        wanted.append("hips")
    return [*wanted, *audits_of_model(release)]


def find_missing_measures(
    release: VerifiedRelease,
    known: DetectionRecall,
    beside: BesideNotes,
    required: Sequence[str],
) -> list[MissingMeasure]:
    """Return every measure that is missing, or is of something else by now, with what makes it."""
    return [
        *_find_unmeasured(release, known),
        *_find_unsearched(release),
        *missing_of_tables(beside.tables),
        *missing_of_vault(beside.vault),
        *_audits_missing({audit.name: audit for audit in beside.audits}, required),
        *missing_of_model(release, beside.audits),
    ]


def _find_unmeasured(release: VerifiedRelease, known: DetectionRecall) -> Iterator[MissingMeasure]:
    if not release.manifest["measured"] or not known.covered.gold:
        reason = str(release.manifest["measurement"]["reason"] or "nothing was annotated")
        yield MissingMeasure(
            "recall on annotated notes of the batch",
            reason[0].lower() + reason[1:].rstrip("."),
            f"`deid review queue {release.batch}`, or `deid sample`, then `deid run`",
        )


def _find_unsearched(release: VerifiedRelease) -> Iterator[MissingMeasure]:
    asset = release.installation.names.name_redacted(release.policy)
    verdicts = release.receipt(asset).verdicts
    for check, measure in (
        ("no_residual_hits", "search of the redacted text"),
        ("survivors", "search for known values of the patients"),
    ):
        if check not in verdicts or state_of(verdicts[check]) is not State.PASSED:
            yield MissingMeasure(measure, "it had nothing to judge", "`deid run`")


def _audits_missing(
    audits: dict[str, AuditRecord], required: Sequence[str]
) -> Iterator[MissingMeasure]:
    for name in required:
        audit = audits.get(name)
        if audit is None:
            yield MissingMeasure(
                f"audit {name}",
                "it is not installed",
                f"`make add PLUGIN=audits`, then {AUDITS_COMMAND}",
            )
        elif not audit.counts:
            outcome = "void: " if audit.outcome is Outcome.VOID else ""
            yield MissingMeasure(f"audit {name}", f"{outcome}{audit.reason}", AUDITS_COMMAND)


def results_of(
    release: VerifiedRelease, beside: BesideNotes, approval: ApprovalCheck | None
) -> list[MeasuredResult]:
    """Return every result that the verdict follows from, the worst first."""
    found = [
        *_report_checks(release),
        *_of_tables(beside.tables),
        *_of_vault(beside.vault),
        *_of_audits(release, beside.audits),
        *_of_approval(release, approval),
    ]
    order = list(MeasureStanding)
    return sorted(found, key=lambda one: -order.index(one.standing))


def _report_checks(release: VerifiedRelease) -> Iterator[MeasuredResult]:
    names = release.installation.names
    report = release.receipt(names.report)
    yield MeasuredResult(
        MeasureStanding.PASSED,
        "Signatures and digests",
        f"checked again now: manifest, list of releases, {len(release.chain):,} receipts and their"
        " files",
        (release.manifest_source, release.list_source),
    )
    counts = report.counts
    yield MeasuredResult(
        MeasureStanding(str(counts["outcome"]).replace("-", " ")),
        "Checks of the release",
        f"{int(counts['checks_passed']):,} passed, {int(counts['checks_failed']):,} failed,"
        f" {int(counts['checks_not_applicable']):,} had nothing to judge",
        (release.source(names.report),),
    )


def _of_tables(tables: Sequence[LeavingTable]) -> Iterator[MeasuredResult]:
    """Yield the tables that leave with the notes; what does not stop one is a warning."""
    for one in tables:
        if one.groups is not State.NOT_APPLICABLE:
            standing = MeasureStanding.PASSED if one.is_safe else MeasureStanding.WARNED
            yield MeasuredResult(standing, f"Table {one.name}", one.groups_told, one.sources)


def _of_vault(vault: VaultEvidence | None) -> Iterator[MeasuredResult]:
    if vault is not None and vault.counts is not None:
        yield MeasuredResult(
            MeasureStanding.PASSED,
            "Vault",
            f"opened now; its {vault.counts['edits']:,} originals and its log are intact",
            vault.sources,
        )


def _of_audits(release: VerifiedRelease, audits: Sequence[AuditRecord]) -> Iterator[MeasuredResult]:
    for audit in audits:
        if audit.counts and (audit.name not in OF_MODELS or _has_model(release)):
            loosened = "; run with options that are not its own" if audit.options else ""
            yield MeasuredResult(
                _standing(audit),
                f"Audit {audit.name}",
                f"{audit.reason}{loosened}",
                (source_of(audit, release),),
            )


def _standing(audit: AuditRecord) -> MeasureStanding:
    """Return the result of an audit; one that passed with options of somebody's may be loosened."""
    if audit.outcome is not Outcome.PASSED:
        return MeasureStanding.FAILED
    return MeasureStanding.WARNED if audit.options else MeasureStanding.PASSED


def _has_model(release: VerifiedRelease) -> bool:
    return release.installation.house.settings.privacy.model is not None


def _of_approval(
    release: VerifiedRelease, approval: ApprovalCheck | None
) -> Iterator[MeasuredResult]:
    if approval is None:
        return
    proved = {
        "key": "the approver's own signature was checked again now",
        "login": "the login of the approver was seen when it was given",
    }
    yield MeasuredResult(
        MeasureStanding.PASSED if approval.proof in proved else MeasureStanding.WARNED,
        "Approval",
        f"by {approval.by}; " + proved.get(approval.proof, "nothing proves the name"),
        (release.book.receipt(approval.receipt),),
    )
