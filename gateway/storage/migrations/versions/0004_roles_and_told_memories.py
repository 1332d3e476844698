"""The role a session is in, and what it was told of the memories."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("role_id", sa.Text))
    op.add_column("sessions", sa.Column("told_memories", sa.Text))
