"""Sessions with their messages, in SQL."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

from sqlalchemy import Connection, Select, bindparam, delete, null, select, update

from gateway.errors import Conflict, SessionIdTaken
from gateway.ids import now_ms
from gateway.storage.archives.statements import suspect_archives
from gateway.storage.busy_sessions import check_is_idle
from gateway.storage.database import Database, Prepared, SessionLock, reads, send, writes
from gateway.storage.holds import check_not_held
from gateway.storage.messages import PromptMemories
from gateway.storage.projects import Sharing
from gateway.storage.projects.sharing import share
from gateway.storage.replica_signals import Signal
from gateway.storage.retention import SessionDays, set_session
from gateway.storage.row_codec import as_json
from gateway.storage.schema import sessions
from gateway.storage.sessions import Order, SessionRow, Whose
from gateway.storage.sessions.memory_removal import forget, places_of
from gateway.storage.sessions.message_queries import ReadArchived
from gateway.storage.sessions.purges import SqlPurges
from gateway.storage.sessions.session_creation import add_session
from gateway.storage.sessions.session_list import newest, owners_in
from gateway.storage.sessions.session_row import ID, TAKEN, session_of
from gateway.storage.sessions.session_sizes import count, give_back, size_of_all, unsized
from gateway.storage.sessions.transcripts import SqlTranscripts
from gateway.storage.turns.instructions import begin_with, text_of

REMOVE = Prepared(delete(sessions).where(ID))
ENTITLE = Prepared(
    update(sessions)
    .where(ID, sessions.c.title == bindparam("former"), sessions.c.title_by.is_(None))
    .values(title=bindparam("title"), title_by="model")
)
OWNER_OF = Prepared(select(sessions.c.owner).where(ID))

BEGIN_GENERATION = Prepared(
    update(sessions)
    .where(ID, sessions.c.generation_from == bindparam("instead_of"))
    .values(generation_from=bindparam("after"), prefix_hash=null())
)
SET_PROMPT_MEMORIES = Prepared(update(sessions).where(ID).values(told_memories=bindparam("memories")))
CARRIED = Prepared(select(sessions.c.carried).where(ID))
CARRY = Prepared(update(sessions).where(ID, sessions.c.carried.is_(None)).values(carried=bindparam("text")))


class TextIndex(Protocol):
    """Finds sessions by their words. The methods that take a connection are part of a transaction."""

    def found(self, owners: Sequence[str], query: str) -> Select[tuple[str]] | None:
        """The ids of the owners' sessions that have all words of `query` in one turn or in their title; None
        when it has no words. Takes milliseconds: not for the event loop."""
        ...

    def words(self, title: str) -> set[str]:
        """What `put_title` needs. Takes milliseconds: not for the event loop."""
        ...

    def put_title(self, connection: Connection, session_id: str, owner: str, words: Iterable[str]) -> None:
        """Puts the words of a title in place of those of the former one."""
        ...


def create_session(connection: Connection, row: SessionRow, quota: int | None = None) -> None:
    if TAKEN.one(connection, session_id=row.id) is not None:
        raise SessionIdTaken(row.id)
    add_session(connection, row, quota=quota)


def delete_session(
    connection: Connection,
    session_id: str,
    owner: str,
    purges: SqlPurges,
    only_if: tuple[int, int | None] | None = None,
) -> Sequence[str]:
    """Removes the session itself: nothing of it can be found any more. Returns blobs that may be orphans
    since: of its archives all, of its artifacts the first."""
    session = session_of(connection, session_id, owner)
    check_not_held(connection, owner, session_id)
    if only_if is not None and (session.updated_at, session.delete_days) != only_if:
        raise Conflict(f"Session {session_id} was used or changed meanwhile.", code="session_changed")
    check_is_idle(connection, session_id, session.head, "cancel it first")
    archived = suspect_archives(connection, session_id, now_ms())
    give_back(connection, session_id, owner)
    REMOVE.run(connection, session_id=session_id)
    send(connection, Signal("gone", session_id))
    return [*archived, *purges.begin(connection, session_id).blobs]


def begin_generation(connection: Connection, session_id: str, after: int, *, instead_of: int) -> None:
    BEGIN_GENERATION.run(connection, session_id=session_id, after=after, instead_of=instead_of)


def set_prompt_memories(connection: Connection, session_id: str, memories: PromptMemories) -> None:
    stored = as_json(asdict(memories) | {"named": sorted(memories.named)})
    SET_PROMPT_MEMORIES.run(connection, session_id=session_id, memories=stored)


def carried(connection: Connection, session_id: str) -> str | None:
    return CARRIED.value(connection, session_id=session_id)


def carry(connection: Connection, session_id: str, text: str) -> None:
    """What was fixed first stays."""
    CARRY.run(connection, session_id=session_id, text=text)


class SqlSessions(SqlTranscripts):
    """The `Sessions` protocol. `archived` reads what was moved to archives, `index` is what `list` searches,
    `purges` removes the rows of those that are deleted."""

    get = reads(session_of, snapshot=False)
    begin_generation = writes(begin_generation)
    carried = reads(carried, snapshot=False)
    carry = writes(carry)
    instructions = reads(text_of, snapshot=False)
    size_of_all = reads(size_of_all, snapshot=False)
    unsized = reads(unsized, snapshot=False)
    count = writes(count, over=SessionLock)
    set_prompt_memories = writes(set_prompt_memories)

    def __init__(
        self, database: Database, archived: ReadArchived, index: TextIndex, purges: SqlPurges
    ) -> None:
        super().__init__(database, archived)
        self._index = index
        self._purges = purges

    async def create(
        self,
        session_id: str,
        owner: str,
        title: str | None,
        at: int,
        *,
        project_id: str | None = None,
        role_id: str | None = None,
        instructions: str | None = None,
        is_temporary: bool = False,
        quota: int | None = None,
    ) -> SessionRow:
        """Creates a session and indexes its title. Raises errors.Conflict when the id is taken,
        errors.SessionsFull beyond the `quota`."""
        row = SessionRow(session_id, owner, title, at, at, 0, project_id, role_id)
        row = replace(row, title_by="user" if title else None, is_temporary=is_temporary)
        words = await asyncio.to_thread(self._index.words, title) if title else None

        def work(connection: Connection) -> SessionRow:
            create_session(connection, row, quota)
            if instructions:
                begin_with(connection, session_id, instructions)
            if words is not None:
                self._index.put_title(connection, session_id, owner, words)
            return row

        return await self.database.write(work)

    async def change(
        self,
        session_id: str,
        owner: str,
        at: int,
        *,
        title: str | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
        project_id: str | None = None,
        shared: Sharing | None = None,
        retention: SessionDays | None = None,
        instructions: str | None = None,
    ) -> SessionRow:
        """Changes what is not None and returns the session as it is then. Raises as the protocol says."""
        values: dict[str, Any] = {"title": title, "title_by": "user"} if title is not None else {}
        for name, wanted in (("pinned_at", pinned), ("archived_at", archived)):
            if wanted is not None:
                values[name] = at if wanted else None
        words = await asyncio.to_thread(self._index.words, title) if title is not None else None

        def work(connection: Connection) -> SessionRow:
            former = session_of(connection, session_id, owner).title
            if title is not None and former not in {None, title}:
                check_not_held(connection, owner, session_id)  # it stands nowhere else
            if project_id is not None or shared is not None:
                share(connection, session_id, owner, project_id=project_id, shared=shared)
            if retention is not None:
                set_session(connection, session_id, owner, retention)
            if instructions is not None:
                begin_with(connection, session_id, instructions)
            if values:
                connection.execute(update(sessions).where(sessions.c.id == session_id).values(values))
            if words is not None:
                self._index.put_title(connection, session_id, owner, words)
            return session_of(connection, session_id, owner)

        return await self.database.write(work, over=SessionLock(session_id))

    async def entitle(self, session_id: str, title: str, *, instead_of: str) -> bool:
        """Replaces the title made of the first message, `instead_of`; False when it has another one by
        now."""
        words = await asyncio.to_thread(self._index.words, title)

        def work(connection: Connection) -> bool:
            if not ENTITLE.run(connection, session_id=session_id, title=title, former=instead_of).rowcount:
                return False
            owner = OWNER_OF.value(connection, session_id=session_id)
            self._index.put_title(connection, session_id, owner, words)
            return True

        return await self.database.write(work)

    async def delete(
        self, session_id: str, owner: str, *, only_if: tuple[int, int | None] | None = None
    ) -> Sequence[str]:
        """Removes the session, its rows in slices afterwards; returns blobs that may be orphans. Raises
        errors.NotFound, errors.TurnInProgress and errors.Conflict."""
        return await self.database.write(
            lambda connection: delete_session(connection, session_id, owner, self._purges, only_if),
            committed=self._purges.begun,
        )

    async def forget_memory(self, owner: str, memory_id: str) -> None:
        """Removes the memory's text from prompts and recall records of the owner's sessions."""
        places = await self.database.read(lambda connection: places_of(connection, owner, memory_id))
        if any(places):
            await self.database.write(lambda connection: forget(connection, memory_id, places))

    async def list(
        self,
        owner: str,
        *,
        limit: int,
        before: tuple[int, str] | None = None,
        query: str | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
        order: Order = "updated",
        project_id: str | None = None,
        temporary: bool = False,
        whose: Whose | None = None,
    ) -> list[SessionRow]:
        """The owner's sessions, or also those of others that `whose` names, newest first, at most `limit`,
        strictly before the pair `before`; with `query` those that have all its words in one turn or in the
        title."""

        def page(connection: Connection) -> list[SessionRow]:
            found = None
            if query is not None:
                found = self._index.found(owners_in(connection, owner, project_id, whose), query)
                if found is None:
                    return []
            return newest(
                connection,
                owner,
                found,
                limit=limit,
                before=before,
                order=order,
                pinned=pinned,
                archived=archived,
                project_id=project_id,
                temporary=temporary,
                whose=whose,
            )

        ask = self.database.read if query is None else self.database.search
        return await ask(page, snapshot=False)
