"""Messages that are sent at set times, and what became of each."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import NUMBER, TEXT

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

compatible_from = "0015"


def upgrade() -> None:
    op.create_table(
        "schedules",
        sa.Column("id", TEXT, primary_key=True, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("message", TEXT, nullable=False),
        sa.Column("session", TEXT),
        sa.Column("at", sa.BigInteger),
        sa.Column("every", NUMBER),
        sa.Column("cron", TEXT),
        sa.Column("timezone", TEXT, nullable=False),
        sa.Column("late", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("due_at", sa.BigInteger),
        sa.Column("reason", TEXT),
        sa.Column("destination", TEXT),
    )
    op.create_index("schedules_by_owner", "schedules", ["owner", "created_at", "id"])
    due = sa.text("due_at IS NOT NULL")
    op.create_index("schedules_due", "schedules", ["due_at", "id"], sqlite_where=due, postgresql_where=due)
    op.create_table(
        "schedule_runs",
        sa.Column("schedule_id", TEXT, primary_key=True, nullable=False),
        sa.Column("due_at", sa.BigInteger, primary_key=True, nullable=False, autoincrement=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("session", TEXT),
        sa.Column("turn_id", TEXT),
        sa.Column("code", TEXT),
        sa.Column("deliver_at", sa.BigInteger),
        sa.Column("tries", NUMBER, nullable=False, server_default="0"),
    )
    wanted = sa.text("deliver_at IS NOT NULL")
    op.create_index(
        "schedule_runs_wanted",
        "schedule_runs",
        ["deliver_at"],
        sqlite_where=wanted,
        postgresql_where=wanted,
    )
    started = sa.text("status = 'started'")
    op.create_index(
        "schedule_runs_started",
        "schedule_runs",
        ["schedule_id", "due_at"],
        sqlite_where=started,
        postgresql_where=started,
    )
