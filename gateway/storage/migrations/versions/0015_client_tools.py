"""Tools that clients bring along, and the calls that they run."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import NUMBER, TEXT, table_of_sessions

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

compatible_from = "0015"


def upgrade() -> None:
    op.add_column("turns", sa.Column("client_tools", TEXT))
    table_of_sessions(
        "client_tools",
        sa.Column("digest", TEXT, primary_key=True, nullable=False),
        sa.Column("specs", TEXT, nullable=False),
    )
    table_of_sessions(
        "client_calls",
        sa.Column("turn_id", TEXT, primary_key=True, nullable=False),
        sa.Column("tool_call_id", TEXT, primary_key=True, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("requested_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("status", TEXT),
        sa.Column("answered_at", sa.BigInteger),
        sa.Column("digest", TEXT),
        sa.Column("content", TEXT),
    )
    op.create_index("client_calls_by_turn", "client_calls", ["turn_id", "number"])
