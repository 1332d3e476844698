"""The tables, once for every engine. Times are Unix milliseconds, JSON is kept as the text that was encoded.
In PostgreSQL every text is in the order of its bytes (COLLATE "C"), as SQLite has it: the order of a language
changes with the libraries of a server, and damages the indexes that were made in it.

Foreign keys say what belongs to what. Nothing relies on their being enforced: a session's rows are removed in
slices (sessions/purges.py), where a cascade would remove them in one statement.

`tests/storage/test_migrations.py` holds the migrations to these definitions.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TextClause,
    event,
    literal_column,
    text,
)


def _tell_postgresql(metadata: MetaData, connection: Connection, **_: object) -> None:
    if connection.dialect.name == "postgresql":
        for table in metadata.tables.values():
            for index in table.indexes:
                index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]


def new_metadata() -> MetaData:
    """Of tables whose partial indexes are so in every engine. PostgreSQL's are told when they are made: to
    name it beside each index loads all that SQLAlchemy has for it, also where the database is a file."""
    metadata = MetaData()
    event.listen(metadata, "before_create", _tell_postgresql)
    return metadata


metadata = new_metadata()

NUMBER = BigInteger().with_variant(Integer, "sqlite")
"""64 bits with every engine: a copy that is imported may have up to 2^53."""


def where(condition: TextClause) -> dict[str, Any]:
    """What makes an index a partial one."""
    return {"sqlite_where": condition}


def _of_session(*, primary_key: bool = False) -> Column[str]:
    """The session that a row belongs to."""
    session = ForeignKey("sessions.id", ondelete="CASCADE")
    return Column("session_id", Text, session, primary_key=primary_key, nullable=False)


# Literals: a partial index serves only a condition that is known when the statement is planned.
RUNNING = literal_column("'running'", Text)
WAITING = literal_column("'accepted'", Text)

# `compression` is the version whose summary stands for what it covers; None: the model sees every message.
# Thinking in messages up to position `generation_from` was signed for another prefix and is not sent any
# more. `carried` is the summary of former sessions in its first turn, `told_memories` the
# memories in its prompt, as JSON (see `PromptMemories`); `indexed_head` how far the search index has come, -1
# before the first time; `learned_to` the last message that was read for what is worth remembering, while
# something after it is to be read. `branch` is the one that is active, NULL where there is no other; what
# belongs to a prompt is that branch's. `instructions` is the digest of those of the client application that
# the turn has that runs, or ran last. `pinned_at` and `archived_at` are when its owner did so; `title_by`
# says who gave it its title, NULL where that is the beginning of its first message. `shared` is what members
# of its project may do with it; NULL: nothing, it is its owner's alone. `archive_days` and
# `delete_days` are its own retention (see `storage/retention`), NULL where it has none. `size` are the bytes
# that it counts, up to the message `sized_to` (see `sessions/session_sizes.py`). `is_temporary`: it is in no
# list, and is deleted soon.
sessions = Table(
    "sessions",
    metadata,
    Column("id", Text, primary_key=True, nullable=False),
    Column("owner", Text, nullable=False),
    Column("title", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("project_id", Text),
    Column("compression", NUMBER),
    Column("failed_compressions", NUMBER, nullable=False, server_default="0"),
    Column("generation_from", BigInteger, nullable=False, server_default="0"),
    Column("carried", Text),
    Column("prefix_hash", Text),
    Column("indexed_head", BigInteger, nullable=False, server_default="-1"),
    Column("role_id", Text),
    Column("told_memories", Text),
    Column("learned_to", BigInteger),
    Column("branch", NUMBER),
    Column("instructions", Text),
    Column("pinned_at", BigInteger),
    Column("archived_at", BigInteger),
    Column("title_by", Text),
    Column("shared", Text),
    Column("archive_days", BigInteger),
    Column("delete_days", BigInteger),
    Column("size", BigInteger),
    Column("sized_to", BigInteger),
    Column("is_temporary", Boolean),
)
_by_time = (sessions.c.owner, sessions.c.updated_at, sessions.c.id)
Index("sessions_by_time", *_by_time)
_pinned = text("pinned_at IS NOT NULL")
_archived = text("archived_at IS NOT NULL")
Index("sessions_pinned", *_by_time, **where(_pinned))
Index("sessions_archived", *_by_time, **where(_archived))
_shared = text("shared IS NOT NULL")
Index("sessions_shared", sessions.c.project_id, sessions.c.updated_at, sessions.c.id, **where(_shared))
_unsized = text("size IS NULL")
Index("sessions_to_size", sessions.c.id, **where(_unsized))
_to_read = text("learned_to IS NOT NULL")
Index("sessions_to_read", sessions.c.id, **where(_to_read))

# All that an append touches beside the events and messages that it adds: one narrow row for each session, and
# the fence of its writers. `head` is the seq of the last event, `position` that of the last message, wherever
# they lie. `turn_id` is the open turn, which runs or is suspended. `epoch` is the number of the writer that
# may append: it grows with each lease holder, so that a former one is refused. `replica` is the process that
# runs the turn, NULL when none does; with `parked_until` the turn waits for a person, at most until then.
heads = Table(
    "heads",
    metadata,
    _of_session(primary_key=True),
    Column("head", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("turn_id", Text),
    Column("epoch", BigInteger, nullable=False),
    Column("replica", Text),
    Column("parked_until", BigInteger),
)
_open = text("turn_id IS NOT NULL")
_parked = text("parked_until IS NOT NULL")
Index("heads_owned", heads.c.replica, **where(_open))
Index("heads_parked", heads.c.parked_until, **where(_parked))

# Client instructions of sessions, each text once.
instructions = Table(
    "instructions",
    metadata,
    _of_session(primary_key=True),
    Column("digest", Text, primary_key=True, nullable=False),
    Column("text", Text, nullable=False),
)

# Events from outside the turn that was being written, until they are in the session's log:
# `events` are types and data as JSON, `turn_id` what they belong to, a turn or an operation.
outbox = Table(
    "outbox",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    _of_session(),
    Column("turn_id", Text, nullable=False),
    Column("events", LargeBinary, nullable=False),
)
Index("outbox_by_session", outbox.c.session_id, outbox.c.number)

# `number` is the order of arrival. `first_seq` is fixed when a turn starts to run, as nothing but the running
# turn can add to its session. `last_seq` is fixed when it ends; until then the session's head tells it. A
# turn that was cancelled while it waited is done at once and has both when its events leave the outbox.
# `recoveries` counts the lease holders that were lost, `unreported` the model calls that began to answer and
# never said what they used. `attachments` are those of its message, as JSON (see
# `Attached`). Its messages come after `after_position`, fixed as `first_seq` is (NULL: unknown, older than
# branches), and before the turn that ran next. `parent` is what it was asked after, a turn or ROOT: NULL
# where that is the one that ran before it. `branch` is the one that it belongs to. `origin` is NULL for turns
# that ran here, and for those that were imported (`is_imported`).
# `instructions` is the digest of those that the turn has; '': none; NULL while it waits: those that the turn
# before it will have. `client_tools` is the digest of the tools that came with it. `mark` is a hash of
# all that its client had sent of the conversation, where it sends that each time. `dialect` names the adapter
# by which it was asked for; NULL: none. `key_id` is the key, `sign_in` the digest of the sign-in, `scopes`
# what they allow, where that is less than a member may. `feedback` is what its owner thinks of it, as JSON
# (see `Feedback`). `sampling` is how its client wants the model to write, as JSON (see `Sampling`); NULL: as
# the gateway is set up.
turns = Table(
    "turns",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    _of_session(),
    Column("owner", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("outcome", Text),
    Column("input", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("client_message_id", Text),
    Column("on_conflict", Text, nullable=False),
    Column("recoveries", NUMBER, nullable=False, server_default="0"),
    Column("created_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("first_seq", BigInteger, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    Column("cancel_requested", Boolean, nullable=False),
    Column("iterations", NUMBER, nullable=False),
    Column("usage", Text),
    Column("cost", Float),
    Column("unreported", NUMBER),
    Column("attachments", Text),
    Column("branch", NUMBER, nullable=False, server_default="0"),
    Column("after_position", BigInteger),
    Column("parent", Text),
    Column("origin", Text),
    Column("instructions", Text),
    Column("client_tools", Text),
    Column("mark", Text),
    Column("dialect", Text),
    Column("key_id", Text),
    Column("sign_in", Text),
    Column("scopes", Text),
    Column("feedback", Text),
    Column("is_imported", Boolean),
    Column("sampling", Text),
)
_running = text("status = 'running'")
_waiting = text("status = 'accepted'")
_named = text("client_message_id IS NOT NULL")
_marked = text("mark IS NOT NULL")
Index("turns_by_session", turns.c.session_id, turns.c.status, turns.c.number)
Index("turns_by_seq", turns.c.session_id, turns.c.last_seq)
Index("turns_by_owner", turns.c.owner, turns.c.created_at, turns.c.id)
Index("turns_by_outcome", turns.c.owner, turns.c.outcome, turns.c.created_at, turns.c.id)
Index("turns_waiting", turns.c.status, turns.c.session_id, **where(_waiting))
Index("turns_by_mark", turns.c.mark, **where(_marked))
Index(
    "turns_one_running",
    turns.c.session_id,
    unique=True,
    **where(_running),
)
Index(
    "turns_client_message",
    turns.c.session_id,
    turns.c.client_message_id,
    unique=True,
    **where(_named),
)

# The newest events of all sessions, in the order in which they came: a piece of text dirties no page of its
# own, and no index grows with it. There are never many (see `log/packs.py`): a read of one session's scans
# them all. No foreign key: the fence of each append proves in the same transaction
# that the session is there.
loose_events = Table(
    "loose_events",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("session_id", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("turn_id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

# All other events that are not archived: in each row those of one turn that follow each other, in a form of
# their own (see `storage/log/packs.py`).
event_packs = Table(
    "event_packs",
    metadata,
    Column("session_id", Text, primary_key=True, nullable=False),
    Column("last_seq", BigInteger, primary_key=True, nullable=False, autoincrement=False),
    Column("first_seq", BigInteger, nullable=False),
    Column("turn_id", Text, nullable=False),
    Column("types", Text, nullable=False),
    Column("lines", LargeBinary, nullable=False),
)

messages = Table(
    "messages",
    metadata,
    _of_session(primary_key=True),
    Column("position", BigInteger, primary_key=True, nullable=False, autoincrement=False),
    Column("turn_id", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("usage", Text),
)

# A version covers the messages `from_position` to `to_position` of a branch; its parent, if any, covers what
# comes before. `kept_position` is a message in that range which is sent verbatim nevertheless.
compressions = Table(
    "compressions",
    metadata,
    _of_session(primary_key=True),
    Column("version", NUMBER, primary_key=True, nullable=False, autoincrement=False),
    Column("parent", NUMBER),
    Column("from_position", BigInteger, nullable=False),
    Column("to_position", BigInteger, nullable=False),
    Column("kept_position", BigInteger),
    Column("archive_path", Text, nullable=False),
    Column("archive_size", BigInteger, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt_digest", Text, nullable=False),
    Column("tokens_before", BigInteger, nullable=False),
    Column("tokens_after", BigInteger, nullable=False),
    Column("trigger", Text, nullable=False),
    Column("usage", Text),
    Column("cost", Float),
    Column("created_at", BigInteger, nullable=False),
    Column("branch", NUMBER, nullable=False, server_default="0"),
)

# The branches of a session that has several (see `storage/branches/`). `ranges` is where their messages lie,
# as JSON. What belongs to a prompt is as it was when the branch was left; `sessions` has the active one's.
branches = Table(
    "branches",
    metadata,
    _of_session(primary_key=True),
    Column("branch", NUMBER, primary_key=True, nullable=False, autoincrement=False),
    Column("parent", NUMBER),
    Column("fork_turn_id", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("ranges", Text, nullable=False),
    Column("compression", NUMBER),
    Column("generation_from", BigInteger, nullable=False),
    Column("prefix_hash", Text),
    Column("told_memories", Text),
    Column("instructions", Text),
)

# The ranges of the active branch once more, by which its messages are found.
active_ranges = Table(
    "active_ranges",
    metadata,
    _of_session(primary_key=True),
    Column("after_position", BigInteger, primary_key=True, nullable=False, autoincrement=False),
    Column("to_position", BigInteger, nullable=False),
)

# The events and messages that were moved out of their tables, as ranges that follow each other. The indexes
# tell where in the blob a range begins, as JSON.
session_archives = Table(
    "session_archives",
    metadata,
    _of_session(primary_key=True),
    Column("number", NUMBER, primary_key=True, nullable=False, autoincrement=False),
    Column("from_seq", BigInteger, nullable=False),
    Column("to_seq", BigInteger, nullable=False),
    Column("events_path", Text, nullable=False),
    Column("events_sha256", Text, nullable=False),
    Column("events_index", Text, nullable=False),
    Column("from_position", BigInteger, nullable=False),
    Column("to_position", BigInteger, nullable=False),
    Column("messages_path", Text, nullable=False),
    Column("messages_sha256", Text, nullable=False),
    Column("messages_index", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)
# These find out whether a row refers to a blob.
Index("session_archives_by_events", session_archives.c.events_path)
Index("session_archives_by_messages", session_archives.c.messages_path)
Index("compressions_by_archive", compressions.c.archive_path)

summaries = Table(
    "summaries",
    metadata,
    _of_session(primary_key=True),
    Column("owner", Text, nullable=False),
    Column("project_id", Text),
    Column("to_position", BigInteger, nullable=False),
    Column("summary", Text, nullable=False),
    Column("trigger", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt_digest", Text, nullable=False),
    Column("usage", Text),
    Column("cost", Float),
    Column("created_at", BigInteger, nullable=False),
)
Index("summaries_by_time", summaries.c.owner, summaries.c.created_at)

# `number` is the order in which the calls of a message were asked for.
approvals = Table(
    "approvals",
    metadata,
    _of_session(primary_key=True),
    Column("turn_id", Text, primary_key=True, nullable=False),
    Column("tool_call_id", Text, primary_key=True, nullable=False),
    Column("owner", Text, nullable=False),
    Column("number", NUMBER, nullable=False),
    Column("name", Text, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("reason", Text),
    Column("requested_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("decision", Text),
    Column("decided_by", Text),
    Column("decided_at", BigInteger),
    Column("scope", Text),
    Column("answer", Text),
    Column("edited", Text),
    Column("tool_digest", Text),
)
Index("approvals_by_turn", approvals.c.turn_id, approvals.c.requested_at, approvals.c.number)

# Calls that the user's client runs. `status` is NULL until it gave the result, of whose content `digest` is;
# `content` is NULL again when the turn has it in its log.
client_calls = Table(
    "client_calls",
    metadata,
    _of_session(primary_key=True),
    Column("turn_id", Text, primary_key=True, nullable=False),
    Column("tool_call_id", Text, primary_key=True, nullable=False),
    Column("owner", Text, nullable=False),
    Column("number", NUMBER, nullable=False),
    Column("name", Text, nullable=False),
    Column("requested_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("status", Text),
    Column("answered_at", BigInteger),
    Column("digest", Text),
    Column("content", Text),
)
Index("client_calls_by_turn", client_calls.c.turn_id, client_calls.c.number)

# The tools that clients brought along, as JSON; turns refer to a set by its digest.
client_tools = Table(
    "client_tools",
    metadata,
    _of_session(primary_key=True),
    Column("digest", Text, primary_key=True, nullable=False),
    Column("specs", Text, nullable=False),
)

# Without a session the grant holds in all of its owner's.
tool_grants = Table(
    "tool_grants",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("owner", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("session_id", Text, ForeignKey("sessions.id", ondelete="CASCADE")),
    Column("created_at", BigInteger, nullable=False),
    Column("tool_digest", Text),
    Column("key_id", Text),
)
Index("tool_grants_by_tool", tool_grants.c.owner, tool_grants.c.tool)
Index("tool_grants_by_key", tool_grants.c.key_id)

skill_switches = Table(
    "skill_switches",
    metadata,
    Column("name", Text, primary_key=True, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("switched_by", Text, nullable=False),
    Column("switched_at", BigInteger, nullable=False),
)

# Offloaded tool results and attachments: `path` is the blob with the content, which artifacts of
# the same content share. `chunks` are the hashes of its parts, as JSON (see `Chunk`).
artifacts = Table(
    "artifacts",
    metadata,
    Column("owner", Text, primary_key=True, nullable=False),
    Column("ref", Text, primary_key=True, nullable=False),
    Column("session_id", Text, ForeignKey("sessions.id", ondelete="SET NULL")),
    Column("turn_id", Text),
    Column("tool_call_id", Text),
    Column("project_id", Text),
    Column("name", Text),
    Column("mime", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("lines", BigInteger),
    Column("sha256", Text, nullable=False),
    Column("chunks", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("compact", Text, nullable=False),
    Column("summary", Text),
    Column("metadata", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)
Index("artifacts_by_time", artifacts.c.owner, artifacts.c.created_at, artifacts.c.ref)
Index("artifacts_by_path", artifacts.c.owner, artifacts.c.path, artifacts.c.size)
Index("artifacts_by_blob", artifacts.c.path)
Index("artifacts_by_turn", artifacts.c.owner, artifacts.c.turn_id, artifacts.c.created_at, artifacts.c.ref)
Index("artifacts_by_session", artifacts.c.session_id)
Index("artifacts_by_expiry", artifacts.c.expires_at)

# What all artifacts of an owner take, kept up with each that comes and goes: to sum them up would take longer
# the more there are. `size` are the bytes of their contents, `used` is what counts against the quota.
artifact_totals = Table(
    "artifact_totals",
    metadata,
    Column("owner", Text, primary_key=True, nullable=False),
    Column("artifacts", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("used", BigInteger, nullable=False),
)

# What all sessions of an owner count, kept up in the same way.
session_totals = Table(
    "session_totals",
    metadata,
    Column("owner", Text, primary_key=True, nullable=False),
    Column("size", BigInteger, nullable=False),
)

# Which sessions refer to an artifact: it was made, attached or read there. Those are not expired.
artifact_uses = Table(
    "artifact_uses",
    metadata,
    _of_session(primary_key=True),
    Column("ref", Text, primary_key=True, nullable=False),
    Column("owner", Text, nullable=False),
)
Index("artifact_uses_by_ref", artifact_uses.c.owner, artifact_uses.c.ref)

# Blobs that may have lost their last artifact or archive, or that never got one: each is removed once that is
# certain.
doubtful_blobs = Table(
    "doubtful_blobs",
    metadata,
    Column("path", Text, primary_key=True, nullable=False),
    Column("since", BigInteger, nullable=False),
)

# Sessions with rows that are still to be removed: all of them where the session itself is gone, else those of
# events and messages that an archive has.
purges = Table(
    "purges",
    metadata,
    Column("session_id", Text, primary_key=True, nullable=False),
    Column("since", BigInteger, nullable=False),
)

# Messages that are sent at set times for their owner (see `ScheduleRow`). `due_at` is the next of these
# times, NULL while there is none: it is moved on from the very value that was read, by whoever has that run.
schedules = Table(
    "schedules",
    metadata,
    Column("id", Text, primary_key=True, nullable=False),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("session", Text),
    Column("at", BigInteger),
    Column("every", NUMBER),
    Column("cron", Text),
    Column("timezone", Text, nullable=False),
    Column("late", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("due_at", BigInteger),
    Column("reason", Text),
    Column("destination", Text),
    Column("key_id", Text),
    Column("scopes", Text),
)
Index("schedules_by_owner", schedules.c.owner, schedules.c.created_at, schedules.c.id)
_due = text("due_at IS NOT NULL")
Index("schedules_due", schedules.c.due_at, schedules.c.id, **where(_due))

# What became of a schedule's last due times. As the schedules, they stay when the session is deleted: so the
# column has not the name of those whose rows are a session's (sessions/purges.py). `deliver_at` is when the
# result may be delivered next, NULL when it is wanted nowhere else or was delivered; `tries` counts.
schedule_runs = Table(
    "schedule_runs",
    metadata,
    Column("schedule_id", Text, primary_key=True, nullable=False),
    Column("due_at", BigInteger, primary_key=True, nullable=False, autoincrement=False),
    Column("status", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("session", Text),
    Column("turn_id", Text),
    Column("code", Text),
    Column("deliver_at", BigInteger),
    Column("tries", NUMBER, nullable=False, server_default="0"),
)
_wanted = text("deliver_at IS NOT NULL")
Index("schedule_runs_wanted", schedule_runs.c.deliver_at, **where(_wanted))
_started = text("status = 'started'")
Index("schedule_runs_started", schedule_runs.c.schedule_id, schedule_runs.c.due_at, **where(_started))
# Where users want to hear of what happens (see `Webhook`). `events` are types with a blank before and behind
# each, so that a statement finds one in it. `key_id` is the key that it was made with.
webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Text, primary_key=True, nullable=False),
    Column("owner", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("events", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("disabled_at", BigInteger),
    Column("failures", NUMBER, nullable=False, server_default="0"),
    Column("rests_until", BigInteger, nullable=False, server_default="0"),
    Column("key_id", Text),
    Column("reason", Text),
)
Index("webhooks_by_owner", webhooks.c.owner, webhooks.c.created_at, webhooks.c.id)

# What a webhook is told, added by the transaction in which it happened (see `Delivery`). While it is pending,
# `due_at` is when it may be tried next; `attempts` counts the tries, and fences who writes what came of one.
# `detail` is JSON; NULL: what is told is in the turn's row.
webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("webhook_id", Text, nullable=False),
    Column("session_id", Text),
    Column("turn_id", Text),
    Column("type", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("detail", Text),
    Column("state", Text, nullable=False),
    Column("attempts", NUMBER, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("status", NUMBER),
    Column("error", Text),
)
PENDING = literal_column("'pending'", Text)
_pending = text("state = 'pending'")
_ended = text("ended_at IS NOT NULL")
Index("webhook_deliveries_by_webhook", webhook_deliveries.c.webhook_id, webhook_deliveries.c.number)
Index(
    "webhook_deliveries_by_session",
    webhook_deliveries.c.session_id,
    webhook_deliveries.c.state,
    webhook_deliveries.c.number,
)
Index(
    "webhook_deliveries_due",
    webhook_deliveries.c.webhook_id,
    webhook_deliveries.c.due_at,
    **where(_pending),
)
Index("webhook_deliveries_ended", webhook_deliveries.c.ended_at, **where(_ended))

# Who did what (see `AuditEntry`). Triggers hold every statement to what `storage/audit` is allowed: rows are
# added, those older than the greatest `removed_before` are removed, a pseudonym takes the place of a person.
audit = Table(
    "audit",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("actor", Text),
    Column("key_id", Text),
    Column("address", Text),
    Column("action", Text, nullable=False),
    Column("subject_kind", Text),
    Column("subject_id", Text),
    Column("result", Text, nullable=False),
    Column("request_id", Text),
    Column("times", NUMBER, nullable=False, server_default="1"),
)
Index("audit_by_tenant", audit.c.tenant, audit.c.number)
Index("audit_by_action", audit.c.tenant, audit.c.action, audit.c.number)
Index("audit_by_actor", audit.c.actor, audit.c.number)
Index("audit_by_subject", audit.c.subject_id, audit.c.number)
Index("audit_by_time", audit.c.at)
audit_removals = Table(
    "audit_removals",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("removed_before", BigInteger, nullable=False),
)

# Keys that were made while the gateway ran (see `ApiKey`). `roles` and `scopes` are JSON.
api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("roles", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("used_at", BigInteger),
)
Index("api_keys_by_user", api_keys.c.user_id, api_keys.c.created_at, api_keys.c.id)
Index("api_keys_by_tenant", api_keys.c.tenant, api_keys.c.created_at, api_keys.c.id)

# Who is signed in on the page (see `SignIn`). `roles` is JSON.
sign_ins = Table(
    "sign_ins",
    metadata,
    Column("digest", Text, primary_key=True, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("roles", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger, nullable=False),
)
Index("sign_ins_by_user", sign_ins.c.user_id, sign_ins.c.created_at, sign_ins.c.digest)
Index("sign_ins_by_expiry", sign_ins.c.expires_at)

# Groups of people of one tenant, and who is in them (see `Project`, `Member`). `place` is where the project
# stands in the member's own list; NULL: behind those that have one.
projects = Table(
    "projects",
    metadata,
    Column("id", Text, primary_key=True, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("instructions", Text),
)
Index("projects_by_maker", projects.c.created_by, projects.c.created_at, projects.c.id)
project_members = Table(
    "project_members",
    metadata,
    Column("project_id", Text, primary_key=True, nullable=False),
    Column("user_id", Text, primary_key=True, nullable=False),
    Column("role", Text, nullable=False),
    Column("added_by", Text, nullable=False),
    Column("added_at", BigInteger, nullable=False),
    Column("place", BigInteger),
)
Index(
    "project_members_by_user",
    project_members.c.user_id,
    project_members.c.added_at,
    project_members.c.project_id,
)
# Who was asked into a project and has not answered yet: nothing of it is theirs.
project_invitations = Table(
    "project_invitations",
    metadata,
    Column("project_id", Text, primary_key=True, nullable=False),
    Column("user_id", Text, primary_key=True, nullable=False),
    Column("role", Text, nullable=False),
    Column("invited_by", Text, nullable=False),
    Column("invited_at", BigInteger, nullable=False),
)
Index(
    "project_invitations_by_user",
    project_invitations.c.user_id,
    project_invitations.c.invited_at,
    project_invitations.c.project_id,
)

# Texts that people keep for use (see `SavedPrompt`). Those of a person have an `owner`, those of a project
# its id, those of a whole tenant neither.
saved_prompts = Table(
    "saved_prompts",
    metadata,
    Column("id", Text, primary_key=True, nullable=False),
    Column("kind", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("owner", Text),
    Column("project_id", Text),
    Column("name", Text, nullable=False),
    Column("title", Text),
    Column("text", Text, nullable=False),
    Column("model", Text),
    Column("created_by", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
)
Index("saved_prompts_by_owner", saved_prompts.c.owner, saved_prompts.c.kind, saved_prompts.c.name)
Index("saved_prompts_by_project", saved_prompts.c.project_id, saved_prompts.c.kind, saved_prompts.c.name)
Index("saved_prompts_by_tenant", saved_prompts.c.tenant, saved_prompts.c.kind, saved_prompts.c.name)

# Random bits that the gateways of this database have in common (see `Installation`).
installation_secrets = Table(
    "installation_secrets",
    metadata,
    Column("name", Text, primary_key=True, nullable=False),
    Column("secret", LargeBinary, nullable=False),
)

# What must not be deleted (see `Hold`): `owner` is the user whose it is, `subject_id` that user or a session.
holds = Table(
    "holds",
    metadata,
    Column("id", Text, primary_key=True, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("placed_by", Text, nullable=False),
    Column("placed_at", BigInteger, nullable=False),
)
Index("holds_by_subject", holds.c.kind, holds.c.subject_id, unique=True)

# After how many days a tenant's sessions are archived and deleted (see `RetentionRule`).
retention_rules = Table(
    "retention_rules",
    metadata,
    Column("tenant", Text, primary_key=True, nullable=False),
    Column("archive_days", BigInteger),
    Column("delete_days", BigInteger),
    Column("fixed", Boolean, nullable=False),
    Column("changed_by", Text, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
)

# Who is to be erased, and who was (see `Erasure`): `person` is the user's id, and in the end the pseudonym.
# `found` and `kept` are JSON.
person_erasures = Table(
    "person_erasures",
    metadata,
    Column("id", Text, primary_key=True, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("requested_by", Text, nullable=False),
    Column("requested_at", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("step", Text, nullable=False),
    Column("starts", NUMBER, nullable=False, server_default="0"),
    Column("found", Text),
    Column("kept", Text),
    Column("waits_for", Text),
    Column("finished_at", BigInteger),
)
Index("person_erasures_by_person", person_erasures.c.person, person_erasures.c.requested_at)
_unfinished = text("state != 'done'")
Index("person_erasures_open", person_erasures.c.requested_at, **where(_unfinished))
Index(
    "person_erasures_once",
    person_erasures.c.person,
    unique=True,
    **where(_unfinished),
)
# What was taken of a limit in one of its periods (see `Counter`).
limit_counters = Table(
    "limit_counters",
    metadata,
    Column("name", Text, primary_key=True, nullable=False),
    Column("began", BigInteger, primary_key=True, nullable=False),
    Column("ends", BigInteger, nullable=False),
    Column("used", BigInteger, nullable=False),
    Column("user_id", Text),
)
Index("limit_counters_by_end", limit_counters.c.ends)

# What a turn holds of it until it is settled: the turn's own row says what it used, once it is over.
limit_holds = Table(
    "limit_holds",
    metadata,
    Column("turn_id", Text, primary_key=True, nullable=False),
    Column("name", Text, primary_key=True, nullable=False),
    Column("began", BigInteger, nullable=False),
    Column("ends", BigInteger, nullable=False),
    Column("title", Text, nullable=False),
    Column("measure", Text, nullable=False),
    Column("most", BigInteger, nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("answer", BigInteger, nullable=False, server_default="0"),
    Column("user_id", Text),
)
Index("limit_holds_by_counter", limit_holds.c.name, limit_holds.c.began)

# What models were asked for on a user's behalf beside their turns' answers, by the day (in days since 1970,
# UTC). `cost` is in microdollars, of calls whose price is known; `unpriced` are the others.
side_calls = Table(
    "side_calls",
    metadata,
    Column("owner", Text, primary_key=True, nullable=False),
    Column("day", BigInteger, primary_key=True, nullable=False, autoincrement=False),
    Column("purpose", Text, primary_key=True, nullable=False),
    Column("model", Text, primary_key=True, nullable=False),
    Column("calls", NUMBER, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cost", BigInteger, nullable=False),
    Column("unpriced", NUMBER, nullable=False),
)

# Keys of the model's provider (see `ProviderKey`), encrypted, bound to their row; user_id '': the tenant's.
provider_keys = Table(
    "provider_keys",
    metadata,
    Column("tenant", Text, primary_key=True, nullable=False),
    Column("user_id", Text, primary_key=True, nullable=False),
    Column("secret", Text, nullable=False),
    Column("ending", Text, nullable=False),
    Column("set_at", BigInteger, nullable=False),
    Column("set_by", Text, nullable=False),
)

# Sign-ins of the gateway to MCP servers, as `server:NAME`; begun ones as `begun:DIGEST`, until they expire.
mcp_sign_ins = Table(
    "mcp_sign_ins",
    metadata,
    Column("id", Text, primary_key=True, nullable=False),
    Column("secret", Text, nullable=False),
    Column("expires_at", BigInteger),
)

# MCP servers that the operator has added (see `AddedMcpServer`). `settings` is JSON, encrypted where it can
# be.
mcp_servers = Table(
    "mcp_servers",
    metadata,
    Column("name", Text, primary_key=True, nullable=False),
    Column("settings", Text, nullable=False),
    Column("changed_by", Text, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
)

# Limits that the operator has set beside those of the settings, in the order in which they are asked.
limit_rules = Table(
    "limit_rules",
    metadata,
    Column("number", NUMBER, primary_key=True, nullable=False, autoincrement=False),
    Column("rule", Text, nullable=False),
    Column("changed_by", Text, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
)

# What the operator has written in place of files of the prompt (see `PromptVersion`): the newest of a
# component holds; without text its file does. Nothing is ever changed here.
prompt_versions = Table(
    "prompt_versions",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("component", Text, nullable=False),
    Column("text", Text),
    Column("digest", Text),
    Column("note", Text, nullable=False),
    Column("changed_by", Text, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
)
Index("prompt_versions_by_component", prompt_versions.c.component, prompt_versions.c.number)

# Links by which a session is read (see `SharedLink`), each known by the SHA-256 in hex of its secret.
# `until_seq` is the last event that is shown; NULL: all that there are.
shared_links = Table(
    "shared_links",
    metadata,
    Column("id", Text, primary_key=True, nullable=False),
    Column("digest", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("audience", Text, nullable=False),
    Column("until_seq", BigInteger),
    Column("branch", NUMBER),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("opened_at", BigInteger),
    Column("openings", BigInteger, nullable=False, server_default="0"),
)
Index("shared_links_by_owner", shared_links.c.owner, shared_links.c.created_at, shared_links.c.id)
Index("shared_links_by_digest", shared_links.c.digest, unique=True)
Index("shared_links_by_session", shared_links.c.session)

# Ids of the keys with which something may be encrypted, here or in the blobs, and since when.
encryption_keys = Table(
    "encryption_keys",
    metadata,
    Column("id", Text, primary_key=True, nullable=False),
    Column("since", BigInteger, nullable=False),
)
