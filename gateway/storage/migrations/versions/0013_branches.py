"""The branches of sessions: turns that were asked after another one than the last."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

compatible_from = "0013"


def upgrade() -> None:
    """No row is rewritten: what is there is one branch."""
    postgres = op.get_bind().dialect.name == "postgresql"
    number = sa.BigInteger() if postgres else sa.Integer()
    text = sa.Text(collation="C") if postgres else sa.Text()

    def own(name: str, *columns: "sa.Column[Any]") -> None:
        """A table of what belongs to sessions; the key is the session's id and the first column."""
        belongs = sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], ondelete="CASCADE")
        key = sa.Column("session_id", text, primary_key=True, nullable=False)
        op.create_table(name, key, *columns, *(() if postgres else (belongs,)))

    op.add_column("sessions", sa.Column("branch", number))
    for table in ("turns", "compressions"):
        op.add_column(table, sa.Column("branch", number, nullable=False, server_default="0"))
    op.add_column("turns", sa.Column("after_position", sa.BigInteger))
    op.add_column("turns", sa.Column("parent", text))
    op.add_column("turns", sa.Column("origin", text))
    own(
        "branches",
        sa.Column("branch", number, primary_key=True, nullable=False, autoincrement=False),
        sa.Column("parent", number),
        sa.Column("fork_turn_id", text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("ranges", text, nullable=False),
        sa.Column("compression", number),
        sa.Column("generation_from", sa.BigInteger, nullable=False),
        sa.Column("prefix_hash", text),
        sa.Column("told_memories", text),
    )
    own(
        "active_ranges",
        sa.Column("after_position", sa.BigInteger, primary_key=True, nullable=False, autoincrement=False),
        sa.Column("to_position", sa.BigInteger, nullable=False),
    )
