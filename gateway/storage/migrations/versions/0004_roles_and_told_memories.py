"""The role a session is in, what it was told of the memories, and how far it was learned from."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("role_id", sa.Text))
    op.add_column("sessions", sa.Column("told_memories", sa.Text))
    op.add_column("sessions", sa.Column("learned_to", sa.BigInteger))
    to_read = sa.text("learned_to IS NOT NULL")
    op.create_index("sessions_to_read", "sessions", ["id"], sqlite_where=to_read, postgresql_where=to_read)
