"""What a tool said of itself when a person was asked about it, and when they granted it; and turns that ran
elsewhere.

Versions before ask about no tool again that has changed, and take the words of imported turns for the user's.
"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

compatible_from = "0034"


def upgrade() -> None:
    op.add_column("approvals", sa.Column("tool_digest", TEXT))
    op.add_column("tool_grants", sa.Column("tool_digest", TEXT))
    op.add_column("turns", sa.Column("is_imported", sa.Boolean))
