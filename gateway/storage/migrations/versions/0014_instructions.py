"""What client applications tell the model, with the turns that have it."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

compatible_from = "0014"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    in_file = op.get_bind().dialect.name == "sqlite"
    refers = [sa.ForeignKey("sessions.id", ondelete="CASCADE")] if in_file else []
    op.create_table(
        "instructions",
        sa.Column("session_id", text, *refers, primary_key=True),
        sa.Column("digest", text, primary_key=True),
        sa.Column("text", text, nullable=False),
    )
    for table in ("sessions", "turns", "branches"):
        op.add_column(table, sa.Column("instructions", text))
