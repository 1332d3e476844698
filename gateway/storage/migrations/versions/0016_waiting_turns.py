"""The turns that wait are found without going through all that ever were: each beat of a replica asks for
them."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

compatible_from = "0015"


def upgrade() -> None:
    waiting = sa.text("status = 'accepted'")
    op.create_index(
        "turns_waiting", "turns", ["status", "session_id"], sqlite_where=waiting, postgresql_where=waiting
    )
