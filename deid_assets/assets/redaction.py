"""redacted_notes_<policy> and quarantine: the text that may leave, and the notes that may not."""

from collections import Counter
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.display import show_counts, show_labels
from deid_assets.assets.ingest import GOLD, RAW_NOTES
from deid_assets.assets.parts import EDITS, NOTES, NoteTables, RedactedTables
from deid_assets.assets.workers import Workers
from deid_assets.config import Settings
from deid_assets.core.assets import Family
from deid_assets.core.redact import Policy
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.policies.needs import require_packs
from deid_assets.quality import Verdict, within_share
from deid_assets.quality.text_checks import (
    NO_RESIDUAL_HITS,
    changed_verdict,
    complete,
    search_verdict,
    survival_verdict,
)
from deid_assets.runtime.installation import Installation
from deid_assets.store.frames import failed_from_table, failed_to_table

__all__ = [
    "CHECKS",
    "EDITS",
    "NOTES",
    "QUARANTINE",
    "QUARANTINE_CHECKS",
    "make_quarantine",
    "make_redacted_notes",
]

QUARANTINE = "quarantine"

CHECKS = (
    Check("complete", "Every note that came in came out or is listed as withheld."),
    Check("unchanged_outside", "Outside the replaced spans, every character is the original's."),
    Check("survivors", "No value that people or a detector marked is left in the text."),
    Check(
        NO_RESIDUAL_HITS,
        "The ensemble finds nothing in what was kept of the text in the end; see"
        " gates.residual_sample.",
    ),
    Check("quarantine_share", "Few enough notes are withheld."),
)
QUARANTINE_CHECKS = (
    Check("complete", "Every note received is redacted under the release policy or listed here."),
)


def make_redacted_notes(batch: str, installation: Installation, *, policy: Policy) -> AssetOutput:
    """Redact a batch under one policy and withhold every note in which something is left."""
    stored = _read(batch, installation)
    require_packs(policy, _languages(stored))
    done, search = Workers(installation, policy).run(stored)
    received = stored.notes.column("note_id").to_pylist()
    ids = done.notes.column("note_id").to_pylist()
    withheld = failed_from_table(done.failed)
    return AssetOutput(
        tables={"notes": done.notes, "edits": done.edits, "failed": done.failed},
        sources=[
            installation.files.receipt(asset, batch) for asset in (RAW_NOTES, GOLD, MERGED_SPANS)
        ],
        verdicts=[
            complete(received, ids, (failed.note_id for failed in withheld)),
            changed_verdict(len(ids), changed=len(done.changed)),
            survival_verdict([done.survival[note_id] for note_id in ids], values=done.values),
            search_verdict(search, ids, installation.settings.gates),
            _few_withheld(len(withheld), len(received), installation.settings),
        ],
        counts=_counts(done),
        metadata={
            **show_labels(_labels(done.edits), title=f"Replacements under {policy.name}"),
            "withheld_by": show_counts(
                Counter(f"{failed.stage}: {failed.error}" for failed in withheld)
            ),
            "tagged_instead": show_counts(_fallbacks(done), of="Replacements"),
        },
    )


def make_quarantine(batch: str, installation: Installation, *, policy: str) -> AssetOutput:
    """List every note of a batch that the release policy does not let out, with the stage and the
    reason.
    """
    redacted = Family.REDACTED_NOTES.of(policy)
    received = installation.files.read(RAW_NOTES, batch, "notes").column("note_id").to_pylist()
    unread = failed_from_table(installation.files.read(RAW_NOTES, batch, "failed"))
    withheld = [*unread, *failed_from_table(installation.files.read(redacted, batch, "failed"))]
    done = installation.files.read(redacted, batch, "notes").column("note_id").to_pylist()
    return AssetOutput(
        tables={
            "failed": _with_remedies(
                failed_to_table(withheld), installation.files.read(RAW_NOTES, batch, "reasons")
            )
        },
        sources=[
            installation.files.receipt(asset, batch)
            for asset in (RAW_NOTES, MERGED_SPANS, redacted)
        ],
        verdicts=[
            complete(
                [*received, *(failed.note_id for failed in unread)],
                done,
                (failed.note_id for failed in withheld),
            )
        ],
        counts={"received": len(received) + len(unread), "quarantined": len(withheld)},
        metadata={
            "by_reason": show_counts(
                Counter(f"{failed.stage}: {failed.error}" for failed in withheld)
            )
        },
    )


def _with_remedies(failed: pa.Table, reasons: pa.Table) -> pa.Table:
    """Return the notes in quarantine, those that could not be read with their place and what
    to do.
    """
    known = {row["note_id"]: row for row in reasons.to_pylist()}
    ids = failed.column("note_id").to_pylist()
    for name in ("place", "remedy"):
        failed = failed.append_column(
            name, pa.array([known.get(note_id, {}).get(name) for note_id in ids], pa.string())
        )
    return failed


def _read(batch: str, installation: Installation) -> NoteTables:
    """Return what is stored of a batch."""
    read = partial(installation.files.read, batch=batch)
    return NoteTables(
        notes=read(RAW_NOTES, table="notes"),
        merged=(read(MERGED_SPANS, table="notes"), read(MERGED_SPANS, table="spans")),
        failed=read(MERGED_SPANS, table="failed"),
        gold=(read(GOLD, table="notes"), read(GOLD, table="spans")),
    )


def _languages(batch: NoteTables) -> set[str | None]:
    """Return the languages of the notes that will be redacted."""
    failed = pc.is_in(
        batch.notes.column("note_id"), value_set=batch.failed.column("note_id").combine_chunks()
    )
    return set(batch.notes.filter(pc.invert(failed)).column("lang").unique().to_pylist())


def _few_withheld(withheld: int, received: int, settings: Settings) -> Verdict:
    return within_share(
        "quarantine_share",
        "Withheld notes go to quarantine with the stage and the reason.",
        part=withheld,
        whole=received,
        limit=settings.gates.quarantined,
    )


def _counts(done: RedactedTables) -> dict[str, int]:
    fallbacks = _fallbacks(done)
    return {
        "notes": done.notes.num_rows,
        "withheld": done.failed.num_rows,
        "edits": done.edits.num_rows,
        "fallbacks": sum(fallbacks.values()),
        **{f"fallbacks_{label}": count for label, count in fallbacks.items()},
    }


def _fallbacks(done: RedactedTables) -> dict[str, int]:
    """Return, per category, how many replacements are tags because the policy's action could not be
    carried out.
    """
    counts: Counter[str] = Counter()
    for of_note in done.fallbacks.values():
        counts.update(of_note)
    return dict(sorted(counts.items()))


def _labels(edits: pa.Table) -> dict[str, int]:
    counted = edits.column("label").value_counts().to_pylist()
    return dict(sorted((one["values"], one["counts"]) for one in counted))
