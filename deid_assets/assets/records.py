"""Rows of a materialization for the text-free database: ids, digests, counts and offsets."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.counts import Evaluation
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import Receipt

CORPUS = "default"
"""One installation holds one corpus."""


def record_notes(installation: Installation, batch: str, notes: Iterable[Note]) -> None:
    """Enter the notes of a batch, without their texts."""
    from deid_assets.store import records  # noqa: PLC0415 - SQLModel takes 0.3 s to import

    with installation.database.session() as session:
        records.save_batch(session, batch, corpus=CORPUS)
        records.save_notes(session, batch, notes, key=installation.key)
        session.commit()


def record_spans(
    installation: Installation,
    batch: str,
    detector: str,
    span_sets: Iterable[SpanSet],
    *,
    notes: int,
    seconds: float,
) -> None:
    """Enter what a detector found, and how long it took for so many notes, if it read any."""
    from deid_assets.store import records  # noqa: PLC0415 - SQLModel takes 0.3 s to import

    plugin = installation.plugins[detector]
    with installation.database.session() as session:
        version = records.save_detector_version(
            session, detector, plugin.version, digest=plugin.digest
        )
        records.save_spans(session, batch, version, span_sets, key=installation.key)
        if notes:
            records.save_detection(session, batch, version, notes=notes, seconds=seconds)
        session.commit()


def seconds_per_note(installation: Installation, detector: str) -> float | None:
    """Return what a detector's present version takes per note, over all batches.

    ``None`` where it ran on none.
    """
    from deid_assets.store import records  # noqa: PLC0415 - SQLModel takes 0.3 s to import

    plugin = installation.plugins[detector]
    with installation.database.session(read_only=True) as session:
        return records.seconds_per_note(session, detector, plugin.version, digest=plugin.digest)


def record_scores(
    installation: Installation, detector: str, per_batch: Mapping[str, Evaluation]
) -> None:
    """Enter a detector's scores, batch by batch."""
    from deid_assets.store import records  # noqa: PLC0415 - SQLModel takes 0.3 s to import

    plugin = installation.plugins[detector]
    with installation.database.session() as session:
        version = records.save_detector_version(
            session, detector, plugin.version, digest=plugin.digest
        )
        for batch, evaluation in per_batch.items():
            records.save_evaluation(session, batch, version, evaluation)
        session.commit()


def record_release(installation: Installation, batch: str, policy: str, receipt: Receipt) -> None:
    """Enter a release."""
    from deid_assets.store import records, tables  # noqa: PLC0415 - SQLModel takes 0.3 s to import

    row = tables.ReleaseRow(
        policy=policy,
        batch=batch,
        manifest_digest=receipt.digest,
        notes=int(receipt.counts["notes"]),
        quarantined=int(receipt.counts["quarantined"]),
        created_at=datetime.fromisoformat(receipt.created_at),
    )
    with installation.database.session() as session:
        records.save_release(session, row)
        session.commit()


def record_run(
    installation: Installation, receipt: Receipt, *, dagster_run_id: str, started: datetime
) -> None:
    """Enter that a partition was made, when and how fast."""
    from deid_assets.store import records, tables  # noqa: PLC0415 - SQLModel takes 0.3 s to import

    row = tables.RunRow(
        asset=receipt.asset,
        batch=receipt.batch,
        dagster_run_id=dagster_run_id,
        code_version=receipt.code_version,
        started=started,
        seconds=(datetime.now(UTC) - started).total_seconds(),
        notes=int(receipt.counts.get("notes", receipt.counts.get("annotated_notes", 0))),
        failed=int(receipt.counts.get("withheld", receipt.counts.get("failed", 0))),
    )
    with installation.database.session() as session:
        records.save_run(session, row)
        session.commit()
