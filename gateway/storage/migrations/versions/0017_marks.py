"""Marks of turns, by which clients that send their whole history find its end again."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

compatible_from = "0015"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("turns", sa.Column("mark", text))
    marked = sa.text("mark IS NOT NULL")
    op.create_index("turns_by_mark", "turns", ["mark"], sqlite_where=marked, postgresql_where=marked)
