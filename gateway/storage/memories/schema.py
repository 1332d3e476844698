"""The tables of the memories, which are a database of their own: several processes may have it open, and the
one of the sessions only one. As in schema.py, times are Unix milliseconds and JSON is text.

`tests/storage/test_migrations.py` holds the migrations to these definitions.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    LargeBinary,
    Table,
    Text,
    text,
)

from gateway.storage.schema import NUMBER, new_metadata, where

metadata = new_metadata()

# What is filtered by comes first and what is long last: a row is read as far as it is asked for. `audience`
# is that of MemoryRow; `subject` is what a document and a runtime memory may both be about (None: nothing).
# A tombstone has `deleted_at`.
memories = Table(
    "memories",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("user_id", Text, nullable=False),
    Column("audience", Text, nullable=False),
    Column("deleted_at", BigInteger),
    Column("status", Text, nullable=False),
    Column("quarantined", Boolean, nullable=False),
    Column("source", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("owner_type", Text, nullable=False),
    Column("owner_id", Text, nullable=False),
    Column("pinned", Boolean, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("subject", Text),
    Column("version", NUMBER, nullable=False),
    Column("role_id", Text),
    Column("project_id", Text),
    Column("visibility", Text, nullable=False),
    Column("importance", NUMBER, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("evidence_count", NUMBER, nullable=False),
    Column("superseded_by", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("last_used", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("skill", Text),
    Column("reference", Text),
    Column("tags", Text, nullable=False),
    Column("flagged", Text),
    Column("summary", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("context", Text),
    Column("decisions", Text, nullable=False),
    Column("refs", Text, nullable=False),
    Column("metadata", Text),
    Column("origin", Text),
    Column("tools", Text, nullable=False, server_default="[]"),
)
# The same content may be in several documents: their files decide.
LIVE = text("deleted_at IS NULL AND status IN ('active', 'suppressed') AND source != 'document'")
COUNTED = text("deleted_at IS NULL AND source != 'document'")
_present = text("deleted_at IS NULL")
_deleted = text("deleted_at IS NOT NULL")
_keyed = text("key IS NOT NULL")
_about = text("subject IS NOT NULL")
_replaced = text("superseded_by IS NOT NULL")
Index(
    "memories_once",
    memories.c.audience,
    memories.c.digest,
    unique=True,
    **where(LIVE),
)
Index(
    "memories_counted",
    memories.c.user_id,
    memories.c.status,
    memories.c.quarantined,
    **where(COUNTED),
)
Index(
    "memories_by_user",
    memories.c.user_id,
    memories.c.updated_at,
    memories.c.id,
    **where(_present),
)
Index(
    "memories_by_audience",
    memories.c.audience,
    memories.c.updated_at,
    memories.c.id,
    **where(_present),
)
Index(
    "memories_deleted",
    memories.c.user_id,
    memories.c.deleted_at,
    **where(_deleted),
)
Index("memories_by_subject", memories.c.subject, **where(_about))
Index("memories_replaced", memories.c.superseded_by, **where(_replaced))


def _memory(*, is_key: bool = False) -> Column[int]:
    reference = ForeignKey("memories.number", ondelete="CASCADE")
    return Column("memory", NUMBER, reference, primary_key=is_key, nullable=False, autoincrement=False)


# `row` is the whole memory as it became, JSON; `key` makes the request that did it repeatable.
memory_versions = Table(
    "memory_versions",
    metadata,
    _memory(is_key=True),
    Column("version", NUMBER, primary_key=True, nullable=False, autoincrement=False),
    Column("operation", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("turn_id", Text),
    Column("key", Text),
    Column("at", BigInteger, nullable=False),
    Column("row", Text, nullable=False),
)
Index("memory_versions_by_key", memory_versions.c.key, **where(_keyed))

# A quote is from a message of `user_id` (members of a household give evidence of one memory), or from one of
# the assistant that they agreed to (`author`). It is evidence of the content with `digest`: once that has
# changed it counts no more.
memory_evidence = Table(
    "memory_evidence",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    _memory(),
    Column("user_id", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("quote", Text, nullable=False),
    Column("author", Text, nullable=False, server_default=text("'user'")),
)
Index("memory_evidence_by_memory", memory_evidence.c.memory, memory_evidence.c.number)


def _end(name: str) -> Column[str]:
    reference = ForeignKey("memories.id", ondelete="CASCADE")
    return Column(name, Text, reference, primary_key=True, nullable=False)


memory_links = Table(
    "memory_links",
    metadata,
    _end("from_id"),
    _end("to_id"),
    Column("relation", Text, primary_key=True, nullable=False),
)
Index("memory_links_to", memory_links.c.to_id)

# The vector of the content with `digest`, or of one passage of it (0: the whole): once that has changed it
# counts no more.
memory_vectors = Table(
    "memory_vectors",
    metadata,
    _memory(is_key=True),
    Column("model", Text, primary_key=True, nullable=False),
    Column("passage", NUMBER, primary_key=True, nullable=False, autoincrement=False),
    Column("digest", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

# Sessions of `owner` may still have the words of a memory that is erased: see `MemoryStore.erasures`.
erasures = Table(
    "erasures",
    metadata,
    Column("memory_id", Text, primary_key=True, nullable=False),
    Column("owner", Text, primary_key=True, nullable=False),
)

profiles = Table(
    "profiles",
    metadata,
    Column("kind", Text, primary_key=True, nullable=False),
    Column("id", Text, primary_key=True, nullable=False),
    Column("version", NUMBER, nullable=False),
    Column("fields", Text, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
)

# Users of whose memories nothing is removed for good: a copy of the legal holds on users, which are kept with
# the sessions (`storage/holds`).
held_users = Table(
    "held_users",
    metadata,
    Column("user_id", Text, primary_key=True, nullable=False),
)

# How far memories have been indexed anew that an earlier version indexed: one row, until all have been.
memory_reindexing = Table(
    "memory_reindexing",
    metadata,
    Column("after", NUMBER, primary_key=True, nullable=False, autoincrement=False),
)

# The key of encrypted memories, itself encrypted with one of the operator's: one row, named `memories`.
memory_keys = Table(
    "memory_keys",
    metadata,
    Column("name", Text, primary_key=True, nullable=False),
    Column("secret", Text, nullable=False),
)
