"""Forget what was entered under digests without a key.

Ids of batches and digests of notes confirmed their originals.

All of it is entered again when the batches are made again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TABLES = (
    "deid_releases",
    "deid_decisions",
    "deid_note_scores",
    "deid_scores",
    "deid_runs",
    "deid_spans",
    "deid_notes",
    "deid_batches",
)


def upgrade() -> None:
    """Empty the tables that name a batch, those that refer to others first."""
    for table in _TABLES:
        op.execute(sa.delete(sa.table(table)))
