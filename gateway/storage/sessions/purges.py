"""Rows that are no longer visible, removed in slices: one transaction that removed a long session would hold
up all commits for seconds.

    delete a session:  its row goes, a purge begins  -> slice -> slice -> ... -> over: the id is free
    archive it:        the archive's row is there, a purge begins -> slice -> ...

The first slice is part of the transaction in which the purge begins, so a short session needs no other.
What a process that ended has left is found by the next one.
"""

import asyncio
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Connection, Table, bindparam, delete, func, insert, or_, select, tuple_

from gateway.errors import Conflict
from gateway.ids import now_ms
from gateway.storage.artifacts.removal import drop_artifacts
from gateway.storage.database import Database, Prepared
from gateway.storage.schema import (
    artifacts,
    event_packs,
    loose_events,
    messages,
    metadata,
    purges,
    session_archives,
    sessions,
    shared_links,
    turns,
)
from gateway.storage.sessions import Slice
from gateway.storage.turns.usage import keep_used

BATCH = 100
"""Rows that one statement removes."""
ARTIFACTS_BATCH = 10
"""Artifacts that are removed between two looks at the clock: each takes about as long as ten rows."""
PACKS_BATCH = 4
"""Packs of events that one statement removes: each may be on a hundred pages."""
SLICE_TIME = 0.003
"""Seconds after which a slice ends: what others commit waits no longer than that, and its commit."""
MIN_FIRST = 8
"""Full batches that the first slice removes however long they take: so a short session needs no other, on any
machine."""


class IndexedWords(Protocol):
    """The words of sessions by which they are found."""

    def remove(self, connection: Connection, session_id: str, most: int) -> int:
        """Removes at most `most` turns' words of a session; how many that were. Fewer: nothing is left."""
        ...


class Removal:
    """Removes at most a batch of a session's rows."""

    def __init__(self, table: Table, *where: ColumnElement[bool]) -> None:
        self._batch = PACKS_BATCH if table is event_packs else BATCH
        of_session = table.c.session_id == bindparam("session_id")
        # Not every engine gives a loose event a number.
        ids = [table.c.seq] if table is loose_events else table.primary_key
        key = [column for column in ids if column.name != "session_id"]
        statement = delete(table).where(of_session)
        if key:
            chosen = select(*key).where(of_session, *where).order_by(*key).limit(self._batch)
            column: ColumnElement[Any] = key[0] if len(key) == 1 else tuple_(*key)
            statement = statement.where(column.in_(chosen))
        self._statement = Prepared(statement)

    def run(self, connection: Connection, session_id: str) -> bool:
        """Whether the batch was full: there may be more."""
        return self._statement.run(connection, session_id=session_id).rowcount == self._batch


class TurnRemoval(Removal):
    """What they used counts on."""

    def run(self, connection: Connection, session_id: str) -> bool:
        keep_used(connection, session_id, self._batch)
        return super().run(connection, session_id)


def _archived(column: ColumnElement[int]) -> ColumnElement[int]:
    """How far a session was archived."""
    found = select(func.max(column)).where(session_archives.c.session_id == bindparam("session_id"))
    return found.scalar_subquery()


_LONG = (messages, loose_events, event_packs)
_SHORT = [
    table
    for table in metadata.sorted_tables
    if "session_id" in table.c and table not in {turns, *_LONG, artifacts, purges}
]
REMOVE_SHORT = [Removal(table) for table in _SHORT]
REMOVE_LONG = [TurnRemoval(turns), *(Removal(table) for table in _LONG)]
REMOVE_ARCHIVED = [
    Removal(messages, messages.c.position <= _archived(session_archives.c.to_position)),
    Removal(loose_events, loose_events.c.seq <= _archived(session_archives.c.to_seq)),
    Removal(event_packs, event_packs.c.last_seq <= _archived(session_archives.c.to_seq)),
]

_LATER = [
    table
    for table in _SHORT
    if table.name in {"branches", "active_ranges", "instructions", "client_tools", "client_calls"}
]
"""Tables of revision 0013 and later. On PostgreSQL a version that does not know them, and ran when they were
made, leaves its deleted sessions' rows in them."""
REMOVE_LEFT = [Removal(table) for table in _LATER]

