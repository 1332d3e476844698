"""With which keys people allowed tools to run without asking.

Versions before leave it empty: what is allowed through them does not end with the key.
"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

compatible_from = "0034"


def upgrade() -> None:
    op.add_column("tool_grants", sa.Column("key_id", TEXT))
    op.create_index("tool_grants_by_key", "tool_grants", ["key_id"])
