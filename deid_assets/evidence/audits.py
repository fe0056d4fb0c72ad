"""Privacy audits as they were last made, and whether they are of this release."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deid_assets.assets.auditing import key_of, read_audit
from deid_assets.assets.ingest import GOLD, RAW_NOTES
from deid_assets.evidence.verifying import VerifiedRelease
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.privacy.audit import Material
from deid_assets.privacy.measurement import Measurement
from deid_assets.privacy.result import AuditResult, Outcome, read_result
from deid_assets.privacy.subject import Sealer, is_signed
from deid_assets.store.files import ALL, Receipt

OF_POLICIES = frozenset({"reidentification", "hips"})
"""Audits whose figures are of one policy each."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """An audit as it is known.

    Args:
        name: Of the audit.
        title: The question that it answers.
        outcome: Passed, failed, void or not assessed; the last too where it does not count.
        reason: Why.
        receipt: Of its result; ``None`` where it was not made.
        result: What was found; ``None`` where it was not made, or does not count.
    """

    name: str
    title: str
    outcome: Outcome
    reason: str
    receipt: Receipt | None = None
    result: AuditResult | None = None

    @property
    def options(self) -> Mapping[str, str]:
        """Options that it was given and that differ from its own."""
        subject = self.result.subject if self.result else None
        return subject.options if subject else {}

    @property
    def counts(self) -> bool:
        """Whether it came to a verdict that its controls bear out."""
        return self.outcome in {Outcome.PASSED, Outcome.FAILED}

    def figures(self, policy: str) -> Sequence[Measurement]:
        """Return what was measured, of audits of policies what was of this one."""
        if self.result is None:
            return ()
        if self.name not in OF_POLICIES:
            return self.result.figures
        return [one for one in self.result.figures if _policy_of(one) == policy]


def _policy_of(figure: Measurement) -> str:
    return figure.group.partition(",")[0].strip()


def audits_of(release: VerifiedRelease) -> list[AuditRecord]:
    """Return every installed audit, those that are of other notes, spans or policies than the
    release as not assessed.

    Raises:
        ProvenanceError: The receipt of one, or a file of it, was altered.
    """
    return [_audit(name, release) for name in sorted(release.installation.snapshot.audits)]


def _audit(name: str, release: VerifiedRelease) -> AuditRecord:
    house = release.installation.house
    receipt = house.files.find(key_of(name), ALL)
    if receipt is None:
        plugin = house.snapshot.audits[name]
        reason = plugin.fault or "it was not run"
        return AuditRecord(name, plugin.summary, Outcome.NOT_ASSESSED, reason)
    house.files.check(receipt)
    (row,) = house.files.read(key_of(name), ALL, "result").to_pylist()
    plots = house.files.read(key_of(name), ALL, "plots").to_pylist()
    # what was signed names its pictures
    result = read_result(json.loads(row["document"]), {one["name"]: one["png"] for one in plots})
    reason = _why_not(result, receipt, release)
    told = read_audit(name, house)  # which holds it against the model that is there now
    if not reason and Outcome(told.outcome) is not result.outcome:
        reason = told.reason
    if reason:
        return AuditRecord(name, result.title, Outcome.NOT_ASSESSED, reason, receipt)
    return AuditRecord(name, result.title, result.outcome, result.reason, receipt, result)


def _why_not(result: AuditResult, receipt: Receipt, release: VerifiedRelease) -> str:
    """Return why a result says nothing of the release; empty where it does."""
    if not is_signed(result, release.installation.house.key):
        return "its result is not signed by this installation"
    for asset in (RAW_NOTES, GOLD, MERGED_SPANS):
        link = release.receipt(asset)
        if link.name not in receipt.inputs:
            return "it was run without the annotated notes of this batch"
        if receipt.inputs[link.name] != link.digest:
            return "the notes, annotations or spans were made again after it was run"
    if _has_other_policies(result, release):
        return "the policies of the settings changed after it was run"
    known = {_policy_of(figure) for figure in result.figures}
    if result.audit in OF_POLICIES and known and release.policy not in known:
        return f"it was run without the policy {release.policy} of this release"
    return ""


def _has_other_policies(result: AuditResult, release: VerifiedRelease) -> bool:
    """Whether an audit was run with other policies than the settings have now."""
    snapshot = release.installation.snapshot
    policies = [snapshot.policies[source] for source in snapshot.settings.policies]
    now = Sealer.of(Material(key=snapshot.key, policies=policies), read={}).subject.policies
    return result.subject is not None and result.subject.policies not in {"", now}