_ID = bindparam("session_id")
_OF_SESSION = purges.c.session_id == _ID
BEGIN = Prepared(insert(purges).values(session_id=bindparam("session_id"), since=bindparam("at")))
END = Prepared(delete(purges).where(_OF_SESSION))
REMAINS = Prepared(
    select(
        select(purges).where(_OF_SESSION).exists(),
        or_(*(select(table).where(table.c.session_id == _ID).exists() for table in _LATER)),
    )
)
NEXT = Prepared(select(purges.c.session_id).order_by(purges.c.since, purges.c.session_id).limit(1))
END_LINKS = Prepared(delete(shared_links).where(shared_links.c.session == _ID))
IS_THERE = Prepared(select(sessions.c.id).where(sessions.c.id == bindparam("session_id")))


class Purges:
    """The removal, in slices, of rows that are no longer visible: those of sessions that were deleted, and
    those of events and messages that an archive has. One per process: `begun` is called for each purge that
    begins."""

    def __init__(self, database: Database, index: IndexedWords) -> None:
        self._database = database
        self._index = index
        self._begun = asyncio.Event()

    def begin(self, connection: Connection, session_id: str) -> Slice:
        """Begins a purge and removes its first slice, as a part of a transaction."""
        END.run(connection, session_id=session_id)
        BEGIN.run(connection, session_id=session_id, at=now_ms())
        return purge(connection, session_id, self._index, least=MIN_FIRST)

    def begun(self) -> None:
        """A transaction in which a purge began is durable."""
        self._begun.set()

    async def awaited(self) -> None:
        """Returns once a purge has begun in this process since the last time."""
        await self._begun.wait()
        self._begun.clear()

    async def next_slice(self) -> Slice | None:
        """Removes a slice of the purge that began first; None when there is none."""
        row = await self._database.read(NEXT.one, snapshot=False)
        if row is None:
            return None
        return await self._database.write(lambda connection: purge(connection, row[0], self._index))


def purge(connection: Connection, session_id: str, index: IndexedWords, *, least: int = 1) -> Slice:
    """Removes a slice, of `least` full batches at least, as a part of a transaction."""
    began, blobs = perf_counter(), list[str]()
    for count, _ in enumerate(_batches(connection, session_id, index, blobs), 1):
        if count >= least and perf_counter() - began >= SLICE_TIME:
            return Slice(is_last=False, blobs=blobs)
    END.run(connection, session_id=session_id)
    return Slice(is_last=True, blobs=blobs)


def free_id(connection: Connection, session_id: str) -> None:
    """Before a session is made: removes what a version that did not know it has left of one with that id.
    Raises errors.Conflict (session_being_removed) while a deleted one of that id is being removed."""
    found = REMAINS.one(connection, session_id=session_id)
    assert found is not None
    is_going, is_left = found
    if is_going:
        raise Conflict(
            f"A session {session_id} was deleted just now and is still being removed: take another id, or "
            "try again in a moment.",
            code="session_being_removed",
            retryable=True,
        )
    if is_left:
        for _ in _emptied(connection, session_id, REMOVE_LEFT):
            pass


def _batches(
    connection: Connection, session_id: str, index: IndexedWords, blobs: list[str]
) -> Iterator[None]:
    """Removes everything that the purge is about and yields after each full batch. What other lists may show
    goes first."""
    if IS_THERE.one(connection, session_id=session_id) is not None:
        yield from _emptied(connection, session_id, REMOVE_ARCHIVED)
        return
    END_LINKS.run(connection, session_id=session_id)
    yield from _emptied(connection, session_id, REMOVE_SHORT)
    while True:
        count, candidates = drop_artifacts(connection, session_id, ARTIFACTS_BATCH, now_ms())
        blobs += candidates
        if count < ARTIFACTS_BATCH:
            break
        yield
    while index.remove(connection, session_id, BATCH) == BATCH:
        yield
    yield from _emptied(connection, session_id, REMOVE_LONG)


def _emptied(connection: Connection, session_id: str, removals: Sequence[Removal]) -> Iterator[None]:
    for removal in removals:
        while removal.run(connection, session_id):
            yield
