"""The tables, once for every engine. Times are Unix milliseconds, JSON is kept as the text that was encoded.

`tests/storage/test_migrations.py` holds the migrations to these definitions.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    literal_column,
    text,
)

metadata = MetaData()

# Literals: a partial index serves only a condition that is known when the statement is planned.
RUNNING = literal_column("'running'", Text)
WAITING = literal_column("'accepted'", Text)

sessions = Table(
    "sessions",
    metadata,
    Column("id", Text, primary_key=True, nullable=False),
    Column("owner", Text, nullable=False),
    Column("title", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("head", BigInteger, nullable=False),
)
Index("sessions_by_time", sessions.c.owner, sessions.c.updated_at, sessions.c.id)

# `number` is the order of arrival. `first_seq` is fixed when a turn starts to run, as nothing but the running
# turn can add to its session. `last_seq` is fixed when it ends; until then the session's head tells it.
turns = Table(
    "turns",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("session_id", Text, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("owner", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("outcome", Text),
    Column("input", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("client_message_id", Text),
    Column("on_conflict", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("first_seq", BigInteger, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    Column("cancel_requested", Boolean, nullable=False),
    Column("iterations", Integer, nullable=False),
    Column("usage", Text),
    Column("cost", Float),
)
_running = text("status = 'running'")
_named = text("client_message_id IS NOT NULL")
Index("turns_by_session", turns.c.session_id, turns.c.status, turns.c.number)
Index(
    "turns_one_running",
    turns.c.session_id,
    unique=True,
    sqlite_where=_running,
    postgresql_where=_running,
)
Index(
    "turns_client_message",
    turns.c.session_id,
    turns.c.client_message_id,
    unique=True,
    sqlite_where=_named,
    postgresql_where=_named,
)

# No foreign key: the fence of each append proves in the same transaction that the session is there.
events = Table(
    "events",
    metadata,
    Column("session_id", Text, primary_key=True, nullable=False),
    Column("seq", BigInteger, primary_key=True, nullable=False, autoincrement=False),
    Column("turn_id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

messages = Table(
    "messages",
    metadata,
    Column(
        "session_id", Text, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True, nullable=False
    ),
    Column("position", BigInteger, primary_key=True, nullable=False, autoincrement=False),
    Column("turn_id", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("usage", Text),
)
