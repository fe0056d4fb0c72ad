"""Rows of the SQL catalogue.

No column can hold note text: strings are ids, digests, labels and versions.

The rows have a registry of their own, so importing them adds nothing to a host's
``SQLModel.metadata``, and their table names begin with ``deid_``, so they can share a database with
Dagster's, which has a ``runs`` too.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    DateTime,
    Dialect,
    ForeignKey,
    MetaData,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

# No `from __future__ import annotations`: SQLModel reads the annotations when a class is made.

PREFIX = "deid_"
ALL_LABELS = "*"
"""Label of the score row that counts over all labels at once."""
OUT_OF_SCOPE = "out_of_scope"
"""Scheme of the score rows whose ``fp`` counts predictions that the gold does not annotate."""

# Constraints need names that later migrations can refer to.
catalogue = registry(
    metadata=MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "ix": "ix_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s",
        }
    )
)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time, stored in UTC; SQLite keeps no zone, so it is put back on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        if value is not None and value.tzinfo is None:
            raise ValueError("times must carry a zone; use datetime.now(UTC)")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class StoredRow(SQLModel, registry=catalogue):
    """Base of all rows."""


def _now() -> datetime:
    return datetime.now(UTC)


def _time() -> Any:
    return Field(default_factory=_now, sa_type=UtcDateTime)


def _of_batch() -> Any:
    """Part of the key, deleted with the batch."""
    return Field(
        max_length=64,
        primary_key=True,
        sa_column_args=[ForeignKey(f"{PREFIX}batches.batch", ondelete="CASCADE")],
    )


class CorpusRow(StoredRow, table=True):
    """A source of notes."""

    __tablename__ = f"{PREFIX}corpora"

    corpus: str = Field(max_length=64, primary_key=True)
    created_at: datetime = _time()


class BatchRow(StoredRow, table=True):
    """A partition of a corpus."""

    __tablename__ = f"{PREFIX}batches"

    batch: str = Field(max_length=64, primary_key=True)
    corpus: str = Field(max_length=64, foreign_key=f"{PREFIX}corpora.corpus", index=True)
    created_at: datetime = _time()


class NoteRow(StoredRow, table=True):
    """A note without its text; ``note_id``, here and in other rows, and ``digest`` are keyed."""

    __tablename__ = f"{PREFIX}notes"

    batch: str = _of_batch()
    note_id: str = Field(max_length=200, primary_key=True)
    digest: str = Field(max_length=64, index=True)
    language: str | None = Field(default=None, max_length=8)
    n_chars: int


class DetectorVersionRow(StoredRow, table=True):
    """A detector at one version, with one model."""

    __tablename__ = f"{PREFIX}detector_versions"
    __table_args__ = (UniqueConstraint("name", "version", "digest"),)

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(max_length=64)
    version: str = Field(max_length=64)
    digest: str = Field(default="", max_length=64)


class SpanRow(StoredRow, table=True):
    """A span that a detector version found; ``position`` counts the note's spans from 0."""

    __tablename__ = f"{PREFIX}spans"

    batch: str = _of_batch()
    detector_version_id: int = Field(primary_key=True, foreign_key=f"{PREFIX}detector_versions.id")
    note_id: str = Field(max_length=200, primary_key=True)
    position: int = Field(primary_key=True)
    start: int
    end: int
    label: str = Field(max_length=32)
    score: float


class DetectionRow(StoredRow, table=True):
    """Time that a detector version took for the notes of a batch.

    Detection alone, added up over processes.
    """

    __tablename__ = f"{PREFIX}detections"

    detector_version_id: int = Field(primary_key=True, foreign_key=f"{PREFIX}detector_versions.id")
    batch: str = Field(max_length=64, primary_key=True)
    notes: int
    seconds: float


