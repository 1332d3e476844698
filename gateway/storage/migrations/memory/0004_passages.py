"""Passages of long memories, in the search index and among the vectors.

Documents are stored again by the gateway that reads their files, since their digest is none; a long memory
has passages from its next change on.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE VIRTUAL TABLE moved_words USING fts5(words, passage UNINDEXED, tokenize='ascii')")
    op.execute("INSERT INTO moved_words (rowid, words) SELECT rowid * 4096, words FROM memory_words")
    op.execute("DROP TABLE memory_words_known")
    op.execute("DROP TABLE memory_words")
    op.execute("ALTER TABLE moved_words RENAME TO memory_words")
    op.execute("CREATE VIRTUAL TABLE memory_words_known USING fts5vocab(memory_words, 'row')")
    op.create_table(
        "moved_vectors",
        sa.Column(
            "memory",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            sa.ForeignKey("memories.number", ondelete="CASCADE"),
            primary_key=True,
            nullable=False,
            autoincrement=False,
        ),
        sa.Column("model", sa.Text, primary_key=True, nullable=False),
        sa.Column("passage", sa.Integer, primary_key=True, nullable=False, autoincrement=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    # A content of at most 375 characters has no passages; others are embedded anew.
    op.execute("""
        INSERT INTO moved_vectors SELECT memory, model, 0, memory_vectors.digest, data
        FROM memory_vectors JOIN memories ON memories.number = memory WHERE length(content) <= 375
    """)
    op.drop_table("memory_vectors")
    op.rename_table("moved_vectors", "memory_vectors")
    op.execute("UPDATE memories SET digest = '' WHERE source = 'document'")
