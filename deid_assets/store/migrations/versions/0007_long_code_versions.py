"""Take code versions as long as those of a detector that names languages and other detectors.

SQLite took them; PostgreSQL refused the row, and the run of the asset ended with it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Widen the column."""
    with op.batch_alter_table("deid_runs") as runs:
        runs.alter_column(
            "code_version",
            existing_type=sa.String(64),
            type_=sa.String(300),
            existing_nullable=False,
        )
