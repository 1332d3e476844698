"""Messages and archives of a session as JSON in one row: written by the database, read here."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import orjson
from sqlalchemy import ColumnElement, ScalarSelect, Select, Text, and_, func, literal_column, select
from sqlalchemy import cast as sql_cast

from gateway.messages import Message, Usage
from gateway.storage.archives import ArchiveRow
from gateway.storage.messages import PromptMemories, StoredMessage
from gateway.storage.schema import compressions, messages, session_archives, sessions


def as_json(rows: Select[*tuple[Any, ...]], *, quoted: frozenset[str]) -> ScalarSelect[Any]:
    """All `rows` as JSON arrays with commas between; NULL when there are none. What is `quoted` holds ids,
    names, paths or digests, which need no escaping; other columns are numbers or JSON."""
    table = rows.subquery()
    parts: list[ColumnElement[Any]] = []
    for column in table.c:
        value, quote = sql_cast(column, Text), '"' if column.name in quoted else ""
        parts += [
            literal_column(f"'{',' if parts else '['}{quote}'", Text),
            value if quote else func.coalesce(value, literal_column("'null'", Text)),
            *([literal_column(f"'{quote}'", Text)] if quote else []),
        ]
    line = reduce(ColumnElement.concat, [*parts, literal_column("']'", Text)])
    comma: Any = literal_column("','", Text)
    return select(func.aggregate_strings(line, comma)).scalar_subquery()


MESSAGE_COLUMNS = [column for column in messages.c if column.name != "session_id"]


def rows_of(session_id: ColumnElement[str]) -> ColumnElement[bool]:
    """The messages of a session that no archive has: its rows are removed after it was added."""
    archived = (
        select(func.coalesce(func.max(session_archives.c.to_position), literal_column("0")))
        .where(session_archives.c.session_id == session_id)
        .correlate(sessions)
        .scalar_subquery()
    )
    return and_(messages.c.session_id == session_id, messages.c.position > archived)


def messages_where(session_id: ColumnElement[str], *conditions: ColumnElement[bool]) -> ScalarSelect[Any]:
    rows = select(*MESSAGE_COLUMNS).where(rows_of(session_id), *conditions).order_by(messages.c.position)
    return as_json(rows.correlate(sessions, compressions), quoted=frozenset({"turn_id", "role"}))


def archives_where(*conditions: ColumnElement[bool]) -> ScalarSelect[Any]:
    rows = select(*session_archives.c).where(*conditions).order_by(session_archives.c.number)
    names = frozenset({"session_id", "events_path", "events_sha256", "messages_path", "messages_sha256"})
    return as_json(rows.correlate(sessions, compressions), quoted=names)


def messages_of(lines: str | None) -> list[StoredMessage]:
    return [message_of(*fields) for fields in orjson.loads(f"[{lines}]")] if lines else []


def prompt_memories_of(stored: str | None) -> PromptMemories | None:
    if stored is None:
        return None
    fields = orjson.loads(stored)
    return PromptMemories(**fields | {"named": frozenset(fields["named"])})


def archives_of(lines: str | None) -> Sequence[ArchiveRow]:
    return [_archive(fields) for fields in orjson.loads(f"[{lines}]")] if lines else ()


def _archive(fields: Sequence[Any]) -> ArchiveRow:
    values = dict(zip((column.name for column in session_archives.c), fields, strict=True))
    for index in ("events_index", "messages_index"):
        values[index] = [(first, offset) for first, offset in values[index]]
    return ArchiveRow(**values)


def message_of(position: int, turn_id: str, role: Any, content: Any, usage: Any) -> StoredMessage:
    return StoredMessage(position, turn_id, Message(role, content), Usage(**usage) if usage else None)
