"""What is taken of limits, and held by open turns."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

compatible_from = "0028"


def upgrade() -> None:
    op.create_table(
        "limit_counters",
        sa.Column("name", TEXT, primary_key=True, nullable=False),
        sa.Column("began", sa.BigInteger, primary_key=True, nullable=False),
        sa.Column("ends", sa.BigInteger, nullable=False),
        sa.Column("used", sa.BigInteger, nullable=False),
        sa.Column("user_id", TEXT),
    )
    op.create_index("limit_counters_by_end", "limit_counters", ["ends"])
    op.create_table(
        "limit_holds",
        sa.Column("turn_id", TEXT, primary_key=True, nullable=False),
        sa.Column("name", TEXT, primary_key=True, nullable=False),
        sa.Column("began", sa.BigInteger, nullable=False),
        sa.Column("ends", sa.BigInteger, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("measure", TEXT, nullable=False),
        sa.Column("most", sa.BigInteger, nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("user_id", TEXT),
    )
    op.create_index("limit_holds_by_counter", "limit_holds", ["name", "began"])
