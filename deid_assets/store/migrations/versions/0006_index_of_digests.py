"""Find the batches that have a text, so that it is not read again in another."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index the keyed digests of notes."""
    op.create_index("ix_deid_notes_digest", "deid_notes", ["digest"])
