"""What client applications tell the model, with the turns that have it."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT, table_of_sessions

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

compatible_from = "0014"


def upgrade() -> None:
    table_of_sessions(
        "instructions",
        sa.Column("digest", TEXT, primary_key=True, nullable=False),
        sa.Column("text", TEXT, nullable=False),
    )
    for table in ("sessions", "turns", "branches"):
        op.add_column(table, sa.Column("instructions", TEXT))
