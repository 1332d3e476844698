"""Retention of tenants and sessions, legal holds, and erasures of persons. Versions of before would delete
what is held."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import NUMBER, TEXT

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

compatible_from = "0028"

OPEN = sa.text("state != 'done'")


def upgrade() -> None:
    op.add_column("sessions", sa.Column("archive_days", sa.BigInteger))
    op.add_column("sessions", sa.Column("delete_days", sa.BigInteger))
    op.create_table(
        "holds",
        sa.Column("id", TEXT, primary_key=True, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("subject_id", TEXT, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("placed_by", TEXT, nullable=False),
        sa.Column("placed_at", sa.BigInteger, nullable=False),
    )
    op.create_index("holds_by_subject", "holds", ["kind", "subject_id"], unique=True)
    op.create_table(
        "retention_rules",
        sa.Column("tenant", TEXT, primary_key=True, nullable=False),
        sa.Column("archive_days", sa.BigInteger),
        sa.Column("delete_days", sa.BigInteger),
        sa.Column("fixed", sa.Boolean, nullable=False),
        sa.Column("changed_by", TEXT, nullable=False),
        sa.Column("changed_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "person_erasures",
        sa.Column("id", TEXT, primary_key=True, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("person", TEXT, nullable=False),
        sa.Column("requested_by", TEXT, nullable=False),
        sa.Column("requested_at", sa.BigInteger, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("step", TEXT, nullable=False),
        sa.Column("starts", NUMBER, nullable=False, server_default="0"),
        sa.Column("found", TEXT),
        sa.Column("kept", TEXT),
        sa.Column("waits_for", TEXT),
        sa.Column("finished_at", sa.BigInteger),
    )
    op.create_index("person_erasures_by_person", "person_erasures", ["person", "requested_at"])
    op.create_index(
        "person_erasures_open",
        "person_erasures",
        ["requested_at"],
        sqlite_where=OPEN,
        postgresql_where=OPEN,
    )
    op.create_index(
        "person_erasures_once",
        "person_erasures",
        ["person"],
        unique=True,
        sqlite_where=OPEN,
        postgresql_where=OPEN,
    )
