"""release_report: everything a privacy officer needs to judge one batch before it is released, on
one page.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pyarrow as pa

import deid_assets
from deid_assets.assets import detection, ingest, merging, redaction
from deid_assets.assets.auditing import read_audit
from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.display import show_page
from deid_assets.assets.measuring import consequence, measurement, score
from deid_assets.assets.release import recipients_of, release_chain, verify_current
from deid_assets.config import Settings
from deid_assets.core.assets import QUARANTINE, Family, family_of, study_part
from deid_assets.core.redact import Policy
from deid_assets.evaluation.score import Evaluation
from deid_assets.intake.reader import languages_of_word
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.policies.wording import in_words
from deid_assets.quality import Verdict
from deid_assets.reports import CheckResult as CheckRow
from deid_assets.reports import (
    Component,
    ProvenanceStep,
    Quarantined,
    Received,
    ReleaseOutcome,
    ReleaseSummary,
    release_html,
)
from deid_assets.runtime.installation import Installation
from deid_assets.store.approvals import PAGE
from deid_assets.store.files import Receipt
from deid_assets.store.withdrawals import ARRIVAL
from deid_assets.system.atomic import atomic_file

CHECKS = (Check("release_passed", "No blocking check failed and no note is unaccounted for."),)

LIMITS = (
    (
        "Detectors miss kinds and spellings that they were not made for; recall is known only where"
        " people annotated."
    ),
    "Intervals assume that spans are found independently of each other; spans of one note are not.",
    "Facts that identify a person without naming one, such as a rare event, are not looked for.",
)


CHECK_ROWS = pa.schema(
    [
        pa.field("asset", pa.string(), nullable=False),
        pa.field("check", pa.string(), nullable=False),
        pa.field("blocking", pa.bool_(), nullable=False),
        pa.field("passed", pa.bool_(), nullable=False),
        pa.field("applicable", pa.bool_(), nullable=False),
    ]
)


def make_release_report(
    batch: str,
    installation: Installation,
    *,
    policy: Policy,
    detectors: Sequence[str],
    code_versions: Mapping[str, str],
) -> AssetOutput:
    """Write the page and keep its figures as a table.

    Args:
        batch: Partition.
        installation: The installation.
        policy: The one that is released.
        detectors: Those that can be used.
        code_versions: Asset to present code version, of every asset behind a release.

    Raises:
        ProvenanceError: What would be released does not rest on what is stored now.
    """
    names = installation.names
    redacted, quarantine = names.name_redacted(policy.name), names.quarantine
    for asset in (redacted, quarantine):
        verify_current(asset, batch, installation, code_versions=code_versions)
    summary = summarize(batch, installation, policy=policy, detectors=detectors)
    path = page_of(installation.settings, names.of_batch(batch))
    page = release_html(summary).encode()
    rows = [
        {name: getattr(check, "name" if name == "check" else name) for name in CHECK_ROWS.names}
        for check in summary.checks
    ]
    return AssetOutput(
        tables={"checks": pa.Table.from_pylist(rows, CHECK_ROWS)},
        sources=[installation.files.receipt(asset, batch) for asset in (redacted, quarantine)],
        verdicts=[_release_passed(summary)],
        counts={
            "outcome": summary.outcome.replace(" ", "-"),
            "received": summary.received,
            "released": summary.released,
            "quarantined": summary.held,
            **{f"checks_{name}": count for name, count in summary.tally._asdict().items()},
            PAGE: hashlib.sha256(page).hexdigest(),
        },
        metadata={**show_page(path)},
        publish=lambda _: _write(path, page),
    )


def _release_passed(summary: ReleaseSummary) -> Verdict:
    """Check what the page begins with; a batch that was not measured has not passed."""
    verdict = Verdict(
        "release_passed",
        passed=summary.outcome is not ReleaseOutcome.FAILED,
        blocking=True,
        counts=summary.tally._asdict(),
        description="The page opens with the same answer.",
    )
    return verdict.unless(
        summary.outcome is ReleaseOutcome.NOT_MEASURED, f"not measured. {summary.unmeasured}"
    )


def page_of(settings: Settings, batch: str) -> Path:
    """Return where the page on a batch lies."""
    return settings.reports / f"release-{batch}.html"


def summarize(
    batch: str, installation: Installation, *, policy: Policy, detectors: Sequence[str]
) -> ReleaseSummary:
    """Collect the evidence from the signed receipts, not from Dagster's event log."""
    files = installation.files
    names = installation.names
    held, redacted_notes = files.receipt(names.quarantine, batch), names.name_redacted(policy.name)
    chain = release_chain(held, installation)
    scored = score(batch, installation)
    measured = measurement(scored, installation.settings)
    redacted = files.receipt(redacted_notes, batch)
    actions, default_action = in_words(policy)
    return ReleaseSummary(
        batch=batch,
        policy=policy.name,
        created_at=datetime.fromisoformat(held.created_at),
        received=int(held.counts["received"]),
        released=int(redacted.counts["notes"]),
        checks=_checks(chain),
        actions=actions,
        default_action=default_action,
        redacted=_labels(files.read(redacted_notes, batch, "edits")),
        found=_found_by(detectors, batch, installation),
        quarantined=_count_quarantined(files.read(names.quarantine, batch, "failed")),
        ensemble=_ensemble(installation, detectors),
        chain=_steps(chain),
        evaluation=scored.scores,
        gold=_name_gold(scored.scores, installation),
        limits=LIMITS,
        audits=tuple(
            read_audit(name, installation.house) for name in sorted(installation.snapshot.audits)
        ),
        code_version=deid_assets.__version__,
        not_measured=measured.reason,
        consequence=consequence(measured),
        stays=measured.wanted.gold and bool(measured.shortfall),
        arrival=_read_received(batch, installation),
        needs_approval=installation.settings.release.approval,
        redacts_annotated=installation.settings.redact_gold,
        page=page_of(installation.settings, names.of_batch(batch)).name,
        study=installation.settings.study,
        recipients=recipients_of(installation),
    )


