"""Conversations and what was said in them, in SQL."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import orjson
from sqlalchemy import (
    ColumnElement,
    Connection,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)

from gateway.errors import Conflict, NotFound, TurnInProgress
from gateway.messages import Message, Usage
from gateway.storage.base import Bus, SessionRow, StoredMessage, TurnRow
from gateway.storage.database import Database, Prepared
from gateway.storage.schema import events, messages, sessions, turns
from gateway.storage.turns import open_turn_of

COLUMNS = (
    sessions.c.id,
    sessions.c.owner,
    sessions.c.title,
    sessions.c.created_at,
    sessions.c.updated_at,
    sessions.c.head,
)
OWN = and_(sessions.c.id == bindparam("session_id"), sessions.c.owner == bindparam("owner"))

SESSION = Prepared(select(*COLUMNS).where(OWN))
TAKEN = Prepared(select(sessions.c.id).where(sessions.c.id == bindparam("session_id")))
RENAME = Prepared(update(sessions).where(OWN).values(title=bindparam("title")))
OPEN = Prepared(
    select(turns.c.id)
    .where(turns.c.session_id == bindparam("session_id"), turns.c.status != "done")
    .order_by(turns.c.number)
    .limit(1)
)

# One row holds the whole history: a reader's thread has to win the interpreter lock back after every row,
# which takes milliseconds when the event loop is busy. Ids and roles need no escaping, the rest is JSON.
_ordered = (
    select(messages)
    .where(messages.c.session_id == bindparam("session_id"))
    .order_by(messages.c.position)
    .subquery()
)
_fields = (
    literal_column("'['", Text),
    cast(_ordered.c.position, Text),
    literal_column("""',"'""", Text),
    _ordered.c.turn_id,
    literal_column("""'","'""", Text),
    _ordered.c.role,
    literal_column("""'",'""", Text),
    _ordered.c.content,
    literal_column("','", Text),
    func.coalesce(_ordered.c.usage, literal_column("'null'", Text)),
    literal_column("']'", Text),
)
_comma: Any = literal_column("','", Text)
HISTORY = Prepared(select(func.aggregate_strings(reduce(ColumnElement.concat, _fields), _comma)))


class SqlSessions:
    """The `Sessions` protocol. `bus` forgets a session when it is deleted: its id may be used again."""

    def __init__(self, database: Database, bus: Bus) -> None:
        self._database = database
        self._bus = bus

    async def create(self, session_id: str, owner: str, title: str | None, at: int) -> SessionRow:
        """See `Sessions.create`."""
        row = SessionRow(session_id, owner, title, at, at, 0)
        await self._database.write(lambda connection: create_session(connection, row))
        return row

    async def get(self, session_id: str, owner: str) -> SessionRow:
        """See `Sessions.get`."""
        return await self._database.read(
            lambda connection: session_of(connection, session_id, owner), snapshot=False
        )

    async def list(
        self, owner: str, *, limit: int, before: tuple[int, str] | None = None, query: str | None = None
    ) -> list[SessionRow]:
        """See `Sessions.list`. `query` does not tell upper from lower case in ASCII."""
        place = (sessions.c.updated_at, sessions.c.id)
        statement = (
            select(*COLUMNS)
            .where(sessions.c.owner == owner)
            .order_by(*(column.desc() for column in place))
            .limit(limit)
        )
        if before is not None:
            statement = statement.where(tuple_(*place) < before)
        if query is not None:
            said = exists().where(
                turns.c.session_id == sessions.c.id, turns.c.input.icontains(query, autoescape=True)
            )
            statement = statement.where(or_(sessions.c.title.icontains(query, autoescape=True), said))

        def page(connection: Connection) -> list[SessionRow]:
            return [SessionRow(*row) for row in connection.execute(statement)]

        return await self._database.read(page, snapshot=False)

    async def rename(self, session_id: str, owner: str, title: str) -> SessionRow:
        """See `Sessions.rename`."""

        def work(connection: Connection) -> SessionRow:
            RENAME.run(connection, session_id=session_id, owner=owner, title=title)
            return session_of(connection, session_id, owner)

        return await self._database.write(work)

    async def delete(self, session_id: str, owner: str) -> None:
        """See `Sessions.delete`."""
        await self._database.write(
            lambda connection: delete_session(connection, session_id, owner),
            committed=lambda: self._bus.forget(session_id),
        )

    async def messages(self, session_id: str) -> Sequence[StoredMessage]:
        """See `Sessions.messages`."""
        return await self._database.read(
            lambda connection: history_of(connection, session_id), snapshot=False
        )

    async def snapshot(
        self, session_id: str, owner: str
    ) -> tuple[SessionRow, TurnRow | None, Sequence[StoredMessage]]:
        """See `Sessions.snapshot`."""
        return await self._database.read(
            lambda connection: (
                session_of(connection, session_id, owner),
                open_turn_of(connection, session_id),
                history_of(connection, session_id),
            )
        )


def session_of(connection: Connection, session_id: str, owner: str) -> SessionRow:
    row = SESSION.one(connection, session_id=session_id, owner=owner)
    if row is None:
        raise NotFound(f"There is no session {session_id}.", code="session_not_found")
    return SessionRow(*row)


def create_session(connection: Connection, row: SessionRow) -> None:
    if TAKEN.one(connection, session_id=row.id) is not None:
        raise Conflict(f"The session id {row.id} is taken.")
    connection.execute(
        insert(sessions).values(
            id=row.id,
            owner=row.owner,
            title=row.title,
            created_at=row.created_at,
            updated_at=row.updated_at,
            head=row.head,
        )
    )


def delete_session(connection: Connection, session_id: str, owner: str) -> None:
    session = session_of(connection, session_id, owner)
    busy = OPEN.one(connection, session_id=session_id)
    if busy is not None:
        raise TurnInProgress(
            f"Turn {busy[0]} of session {session_id} is not over: cancel it first.",
            details={"turn_id": busy[0], "seq": session.head},
        )
    for table in (events, messages, turns):
        connection.execute(delete(table).where(table.c.session_id == session_id))
    connection.execute(delete(sessions).where(sessions.c.id == session_id))


def history_of(connection: Connection, session_id: str) -> list[StoredMessage]:
    row = HISTORY.one(connection, session_id=session_id)
    if row is None or row[0] is None:
        return []
    return [_message(*fields) for fields in orjson.loads(f"[{row[0]}]")]


def _message(position: int, turn_id: str, role: Any, content: Any, usage: Any) -> StoredMessage:
    return StoredMessage(position, turn_id, Message(role, content), Usage(**usage) if usage else None)
