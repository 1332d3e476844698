"""Whose words a quote has, and what a tool says of a memory that it suggests."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "memory_evidence", sa.Column("author", sa.Text, nullable=False, server_default=sa.text("'user'"))
    )
    op.add_column("memories", sa.Column("metadata", sa.Text))
