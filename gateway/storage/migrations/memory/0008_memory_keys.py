"""The key of encrypted memories, which versions of before would take for readable ones."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

compatible_from = "0008"


def upgrade() -> None:
    op.create_table(
        "memory_keys",
        sa.Column("name", TEXT, primary_key=True, nullable=False),
        sa.Column("secret", TEXT, nullable=False),
    )
