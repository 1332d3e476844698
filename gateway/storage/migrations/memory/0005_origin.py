"""Whose word a memory is, and which tools had spoken when it was saved."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("memories", sa.Column("origin", sa.Text))
    op.add_column("memories", sa.Column("tools", sa.Text, nullable=False, server_default="[]"))
    # What a model saved in the user's words has their quote as evidence.
    op.execute(
        "UPDATE memories SET origin = CASE"
        " WHEN source = 'document' THEN NULL"
        " WHEN source = 'skill' AND quarantined THEN 'tool'"
        " WHEN source = 'skill' THEN 'confirmed'"
        " WHEN source != 'model' OR evidence_count > 0 THEN 'user'"
        " WHEN quarantined THEN 'outside' ELSE 'model' END"
    )
