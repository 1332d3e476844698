"""Rows that are to be removed in slices, what each owner's artifacts take, and indexes by blob and turn."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# A content counts once with its size, at least a block of a disk, and each further artifact of it a block.
FILL_TOTALS = """
    INSERT INTO artifact_totals (owner, artifacts, size, used)
    SELECT owner, sum(artifacts), sum(size), sum(used)
    FROM (
        SELECT owner, count(*) AS artifacts, max(size) AS size,
            CASE WHEN max(size) < 4096 THEN 4096 ELSE max(size) END + (count(*) - 1) * 4096 AS used
        FROM artifacts GROUP BY owner, path
    ) AS contents
    GROUP BY owner
"""


def upgrade() -> None:
    op.create_table(
        "purges",
        sa.Column("session_id", sa.Text, primary_key=True, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "artifact_totals",
        sa.Column("owner", sa.Text, primary_key=True, nullable=False),
        sa.Column("artifacts", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("used", sa.BigInteger, nullable=False),
    )
    op.execute(FILL_TOTALS)
    op.drop_index("artifacts_by_turn", "artifacts")
    op.create_index("artifacts_by_turn", "artifacts", ["owner", "turn_id", "created_at", "ref"])
    op.create_index("session_archives_by_events", "session_archives", ["events_path"])
    op.create_index("session_archives_by_messages", "session_archives", ["messages_path"])
    op.create_index("compressions_by_archive", "compressions", ["archive_path"])
