"""What each user's sessions take, and what is asked of models for them beside turns.

Versions before would delete sessions without giving their bytes back, and leave the rows of a person whom
they erase.
"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import NUMBER, TEXT

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

compatible_from = "0033"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("size", sa.BigInteger))
    op.add_column("sessions", sa.Column("sized_to", sa.BigInteger))
    op.create_index(
        "sessions_to_size",
        "sessions",
        ["id"],
        sqlite_where=sa.text("size IS NULL"),
        postgresql_where=sa.text("size IS NULL"),
    )
    op.create_table(
        "session_totals",
        sa.Column("owner", TEXT, primary_key=True, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "side_calls",
        sa.Column("owner", TEXT, primary_key=True, nullable=False),
        sa.Column("day", sa.BigInteger, primary_key=True, nullable=False, autoincrement=False),
        sa.Column("purpose", TEXT, primary_key=True, nullable=False),
        sa.Column("model", TEXT, primary_key=True, nullable=False),
        sa.Column("calls", NUMBER, nullable=False),
        sa.Column("input_tokens", sa.BigInteger, nullable=False),
        sa.Column("output_tokens", sa.BigInteger, nullable=False),
        sa.Column("cost", sa.BigInteger, nullable=False),
        sa.Column("unpriced", NUMBER, nullable=False),
    )
