"""Memories with their versions, evidence, links, vectors and words, and profiles."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "memories",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("user_id", sa.Text, nullable=False),
        sa.Column("audience", sa.Text, nullable=False),
        sa.Column("deleted_at", sa.BigInteger),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("quarantined", sa.Boolean, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("owner_type", sa.Text, nullable=False),
        sa.Column("owner_id", sa.Text, nullable=False),
        sa.Column("pinned", sa.Boolean, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("subject", sa.Text),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("role_id", sa.Text),
        sa.Column("project_id", sa.Text),
        sa.Column("visibility", sa.Text, nullable=False),
        sa.Column("importance", sa.Integer, nullable=False),
        sa.Column("confidence", sa.Float, nullable=False),
        sa.Column("evidence_count", sa.Integer, nullable=False),
        sa.Column("superseded_by", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("last_used", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("skill", sa.Text),
        sa.Column("reference", sa.Text),
        sa.Column("tags", sa.Text, nullable=False),
        sa.Column("flagged", sa.Text),
        sa.Column("summary", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("context", sa.Text),
        sa.Column("decisions", sa.Text, nullable=False),
        sa.Column("refs", sa.Text, nullable=False),
    )
    live = "deleted_at IS NULL AND status IN ('active', 'suppressed') AND source != 'document'"
    _index("memories_once", ["audience", "digest"], live, unique=True)
    counted = "deleted_at IS NULL AND source != 'document'"
    _index("memories_counted", ["user_id", "status", "quarantined"], counted)
    _index("memories_by_user", ["user_id", "updated_at", "id"], "deleted_at IS NULL")
    _index("memories_by_audience", ["audience", "updated_at", "id"], "deleted_at IS NULL")
    _index("memories_deleted", ["user_id", "deleted_at"], "deleted_at IS NOT NULL")
    _index("memories_by_subject", ["subject"], "subject IS NOT NULL")
    _index("memories_replaced", ["superseded_by"], "superseded_by IS NOT NULL")

    op.create_table(
        "memory_versions",
        _memory(is_key=True),
        sa.Column("version", sa.Integer, primary_key=True, nullable=False, autoincrement=False),
        sa.Column("operation", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("turn_id", sa.Text),
        sa.Column("key", sa.Text),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("row", sa.Text, nullable=False),
    )
    _index("memory_versions_by_key", ["key"], "key IS NOT NULL", table="memory_versions")
    op.create_table(
        "memory_evidence",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=True),
        _memory(),
        sa.Column("user_id", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("quote", sa.Text, nullable=False),
    )
    op.create_index("memory_evidence_by_memory", "memory_evidence", ["memory", "number"])
    op.create_table(
        "memory_links",
        _end("from_id"),
        _end("to_id"),
        sa.Column("relation", sa.Text, primary_key=True, nullable=False),
    )
    op.create_index("memory_links_to", "memory_links", ["to_id"])
    op.create_table(
        "memory_vectors",
        _memory(is_key=True),
        sa.Column("model", sa.Text, primary_key=True, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    # The words come folded and cut; `ascii` only splits them where blanks are, and takes any other script for
    # letters. Positions are kept: without them a rank is counted by reading the rows again.
    op.execute("CREATE VIRTUAL TABLE memory_words USING fts5(words, tokenize='ascii')")
    op.execute("CREATE VIRTUAL TABLE memory_words_known USING fts5vocab(memory_words, 'row')")

    op.create_table(
        "profiles",
        sa.Column("kind", sa.Text, primary_key=True, nullable=False),
        sa.Column("id", sa.Text, primary_key=True, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("fields", sa.Text, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
    )


def _index(
    name: str, columns: list[str], where: str, *, table: str = "memories", unique: bool = False
) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


def _memory(*, is_key: bool = False) -> sa.Column[int]:
    reference = sa.ForeignKey("memories.number", ondelete="CASCADE")
    return sa.Column("memory", _NUMBER, reference, primary_key=is_key, nullable=False, autoincrement=False)


def _end(name: str) -> sa.Column[str]:
    reference = sa.ForeignKey("memories.id", ondelete="CASCADE")
    return sa.Column(name, sa.Text, reference, primary_key=True, nullable=False)
