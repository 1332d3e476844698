"""The turns of a user are found whichever sessions they are in."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("turns_by_owner", "turns", ["owner", "created_at", "id"])
    op.create_index("turns_by_outcome", "turns", ["owner", "outcome", "created_at", "id"])
