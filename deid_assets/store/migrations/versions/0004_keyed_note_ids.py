"""Forget what was entered under the ids that notes have in their source.

They may be names of files, and so of patients.

It is entered again, under keyed ids, when the batches are made again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Empty the tables that name a note."""
    for table in ("deid_decisions", "deid_spans", "deid_notes"):
        op.execute(sa.delete(sa.table(table)))