def _found_by(
    detectors: Sequence[str], batch: str, installation: Installation
) -> dict[str, dict[str, int]]:
    """Return the spans by label of each detector that has some of the batch."""
    files = installation.files
    return {
        name: _labels(files.read(Family.SPANS.of(name), batch, "spans"))
        for name in detectors
        if files.find(Family.SPANS.of(name), batch)
    }


def _steps(chain: Sequence[Receipt]) -> tuple[ProvenanceStep, ...]:
    return tuple(
        ProvenanceStep(link.asset, link.batch, link.digest, link.code_version, link.created_at)
        for link in chain
    )


def _name_gold(scores: Evaluation | None, installation: Installation) -> str:
    """Return which notes the scores are of; nothing where there are none."""
    if not scores:
        return ""
    whose = "study in this batch" if installation.study else "batch"
    return f"{scores.notes.notes:,} annotated notes of this {whose}"


def _read_received(batch: str, installation: Installation) -> Received:
    arrival = installation.files.receipt(ARRIVAL, batch).counts
    notes = installation.files.receipt(ingest.RAW_NOTES, batch).counts
    return Received(
        at=datetime.fromisoformat(str(arrival["arrived_at"])),
        files=int(arrival["files"]),
        sender=str(notes["sender"]),
        languages=languages_of_word(str(notes["languages"])),
    )


def _checks(chain: Sequence[Receipt]) -> tuple[CheckRow, ...]:
    rows = []
    for link in chain:
        descriptions = _descriptions(link.asset)
        for name, row in link.verdicts.items():
            check = CheckRow(
                name,
                row["passed"],
                row["blocking"],
                dict(row["counts"]),
                descriptions.get(name, ""),
                link.asset,
                row.get("applicable", True),
            )
            rows.append(check)
    return tuple(rows)


def _descriptions(asset: str) -> dict[str, str]:
    """Return what each check of an asset makes sure of; two assets may have checks of one name."""
    declared = {
        ingest.RAW_NOTES: ingest.RAW_NOTES_CHECKS,
        ingest.GOLD: ingest.GOLD_CHECKS,
        Family.SPANS: detection.CHECKS,
        MERGED_SPANS: merging.CHECKS,
        Family.REDACTED_NOTES: redaction.STUDY_CHECKS,
        QUARANTINE: redaction.QUARANTINE_CHECKS,
    }
    _, part = study_part(asset)
    checks = declared.get(family_of(part) or part, ())
    return {check.name: check.description for check in checks}


def _labels(spans: pa.Table) -> dict[str, int]:
    return dict(Counter(str(label) for label in spans.column("label").to_pylist()))


def _count_quarantined(failed: pa.Table) -> tuple[Quarantined, ...]:
    counts = Counter((row["stage"], row["error"]) for row in failed.to_pylist())
    return tuple(
        Quarantined(stage, reason, notes) for (stage, reason), notes in sorted(counts.items())
    )


def _ensemble(installation: Installation, detectors: Sequence[str]) -> tuple[Component, ...]:
    plugins = installation.plugins
    components = []
    for name in detectors:
        if name not in plugins:
            continue
        is_used = name in installation.settings.ensemble
        role = "ensemble" if is_used else "scored, not used"
        components.append(Component(name, plugins[name].version, plugins[name].digest, role))
    return tuple(components)


def _write(path: Path, page: bytes) -> None:
    with atomic_file(path) as file:
        file.write(page)
