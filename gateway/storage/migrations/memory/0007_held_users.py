"""Users of whose memories nothing is removed for good, which versions of before would not know."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

compatible_from = "0007"


def upgrade() -> None:
    op.create_table("held_users", sa.Column("user_id", TEXT, primary_key=True, nullable=False))
