"""Sessions that a person pinned or archived, and who gave a session its title."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

compatible_from = "0015"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("sessions", sa.Column("pinned_at", sa.BigInteger))
    op.add_column("sessions", sa.Column("archived_at", sa.BigInteger))
    op.add_column("sessions", sa.Column("title_by", text))
    for name in ("pinned", "archived"):
        chosen = sa.text(f"{name}_at IS NOT NULL")
        op.create_index(
            f"sessions_{name}",
            "sessions",
            ["owner", "updated_at", "id"],
            sqlite_where=chosen,
            postgresql_where=chosen,
        )
