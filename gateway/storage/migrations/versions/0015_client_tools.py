"""Tools that clients bring along, and the calls that they run."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

compatible_from = "0015"


def upgrade() -> None:
    postgres = op.get_bind().dialect.name == "postgresql"
    number = sa.BigInteger() if postgres else sa.Integer()
    text = sa.Text(collation="C") if postgres else sa.Text()

    def own(name: str, *columns: "sa.Column[Any]") -> None:
        belongs = sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], ondelete="CASCADE")
        key = sa.Column("session_id", text, primary_key=True, nullable=False)
        op.create_table(name, key, *columns, *(() if postgres else (belongs,)))

    op.add_column("turns", sa.Column("client_tools", text))
    own(
        "client_tools",
        sa.Column("digest", text, primary_key=True, nullable=False),
        sa.Column("specs", text, nullable=False),
    )
    own(
        "client_calls",
        sa.Column("turn_id", text, primary_key=True, nullable=False),
        sa.Column("tool_call_id", text, primary_key=True, nullable=False),
        sa.Column("owner", text, nullable=False),
        sa.Column("number", number, nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("requested_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("status", text),
        sa.Column("answered_at", sa.BigInteger),
        sa.Column("digest", text),
        sa.Column("content", text),
    )
    op.create_index("client_calls_by_turn", "client_calls", ["turn_id", "number"])
