"""Who is signed in on the page."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

compatible_from = "0022"


def upgrade() -> None:
    op.create_table(
        "sign_ins",
        sa.Column("digest", TEXT, primary_key=True, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user_id", TEXT, nullable=False),
        sa.Column("roles", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("used_at", sa.BigInteger, nullable=False),
    )
    op.create_index("sign_ins_by_user", "sign_ins", ["user_id", "created_at", "digest"])
    op.create_index("sign_ins_by_expiry", "sign_ins", ["expires_at"])
