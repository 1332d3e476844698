"""Words of memories are found by their beginnings. Those that are there are indexed anew by the leader
(storage/memories/reindexing.py), and are found as before until then.
"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import NUMBER

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

compatible_from = "0008"


def upgrade() -> None:
    op.create_table(
        "memory_reindexing",
        sa.Column("after", NUMBER, primary_key=True, nullable=False, autoincrement=False),
    )
    op.execute("INSERT INTO memory_reindexing (after) SELECT 0 WHERE EXISTS (SELECT 1 FROM memories)")
