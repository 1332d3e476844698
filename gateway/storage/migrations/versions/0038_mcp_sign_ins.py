"""Sign-ins of the gateway to MCP servers.

Versions before do not encrypt them anew when keys change; what does not open any more counts as no sign-in.
"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

compatible_from = "0034"


def upgrade() -> None:
    op.create_table(
        "mcp_sign_ins",
        sa.Column("id", TEXT, primary_key=True, nullable=False),
        sa.Column("secret", TEXT, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
    )
