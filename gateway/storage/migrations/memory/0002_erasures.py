"""Erased memories whose words are still to be taken out of sessions."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "erasures",
        sa.Column("memory_id", sa.Text, primary_key=True, nullable=False),
        sa.Column("owner", sa.Text, primary_key=True, nullable=False),
    )
