"""Projects have an order and instructions, sessions may be temporary, people have saved prompts.

A version before would list a temporary session and learn from it, and leave the saved prompts of somebody who
is erased.
"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

compatible_from = "0041"


def upgrade() -> None:
    op.add_column("projects", sa.Column("instructions", TEXT))
    op.add_column("project_members", sa.Column("place", sa.BigInteger))
    op.add_column("sessions", sa.Column("is_temporary", sa.Boolean))
    op.create_table(
        "saved_prompts",
        sa.Column("id", TEXT, primary_key=True, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("owner", TEXT),
        sa.Column("project_id", TEXT),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("title", TEXT),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("model", TEXT),
        sa.Column("created_by", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
    op.create_index("saved_prompts_by_owner", "saved_prompts", ["owner", "kind", "name"])
    op.create_index("saved_prompts_by_project", "saved_prompts", ["project_id", "kind", "name"])
    op.create_index("saved_prompts_by_tenant", "saved_prompts", ["tenant", "kind", "name"])
