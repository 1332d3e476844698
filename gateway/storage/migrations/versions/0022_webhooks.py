"""Where users want to hear of what happens, and what they are told."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import NUMBER, TEXT

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

compatible_from = "0022"


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", TEXT, primary_key=True, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("events", TEXT, nullable=False),
        sa.Column("secret", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("disabled_at", sa.BigInteger),
        sa.Column("failures", NUMBER, nullable=False, server_default="0"),
        sa.Column("rests_until", sa.BigInteger, nullable=False, server_default="0"),
    )
    op.create_index("webhooks_by_owner", "webhooks", ["owner", "created_at", "id"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("webhook_id", TEXT, nullable=False),
        sa.Column("session_id", TEXT),
        sa.Column("turn_id", TEXT),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("detail", TEXT),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("attempts", NUMBER, nullable=False),
        sa.Column("due_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("status", NUMBER),
        sa.Column("error", TEXT),
    )
    pending, ended = sa.text("state = 'pending'"), sa.text("ended_at IS NOT NULL")
    op.create_index("webhook_deliveries_by_webhook", "webhook_deliveries", ["webhook_id", "number"])
    op.create_index("webhook_deliveries_by_session", "webhook_deliveries", ["session_id", "state", "number"])
    op.create_index(
        "webhook_deliveries_due",
        "webhook_deliveries",
        ["webhook_id", "due_at"],
        sqlite_where=pending,
        postgresql_where=pending,
    )
    op.create_index(
        "webhook_deliveries_ended",
        "webhook_deliveries",
        ["ended_at"],
        sqlite_where=ended,
        postgresql_where=ended,
    )
