"""release_report: everything a privacy officer needs to judge one released batch, on one page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import dagster as dg
import pyarrow as pa

import deid_assets
from deid_assets.core.redact import Policy
from deid_assets.defs import detection, ingest, merging, redaction, release
from deid_assets.defs.audit import Check, Draft
from deid_assets.defs.merging import MERGED
from deid_assets.defs.redaction import QUARANTINE
from deid_assets.defs.release import RELEASED, release_chain, verify_current
from deid_assets.defs.scores import scores_from_table
from deid_assets.formats.atomic import atomic_file
from deid_assets.policies.wording import in_words
from deid_assets.quality import Verdict
from deid_assets.reports import Check as CheckRow
from deid_assets.reports import Component, Link, Quarantined, ReleaseSummary, release_html
from deid_assets.store.files import Receipt
from deid_resources.corpus import Corpus

REPORT = "release_report"

CHECKS = (Check("release_passed", "Every blocking check of the release passed and no note is unaccounted for."),)

LIMITS = (
    "Detectors miss kinds and spellings that they were not made for; recall is known only where people annotated.",
    "Intervals assume that spans are found independently of each other; spans of one note are not.",
    "Facts that identify a person without naming one, such as a rare event, are not looked for.",
)


CHECK_ROWS = pa.schema(
    [
        pa.field("asset", pa.string(), nullable=False),
        pa.field("check", pa.string(), nullable=False),
        pa.field("blocking", pa.bool_(), nullable=False),
        pa.field("passed", pa.bool_(), nullable=False),
    ]
)


def make_release_report(
    batch: str, corpus: Corpus, *, policy: Policy, detectors: Sequence[str], code_versions: Mapping[str, str]
) -> Draft:
    """Write the page and keep its figures as a table.

    Args:
        batch: Partition.
        corpus: The installation.
        policy: The one that is released.
        detectors: Those that can be used.
        code_versions: Slash path to present code version, of the release and every asset behind it.

    Raises:
        ProvenanceError: The release does not rest on what is stored now.
    """
    verify_current(RELEASED, batch, corpus, code_versions=code_versions)
    summary = summarize(batch, corpus, policy=policy, detectors=detectors)
    path = corpus.settings.reports / f"release-{batch}.html"
    rows = [
        {"asset": check.asset, "check": check.name, "blocking": check.blocking, "passed": check.passed}
        for check in summary.checks
    ]
    passed = summary.outcome != "failed"
    return Draft(
        tables={"checks": pa.Table.from_pylist(rows, CHECK_ROWS)},
        sources=[corpus.files.receipt(RELEASED, batch)],
        verdicts=[
            Verdict("release_passed", passed, True, {"checks": len(rows)}, "The page opens with the same answer.")
        ],
        counts={"received": summary.received, "released": summary.released, "quarantined": summary.held},
        metadata={"report": dg.MetadataValue.path(str(path))},
        publish=lambda _: _write(path, release_html(summary)),
    )


def summarize(batch: str, corpus: Corpus, *, policy: Policy, detectors: Sequence[str]) -> ReleaseSummary:
    """Collect the evidence from the signed receipts, not from Dagster's event log."""
    files = corpus.files
    released = files.receipt(RELEASED, batch)
    chain = release_chain(released, corpus)
    scores = scores_from_table(files.read(MERGED, batch, "scores"))
    actions, default_action = in_words(policy)
    return ReleaseSummary(
        batch=batch,
        policy=policy.name,
        created_at=datetime.fromisoformat(released.created_at),
        received=int(files.receipt(QUARANTINE, batch).counts["received"]),
        released=int(released.counts["notes"]),
        checks=_checks(chain),
        actions=actions,
        default_action=default_action,
        redacted=_labels(files.read(f"redacted_notes/{policy.name}", batch, "edits")),
        found={
            name: _labels(files.read(f"spans/{name}", batch, "spans"))
            for name in detectors
            if files.find(f"spans/{name}", batch)
        },
        quarantined=_quarantined(files.read(QUARANTINE, batch, "failed")),
        line_up=_line_up(corpus, detectors),
        chain=tuple(Link(link.asset, link.batch, link.digest, link.code_version, link.created_at) for link in chain),
        evaluation=scores.get(MERGED),
        gold=f"{scores[MERGED].notes.notes:,} annotated notes of this batch" if MERGED in scores else "",
        limits=LIMITS,
        code_version=deid_assets.__version__,
    )


def _checks(chain: Sequence[Receipt]) -> tuple[CheckRow, ...]:
    groups = (
        ingest.RAW_NOTES_CHECKS, ingest.GOLD_CHECKS, detection.CHECKS, merging.CHECKS, redaction.CHECKS,
        redaction.QUARANTINE_CHECKS, release.CHECKS,
    )  # fmt: skip
    descriptions_of = {check.name: check.description for group in groups for check in group}
    return tuple(
        CheckRow(name, row["passed"], row["blocking"], dict(row["counts"]), descriptions_of.get(name, ""), link.asset)
        for link in chain
        for name, row in link.verdicts.items()
    )


def _labels(spans: pa.Table) -> dict[str, int]:
    return dict(Counter(str(label) for label in spans.column("label").to_pylist()))


def _quarantined(failed: pa.Table) -> tuple[Quarantined, ...]:
    counts = Counter((row["stage"], row["error"]) for row in failed.to_pylist())
    return tuple(Quarantined(stage, reason, notes) for (stage, reason), notes in sorted(counts.items()))


def _line_up(corpus: Corpus, detectors: Sequence[str]) -> tuple[Component, ...]:
    plugins = corpus.plugins
    return tuple(
        Component(
            name,
            plugins[name].version,
            plugins[name].digest,
            "line-up" if name in corpus.settings.line_up else "shadow",
        )
        for name in detectors
        if name in plugins
    )


def _write(path: Path, html: str) -> None:
    with atomic_file(path) as file:
        file.write(html.encode())
