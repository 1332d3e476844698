"""Keys of the model's provider that users bring along, and which keys encrypt what is stored.

Versions before do not remove the keys of who is erased, and would take an encrypted secret for the secret.
"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

compatible_from = "0030"


def upgrade() -> None:
    op.create_table(
        "provider_keys",
        sa.Column("tenant", TEXT, primary_key=True, nullable=False),
        sa.Column("user_id", TEXT, primary_key=True, nullable=False),
        sa.Column("secret", TEXT, nullable=False),
        sa.Column("ending", TEXT, nullable=False),
        sa.Column("set_at", sa.BigInteger, nullable=False),
        sa.Column("set_by", TEXT, nullable=False),
    )
    op.create_table(
        "encryption_keys",
        sa.Column("id", TEXT, primary_key=True, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
    )
