"""Create the catalogue."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table."""
    _create_notes()
    _create_spans()
    _create_scores()
    _create_history()


def _string(name: str, size: int, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(size), nullable=nullable)


def _integers(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.Integer(), nullable=False) for name in names]


def _time(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False)


def _key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns, name=f"pk_{table}")


def _batch_of(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["batch"], ["deid_batches.batch"], name=f"fk_{table}_batch", ondelete="CASCADE"
    )


def _detector_of(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["detector_version_id"],
        ["deid_detector_versions.id"],
        name=f"fk_{table}_detector_version_id",
    )


def _create_notes() -> None:
    op.create_table(
        "deid_corpora", _string("corpus", 64), _time("created_at"), _key("deid_corpora", "corpus")
    )
    op.create_table(
        "deid_batches",
        _string("batch", 64),
        _string("corpus", 64),
        _time("created_at"),
        _key("deid_batches", "batch"),
        sa.ForeignKeyConstraint(["corpus"], ["deid_corpora.corpus"], name="fk_deid_batches_corpus"),
    )
    op.create_index("ix_deid_batches_corpus", "deid_batches", ["corpus"])
    op.create_table(
        "deid_notes",
        _string("batch", 64),
        _string("note_id", 200),
        _string("digest", 64),
        _string("language", 8, nullable=True),
        *_integers("n_chars"),
        _key("deid_notes", "batch", "note_id"),
        _batch_of("deid_notes"),
    )


def _create_spans() -> None:
    op.create_table(
        "deid_detector_versions",
        sa.Column("id", sa.Integer(), nullable=False),
        _string("name", 64),
        _string("version", 64),
        _string("digest", 64),
        _key("deid_detector_versions", "id"),
        sa.UniqueConstraint("name", "version", "digest", name="uq_deid_detector_versions"),
    )
    op.create_table(
        "deid_spans",
        _string("batch", 64),
        *_integers("detector_version_id"),
        _string("note_id", 200),
        *_integers("position", "start", "end"),
        _string("label", 32),
        sa.Column("score", sa.Float(), nullable=False),
        _key("deid_spans", "batch", "detector_version_id", "note_id", "position"),
        _batch_of("deid_spans"),
        _detector_of("deid_spans"),
    )


def _create_scores() -> None:
    op.create_table(
        "deid_scores",
        *_integers("detector_version_id"),
        _string("batch", 64),
        _string("profile", 64),
        _string("label", 64),
        _string("scheme", 32),
        *_integers("tp", "fp", "fn"),
        _key("deid_scores", "detector_version_id", "batch", "profile", "label", "scheme"),
        _detector_of("deid_scores"),
    )
    op.create_table(
        "deid_note_scores",
        *_integers("detector_version_id"),
        _string("batch", 64),
        _string("profile", 64),
        *_integers("notes", "with_phi", "covered", "touched"),
        sa.Column("chars", sa.BigInteger(), nullable=False),
        _key("deid_note_scores", "detector_version_id", "batch", "profile"),
        _detector_of("deid_note_scores"),
    )


def _create_history() -> None:
    op.create_table(
        "deid_runs",
        sa.Column("id", sa.Integer(), nullable=False),
        _string("asset", 200),
        _string("batch", 64),
        _string("dagster_run_id", 64),
        _string("code_version", 64),
        _time("started"),
        sa.Column("seconds", sa.Float(), nullable=False),
        *_integers("notes", "failed"),
        _key("deid_runs", "id"),
        sa.UniqueConstraint("asset", "batch", "dagster_run_id", name="uq_deid_runs"),
    )
    op.create_index("ix_deid_runs_started", "deid_runs", ["started"])
    op.create_table(
        "deid_decisions",
        _string("batch", 64),
        _string("note_id", 200),
        *_integers("start", "end"),
        _string("digest", 64),
        _string("action", 16),
        _string("label", 32, nullable=True),
        _string("reviewer", 64),
        _time("decided_at"),
        _key("deid_decisions", "batch", "note_id", "start", "end"),
        _batch_of("deid_decisions"),
    )
    op.create_table(
        "deid_releases",
        _string("policy", 64),
        _string("batch", 64),
        _string("manifest_digest", 64),
        *_integers("notes", "quarantined"),
        _time("created_at"),
        _key("deid_releases", "policy", "batch", "manifest_digest"),
    )
