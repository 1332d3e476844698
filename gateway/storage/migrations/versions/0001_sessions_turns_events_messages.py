"""Sessions, turns, events and messages."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text, primary_key=True, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("title", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("head", sa.BigInteger, nullable=False),
    )
    op.create_index("sessions_by_time", "sessions", ["owner", "updated_at", "id"])

    op.create_table(
        "turns",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text),
        sa.Column("input", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("client_message_id", sa.Text),
        sa.Column("on_conflict", sa.Text, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("first_seq", sa.BigInteger, nullable=False),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
        sa.Column("cancel_requested", sa.Boolean, nullable=False),
        sa.Column("iterations", sa.Integer, nullable=False),
        sa.Column("usage", sa.Text),
        sa.Column("cost", sa.Float),
    )
    op.create_index("turns_by_session", "turns", ["session_id", "status", "number"])
    running = sa.text("status = 'running'")
    op.create_index(
        "turns_one_running",
        "turns",
        ["session_id"],
        unique=True,
        sqlite_where=running,
        postgresql_where=running,
    )
    named = sa.text("client_message_id IS NOT NULL")
    op.create_index(
        "turns_client_message",
        "turns",
        ["session_id", "client_message_id"],
        unique=True,
        sqlite_where=named,
        postgresql_where=named,
    )

    op.create_table(
        "events",
        sa.Column("session_id", sa.Text, primary_key=True, nullable=False),
        sa.Column("seq", sa.BigInteger, primary_key=True, nullable=False, autoincrement=False),
        sa.Column("turn_id", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )

    op.create_table(
        "messages",
        sa.Column(
            "session_id",
            sa.Text,
            sa.ForeignKey("sessions.id", ondelete="CASCADE"),
            primary_key=True,
            nullable=False,
        ),
        sa.Column("position", sa.BigInteger, primary_key=True, nullable=False, autoincrement=False),
        sa.Column("turn_id", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("usage", sa.Text),
    )
