"""Keep what was taken from feeds: keyed names and digests, and how far each was read."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables; they fill as feeds run."""
    op.create_table(
        "deid_feeds",
        sa.Column("feed", sa.String(41), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("plan", sa.String(64), nullable=False),
        sa.Column("taken_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("feed", name="pk_deid_feeds"),
    )
    op.create_table(
        "deid_feed_units",
        sa.Column("feed", sa.String(41), nullable=False),
        sa.Column("unit", sa.String(32), nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("mark", sa.String(200), nullable=False),
        sa.PrimaryKeyConstraint("feed", "unit", name="pk_deid_feed_units"),
    )
    op.create_table(
        "deid_feed_notes",
        sa.Column("feed", sa.String(41), nullable=False),
        sa.Column("note", sa.String(32), nullable=False),
        sa.Column("unit", sa.String(32), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("batch", sa.String(64), nullable=False),
        sa.Column("is_fault", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("feed", "note", name="pk_deid_feed_notes"),
    )
