"""API keys that are made while the gateway runs."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

compatible_from = "0022"


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", TEXT, primary_key=True, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user_id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("roles", TEXT, nullable=False),
        sa.Column("scopes", TEXT, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("created_by", TEXT, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
        sa.Column("used_at", sa.BigInteger),
    )
    op.create_index("api_keys_by_user", "api_keys", ["user_id", "created_at", "id"])
    op.create_index("api_keys_by_tenant", "api_keys", ["tenant", "created_at", "id"])
