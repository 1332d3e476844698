"""Sessions with their messages, in SQL."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import Connection, bindparam, delete, null, select, update

from gateway.errors import Conflict, SessionIdTaken
from gateway.ids import now_ms
from gateway.storage.archives.store import suspect_archives
from gateway.storage.busy_sessions import check_is_idle
from gateway.storage.database import Database, Prepared, SessionLock, query, reads, send, transaction, writes
from gateway.storage.holds import check_not_held
from gateway.storage.messages import PromptMemories
from gateway.storage.replica_signals import Signal
from gateway.storage.retention import SessionDays, set_session
from gateway.storage.row_codec import as_json
from gateway.storage.schema import sessions
from gateway.storage.sessions import FoundIn, Order, SessionRow, Sharing, Whose
from gateway.storage.sessions.memory_removal import forget, places_of
from gateway.storage.sessions.message_queries import ReadArchived
from gateway.storage.sessions.purges import Purges
from gateway.storage.sessions.search import Search
from gateway.storage.sessions.session_creation import add_session
from gateway.storage.sessions.session_list import newest, owners_in
from gateway.storage.sessions.session_row import ID, TAKEN, session_of
from gateway.storage.sessions.session_sizes import UNSIZED, count, give_back, size_of_all
from gateway.storage.sessions.sharing import share
from gateway.storage.sessions.transcripts import Transcripts
from gateway.storage.turns.instructions import OF_DIGEST, TEXT, begin_with

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


class Sessions(Transcripts):
    """Sessions with their messages and what their prompts keep. `archived` reads what was moved to archives,
    `search` finds them by words, `purges` removes the rows of those that are deleted."""

    get = reads(session_of, snapshot=False)
    size_of_all = reads(size_of_all, snapshot=False)
    count = writes(count, over=SessionLock)

    def __init__(self, database: Database, archived: ReadArchived, search: Search, purges: Purges) -> None:
        super().__init__(database, archived)
        self._search = search
        self._purges = purges

    @transaction
    def begin_generation(
        self, connection: Connection, session_id: str, after: int, *, instead_of: int
    ) -> None:
        """The prompt before the messages has changed: thinking up to position `after` is sent no more, and
        the prefix hash is forgotten. Nothing happens when the generation is no longer `instead_of`: a newer
        one began meanwhile."""
        BEGIN_GENERATION.run(connection, session_id=session_id, after=after, instead_of=instead_of)

    @query
    def carried(self, connection: Connection, session_id: str) -> str | None:
        """The summaries of former sessions in its prompt, if any."""
        return CARRIED.value(connection, session_id=session_id)

    @transaction
    def carry(self, connection: Connection, session_id: str, text: str) -> None:
        """Fixes the summaries of former sessions in its prompt, for as long as it lives: what was fixed first
        stays."""
        CARRY.run(connection, session_id=session_id, text=text)

    @query
    def instructions(self, connection: Connection, session_id: str, digest: str | None = None) -> str | None:
        """Those of the client application that are in force, if any, or those of that digest."""
        if digest is not None:
            return OF_DIGEST.value(connection, session_id=session_id, digest=digest)
        return TEXT.value(connection, session_id=session_id)

    @query
    def unsized(self, connection: Connection, most: int) -> list[str]:
        """Sessions that are not counted yet: versions before made them."""
        return [row[0] for row in UNSIZED.all(connection, most=most)]

    @transaction
    def set_prompt_memories(self, connection: Connection, session_id: str, memories: PromptMemories) -> None:
        """Fixes the memories in a session's prompt, until others are given."""
        stored = as_json(asdict(memories) | {"named": sorted(memories.named)})
        SET_PROMPT_MEMORIES.run(connection, session_id=session_id, memories=stored)

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
        """With `instructions` for its first turn. Raises errors.Conflict when the id is taken, by whomever;
        errors.SessionsFull: all sessions of the owner would count more than the `quota`."""
        row = SessionRow(session_id, owner, title, at, at, 0, project_id, role_id)
        row = replace(row, title_by="user" if title else None, is_temporary=is_temporary)
        words = await asyncio.to_thread(self._search.words, title) if title else None

        def work(connection: Connection) -> SessionRow:
            if TAKEN.one(connection, session_id=session_id) is not None:
                raise SessionIdTaken(session_id)
            add_session(connection, row, quota=quota)
            if instructions:
                begin_with(connection, session_id, instructions)
            if words is not None:
                self._search.put_title(connection, session_id, owner, words)
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
        """Changes a session for its owner, all of it or nothing; None: that stays. It is moved into another
        project ("": into none), where it is private, and then shared with the members, or with nobody. Where
        it is shared from now on, its prompt forgets the memories and summaries that it had from its owner.
        `retention` is in place of the days it had, `instructions` are those of its active branch from the
        next turn on ("": none).

        Raises:
            errors.NotFound: (session_not_found); (project_not_found) they may not write in that project.
            errors.Conflict: (session_in_no_project) to be shared, it has to be in a project;
                (session_is_temporary) a temporary one is shared with nobody.
            errors.TurnInProgress: a turn runs or waits, with what its owner alone may see.
        """
        values: dict[str, Any] = {"title": title, "title_by": "user"} if title is not None else {}
        for name, wanted in (("pinned_at", pinned), ("archived_at", archived)):
            if wanted is not None:
                values[name] = at if wanted else None
        words = await asyncio.to_thread(self._search.words, title) if title is not None else None

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
                self._search.put_title(connection, session_id, owner, words)
            return session_of(connection, session_id, owner)

        return await self.database.write(work, over=SessionLock(session_id))

    async def entitle(self, session_id: str, title: str, *, instead_of: str) -> bool:
        """Gives a session the title that a model made in place of the beginning of its first message. False,
        and nothing done, when it has another title by now, or the same from a person."""
        words = await asyncio.to_thread(self._search.words, title)

        def work(connection: Connection) -> bool:
            if not ENTITLE.run(connection, session_id=session_id, title=title, former=instead_of).rowcount:
                return False
            owner = OWNER_OF.value(connection, session_id=session_id)
            self._search.put_title(connection, session_id, owner, words)
            return True

        return await self.database.write(work)

    async def delete(
        self, session_id: str, owner: str, *, only_if: tuple[int, int | None] | None = None
    ) -> Sequence[str]:
        """Removes the session with all that belongs to it, also the artifacts that were made in it and that
        no other session uses. Nothing of it can be found from then on; the rows of a long one go in slices
        (see `Purges`), and its id may be created again after the last: until then that is refused with
        errors.Conflict (session_being_removed). Returns blobs that may be orphans since (see `Orphans`): of
        its archives all, of artifacts those of the first slice.

        Raises:
            errors.NotFound; errors.TurnInProgress while a turn is running or waiting; errors.Conflict:
            (legal_hold) it or its owner is held; (session_changed) `updated_at` and `delete_days` are not
            those of `only_if`.
        """

        def work(connection: Connection) -> Sequence[str]:
            session = session_of(connection, session_id, owner)
            check_not_held(connection, owner, session_id)
            if only_if is not None and (session.updated_at, session.delete_days) != only_if:
                raise Conflict(f"Session {session_id} was used or changed meanwhile.", code="session_changed")
            check_is_idle(connection, session_id, session.head, "cancel it first")
            archived = suspect_archives(connection, session_id, now_ms())
            give_back(connection, session_id, owner)
            REMOVE.run(connection, session_id=session_id)
            send(connection, Signal("gone", session_id))
            return [*archived, *self._purges.begin(connection, session_id).blobs]

        return await self.database.write(work, committed=self._purges.begun)

    async def forget_memory(self, owner: str, memory_id: str) -> None:
        """Removes a memory's text from the owner's sessions: from prompts that contain it, where its digest
        becomes void, and from the messages that record its recall. Events and archives stay as they are."""
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
        found_in: FoundIn | None = None,
        used: tuple[int | None, int | None] = (None, None),
    ) -> list[SessionRow]:
        """Those that `whose` names, with `temporary` also such; `whose` None: the owner's, and of a project
        all that they see. Newest first by the time that `order` names and the id, strictly before that pair.
        Only those that are `pinned`, or `archived`, or are not, unless that is None. With `query` only
        sessions that have all its words in one turn or in the title (with `found_in` in one of these alone):
        English and Chinese, in any inflection
        or script. One without words finds nothing; a turn is found a moment after its end (see
        `Search`). `used`: only those whose last turn was accepted or ended from the one time on (Unix
        milliseconds) and before the other."""

        def page(connection: Connection) -> list[SessionRow]:
            found = None
            if query is not None:
                found = self._search.found(owners_in(connection, owner, project_id, whose), query, found_in)
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
                used=used,
            )

        ask = self.database.read if query is None else self.database.search
        return await ask(page, snapshot=False)
