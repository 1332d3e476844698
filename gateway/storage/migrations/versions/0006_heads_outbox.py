"""The head of a session leaves its wide row: one narrow row that fences writers, and an outbox beside it.
What begins anew with a changed prompt is a prompt generation: `epoch` is the number of an owner alone."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# The last message of a session lies in the table or in an archive; its open turn is the one that runs.
FILL_HEADS = """
    INSERT INTO heads (session_id, head, position, turn_id, epoch, parked_until)
    SELECT sessions.id, sessions.head,
        coalesce(
            (SELECT max(position) FROM messages WHERE session_id = sessions.id),
            (SELECT max(to_position) FROM session_archives WHERE session_id = sessions.id),
            0
        ),
        open.id,
        coalesce((SELECT max(epoch) FROM turns WHERE session_id = sessions.id), 0),
        open.parked_until
    FROM sessions
    LEFT JOIN turns AS open ON open.session_id = sessions.id AND open.status = 'running'
"""
RENAME_IN_MEMORIES = """
    UPDATE sessions
    SET told_memories = json_set(
        json_remove(told_memories, '$.epoch_from'),
        '$.generation_from', json_extract(told_memories, '$.epoch_from')
    )
    WHERE told_memories IS NOT NULL
"""
COUNT_RECOVERIES = "UPDATE turns SET recoveries = epoch - 1 WHERE epoch > 1"


def upgrade() -> None:
    op.create_table(
        "heads",
        sa.Column(
            "session_id",
            sa.Text,
            sa.ForeignKey("sessions.id", ondelete="CASCADE"),
            primary_key=True,
            nullable=False,
        ),
        sa.Column("head", sa.BigInteger, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("turn_id", sa.Text),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("replica", sa.Text),
        sa.Column("parked_until", sa.BigInteger),
    )
    op.add_column("turns", sa.Column("recoveries", sa.Integer, nullable=False, server_default="0"))
    op.execute(FILL_HEADS)
    op.execute(COUNT_RECOVERIES)
    is_open = sa.text("turn_id IS NOT NULL")
    op.create_index("heads_owned", "heads", ["replica"], sqlite_where=is_open, postgresql_where=is_open)
    parked = sa.text("parked_until IS NOT NULL")
    op.create_index("heads_parked", "heads", ["parked_until"], sqlite_where=parked, postgresql_where=parked)
    op.drop_index("turns_parked", "turns")
    op.drop_column("turns", "parked_until")
    op.drop_column("turns", "epoch")
    op.drop_column("sessions", "head")
    op.alter_column("sessions", "epoch_from", new_column_name="generation_from")
    op.execute(RENAME_IN_MEMORIES)

    op.create_table(
        "outbox",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("turn_id", sa.Text, nullable=False),
        sa.Column("events", sa.LargeBinary, nullable=False),
    )
    op.create_index("outbox_by_session", "outbox", ["session_id", "number"])
