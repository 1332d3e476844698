"""Secrets that the gateways of one database have in common."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

compatible_from = "0026"


def upgrade() -> None:
    op.create_table(
        "installation_secrets",
        sa.Column("name", TEXT, primary_key=True, nullable=False),
        sa.Column("secret", sa.LargeBinary, nullable=False),
    )
