"""Compressions, archives and summaries of sessions, what a session knows of them, and the search index."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("project_id", sa.Text))
    op.add_column("sessions", sa.Column("compression", sa.Integer))
    op.add_column(
        "sessions", sa.Column("failed_compressions", sa.Integer, nullable=False, server_default="0")
    )
    op.add_column("sessions", sa.Column("epoch_from", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("sessions", sa.Column("carried", sa.Text))
    op.add_column("sessions", sa.Column("prefix_hash", sa.Text))
    op.add_column("sessions", sa.Column("indexed_head", sa.BigInteger, nullable=False, server_default="-1"))

    op.create_index("turns_by_seq", "turns", ["session_id", "last_seq"])

    op.create_table(
        "compressions",
        *_of_session("version"),
        sa.Column("parent", sa.Integer),
        sa.Column("from_position", sa.BigInteger, nullable=False),
        sa.Column("to_position", sa.BigInteger, nullable=False),
        sa.Column("kept_position", sa.BigInteger),
        sa.Column("archive_path", sa.Text, nullable=False),
        sa.Column("archive_size", sa.BigInteger, nullable=False),
        sa.Column("sha256", sa.Text, nullable=False),
        sa.Column("summary", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("prompt_digest", sa.Text, nullable=False),
        sa.Column("tokens_before", sa.BigInteger, nullable=False),
        sa.Column("tokens_after", sa.BigInteger, nullable=False),
        sa.Column("trigger", sa.Text, nullable=False),
        sa.Column("usage", sa.Text),
        sa.Column("cost", sa.Float),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "session_archives",
        *_of_session("number"),
        sa.Column("from_seq", sa.BigInteger, nullable=False),
        sa.Column("to_seq", sa.BigInteger, nullable=False),
        sa.Column("events_path", sa.Text, nullable=False),
        sa.Column("events_sha256", sa.Text, nullable=False),
        sa.Column("events_index", sa.Text, nullable=False),
        sa.Column("from_position", sa.BigInteger, nullable=False),
        sa.Column("to_position", sa.BigInteger, nullable=False),
        sa.Column("messages_path", sa.Text, nullable=False),
        sa.Column("messages_sha256", sa.Text, nullable=False),
        sa.Column("messages_index", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "summaries",
        *_of_session(),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("project_id", sa.Text),
        sa.Column("to_position", sa.BigInteger, nullable=False),
        sa.Column("summary", sa.Text, nullable=False),
        sa.Column("trigger", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("prompt_digest", sa.Text, nullable=False),
        sa.Column("usage", sa.Text),
        sa.Column("cost", sa.Float),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_index("summaries_by_time", "summaries", ["owner", "created_at"])
    _add_search()


def _add_search() -> None:
    """Full text, as only SQLite has it: see storage/sqlite/session_search.py. Words are separated by spaces,
    and the `ascii` tokenizer takes every other character as part of a word."""
    op.execute(
        """
        CREATE TABLE search_sessions (
            number INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL UNIQUE,
            turns INTEGER NOT NULL,
            position INTEGER NOT NULL
        )
        """
    )
    op.execute(
        "CREATE VIRTUAL TABLE search_index USING fts5(words, detail='none', columnsize=0, tokenize='ascii')"
    )


def _of_session(number: str | None = None) -> list[sa.Column[object]]:
    """The primary key of a table whose rows belong to a session."""
    session = sa.ForeignKey("sessions.id", ondelete="CASCADE")
    columns: list[sa.Column[object]] = [
        sa.Column("session_id", sa.Text, session, primary_key=True, nullable=False)
    ]
    if number is not None:
        columns.append(sa.Column(number, sa.Integer, primary_key=True, nullable=False, autoincrement=False))
    return columns
