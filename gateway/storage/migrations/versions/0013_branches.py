"""The branches of sessions: turns that were asked after another one than the last."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import NUMBER, TEXT, table_of_sessions

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

compatible_from = "0013"


def upgrade() -> None:
    """No row is rewritten: what is there is one branch."""
    op.add_column("sessions", sa.Column("branch", NUMBER))
    for table in ("turns", "compressions"):
        op.add_column(table, sa.Column("branch", NUMBER, nullable=False, server_default="0"))
    op.add_column("turns", sa.Column("after_position", sa.BigInteger))
    op.add_column("turns", sa.Column("parent", TEXT))
    op.add_column("turns", sa.Column("origin", TEXT))
    table_of_sessions(
        "branches",
        sa.Column("branch", NUMBER, primary_key=True, nullable=False, autoincrement=False),
        sa.Column("parent", NUMBER),
        sa.Column("fork_turn_id", TEXT),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("ranges", TEXT, nullable=False),
        sa.Column("compression", NUMBER),
        sa.Column("generation_from", sa.BigInteger, nullable=False),
        sa.Column("prefix_hash", TEXT),
        sa.Column("told_memories", TEXT),
    )
    table_of_sessions(
        "active_ranges",
        sa.Column("after_position", sa.BigInteger, primary_key=True, nullable=False, autoincrement=False),
        sa.Column("to_position", sa.BigInteger, nullable=False),
    )
