"""Words of sessions are found by their beginnings. What was indexed before is searched until the leader has
made it anew (storage/sessions/former_words.py): on SQLite in a table of its own, on a server in the column
that it was in.

Versions before find whole words alone, and of what newer ones index on a server nothing; they remove all of
it.
"""

from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

compatible_from = "0034"


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("ALTER TABLE search_index RENAME TO search_former")
        op.execute(
            "CREATE VIRTUAL TABLE search_index USING "
            "fts5(words, detail='none', columnsize=0, tokenize='ascii', prefix='2 3 4')"
        )
        return
    op.execute("ALTER TABLE search_words ADD COLUMN IF NOT EXISTS terms TSVECTOR")
    # None of the rows that are there has them; in a transaction of its own all would wait for the look
    # through them.
    with op.get_context().autocommit_block():
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS search_words_by_term")
        op.execute(
            "CREATE INDEX CONCURRENTLY search_words_by_term ON search_words USING gin (terms) "
            "WHERE terms IS NOT NULL"
        )
