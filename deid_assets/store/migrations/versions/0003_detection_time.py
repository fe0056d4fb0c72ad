"""Keep how long each detector version took: detection alone, which the time of a run is not."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table; it fills as detectors run."""
    op.create_table(
        "deid_detections",
        sa.Column("detector_version_id", sa.Integer(), nullable=False),
        sa.Column("batch", sa.String(64), nullable=False),
        sa.Column("notes", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("detector_version_id", "batch", name="pk_deid_detections"),
        sa.ForeignKeyConstraint(
            ["detector_version_id"],
            ["deid_detector_versions.id"],
            name="fk_deid_detections_detector_version_id",
        ),
    )
