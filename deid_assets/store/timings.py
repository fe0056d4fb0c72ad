"""Times of detectors: detection alone, without starting them, and the same for all."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlmodel import Session, col

from deid_assets.store.tables import DetectionRow, DetectorVersionRow


def save_detection(
    session: Session, batch: str, detector_version_id: int, *, notes: int, seconds: float
) -> None:
    """Record how long a detector version took for a batch, in place of an earlier record."""
    session.merge(
        DetectionRow(
            detector_version_id=detector_version_id, batch=batch, notes=notes, seconds=seconds
        )
    )
    session.flush()


def seconds_per_note(
    session: Session, name: str, version: str, *, digest: str = ""
) -> float | None:
    """Return what a detector version took per note over all batches.

    ``None`` where it ran on none.
    """
    sums = select(func.sum(col(DetectionRow.notes)), func.sum(col(DetectionRow.seconds)))
    of_version = sums.join(
        DetectorVersionRow, col(DetectorVersionRow.id) == col(DetectionRow.detector_version_id)
    )
    found = of_version.where(
        col(DetectorVersionRow.name) == name,
        col(DetectorVersionRow.version) == version,
        col(DetectorVersionRow.digest) == digest,
    )
    notes, seconds = session.execute(found).one()
    return float(seconds) / int(notes) if notes else None
