"""What operators change while the gateway runs: MCP servers, limits, the prompt. Links by which a session is
read.

Versions before do not encrypt the settings of MCP servers anew when keys change; what does not open any more
is no server. Sessions that they delete leave their links, which lead nowhere.
"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import NUMBER, TEXT

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

compatible_from = "0041"


def upgrade() -> None:
    op.create_table(
        "mcp_servers",
        sa.Column("name", TEXT, primary_key=True, nullable=False),
        sa.Column("settings", TEXT, nullable=False),
        sa.Column("changed_by", TEXT, nullable=False),
        sa.Column("changed_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "limit_rules",
        sa.Column("number", NUMBER, primary_key=True, nullable=False, autoincrement=False),
        sa.Column("rule", TEXT, nullable=False),
        sa.Column("changed_by", TEXT, nullable=False),
        sa.Column("changed_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "prompt_versions",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("component", TEXT, nullable=False),
        sa.Column("text", TEXT),
        sa.Column("digest", TEXT),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("changed_by", TEXT, nullable=False),
        sa.Column("changed_at", sa.BigInteger, nullable=False),
    )
    op.create_index("prompt_versions_by_component", "prompt_versions", ["component", "number"])
    op.create_table(
        "shared_links",
        sa.Column("id", TEXT, primary_key=True, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("session", TEXT, nullable=False),
        sa.Column("audience", TEXT, nullable=False),
        sa.Column("until_seq", sa.BigInteger),
        sa.Column("branch", NUMBER),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("opened_at", sa.BigInteger),
        sa.Column("openings", sa.BigInteger, nullable=False, server_default="0"),
    )
    op.create_index("shared_links_by_owner", "shared_links", ["owner", "created_at", "id"])
    op.create_index("shared_links_by_digest", "shared_links", ["digest"], unique=True)
    op.create_index("shared_links_by_session", "shared_links", ["session"])