class RunRow(StoredRow, table=True):
    """One materialization of an asset partition."""

    __tablename__ = f"{PREFIX}runs"
    __table_args__ = (UniqueConstraint("asset", "batch", "dagster_run_id"),)

    id: int | None = Field(default=None, primary_key=True)
    asset: str = Field(max_length=200)
    batch: str = Field(max_length=64)
    dagster_run_id: str = Field(max_length=64)
    code_version: str = Field(max_length=300)
    started: datetime = Field(sa_type=UtcDateTime, index=True)
    seconds: float
    notes: int
    failed: int


class ScoreRow(StoredRow, table=True):
    """Counts of one label under one profile and scheme; see ``ALL_LABELS`` and ``OUT_OF_SCOPE``."""

    __tablename__ = f"{PREFIX}scores"

    detector_version_id: int = Field(primary_key=True, foreign_key=f"{PREFIX}detector_versions.id")
    batch: str = Field(max_length=64, primary_key=True)
    profile: str = Field(max_length=64, primary_key=True)
    label: str = Field(max_length=64, primary_key=True)
    scheme: str = Field(max_length=32, primary_key=True)
    tp: int
    fp: int
    fn: int


class NoteScoreRow(StoredRow, table=True):
    """Counts of whole notes under one profile; the fields of ``core.counts.NoteCounts``."""

    __tablename__ = f"{PREFIX}note_scores"

    detector_version_id: int = Field(primary_key=True, foreign_key=f"{PREFIX}detector_versions.id")
    batch: str = Field(max_length=64, primary_key=True)
    profile: str = Field(max_length=64, primary_key=True)
    notes: int
    with_phi: int
    covered: int
    touched: int
    chars: int = Field(sa_type=BigInteger)


class DecisionRow(StoredRow, table=True):
    """A reviewer's decision on a range of a note; ``digest`` is keyed."""

    __tablename__ = f"{PREFIX}decisions"

    batch: str = _of_batch()
    note_id: str = Field(max_length=200, primary_key=True)
    start: int = Field(primary_key=True)
    end: int = Field(primary_key=True)
    digest: str = Field(max_length=64)
    action: str = Field(max_length=16)
    label: str | None = Field(default=None, max_length=32)
    reviewer: str = Field(max_length=64)
    decided_at: datetime = _time()


class ReleaseRow(StoredRow, table=True):
    """A released partition."""

    __tablename__ = f"{PREFIX}releases"

    policy: str = Field(max_length=64, primary_key=True)
    batch: str = Field(max_length=64, primary_key=True)
    manifest_digest: str = Field(max_length=64, primary_key=True)
    notes: int
    quarantined: int
    created_at: datetime = _time()


class FeedRow(StoredRow, table=True):
    """How far a feed was taken.

    ``generation`` counts what was taken, and ``plan`` is the keyed digest of what is taken and not
    landed yet, or empty.
    """

    __tablename__ = f"{PREFIX}feeds"

    feed: str = Field(max_length=41, primary_key=True)
    generation: int
    plan: str = Field(default="", max_length=64)
    taken_at: datetime = _time()


class FeedUnitRow(StoredRow, table=True):
    """A file of a feed, or its query, as it was when it was read; nothing here is readable.

    ``version`` and the unit's name are keyed, and ``mark``, how far it was read, is encrypted.
    """

    __tablename__ = f"{PREFIX}feed_units"

    feed: str = Field(max_length=41, primary_key=True)
    unit: str = Field(max_length=32, primary_key=True)
    version: str = Field(max_length=64)
    mark: str = Field(default="", max_length=200)


class FeedNoteRow(StoredRow, table=True):
    """A note that a feed gave, and the batch that it is in; ``note`` and ``digest`` are keyed."""

    __tablename__ = f"{PREFIX}feed_notes"

    feed: str = Field(max_length=41, primary_key=True)
    note: str = Field(max_length=32, primary_key=True)
    unit: str = Field(max_length=32)
    digest: str = Field(max_length=64)
    batch: str = Field(max_length=64)
    is_fault: bool
