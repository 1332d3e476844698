"""What the keys allow with which turns were asked for and schedules were made; and invitations to projects.

A version before would leave the invitations of somebody who is erased.
"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

compatible_from = "0034"


def upgrade() -> None:
    op.add_column("turns", sa.Column("scopes", TEXT))
    op.add_column("schedules", sa.Column("scopes", TEXT))
    op.create_table(
        "project_invitations",
        sa.Column("project_id", TEXT, primary_key=True, nullable=False),
        sa.Column("user_id", TEXT, primary_key=True, nullable=False),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("invited_by", TEXT, nullable=False),
        sa.Column("invited_at", sa.BigInteger, nullable=False),
    )
    op.create_index(
        "project_invitations_by_user", "project_invitations", ["user_id", "invited_at", "project_id"]
    )
