"""Projects with members, and sessions that are shared in them.

Older code would read a turn in another's session as its sender's, and keep it from the session's owner: so it
does not start on these tables.
"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

compatible_from = "0026"


def upgrade() -> None:
    op.create_table(
        "projects",
        sa.Column("id", TEXT, primary_key=True, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("created_by", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_index("projects_by_maker", "projects", ["created_by", "created_at", "id"])
    op.create_table(
        "project_members",
        sa.Column("project_id", TEXT, primary_key=True, nullable=False),
        sa.Column("user_id", TEXT, primary_key=True, nullable=False),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("added_by", TEXT, nullable=False),
        sa.Column("added_at", sa.BigInteger, nullable=False),
    )
    op.create_index("project_members_by_user", "project_members", ["user_id", "added_at", "project_id"])
    op.add_column("sessions", sa.Column("shared", TEXT))
    op.create_index(
        "sessions_shared",
        "sessions",
        ["project_id", "updated_at", "id"],
        sqlite_where=sa.text("shared IS NOT NULL"),
        postgresql_where=sa.text("shared IS NOT NULL"),
    )
