"""The messages of sessions, read from tables and archives."""

from collections.abc import AsyncGenerator, Sequence
from typing import cast

from sqlalchemy import Connection

from gateway.errors import ArchiveDamaged
from gateway.storage.branches import Branch
from gateway.storage.branches.branch_positions import branch_of
from gateway.storage.database import Database, Store, reads
from gateway.storage.messages import History, StoredMessage
from gateway.storage.refusals import no_session
from gateway.storage.sessions import Outline
from gateway.storage.sessions.message_queries import (
    LAST,
    ReadArchived,
    outline_in,
    outline_of,
    range_of,
    view_of,
)
from gateway.storage.sessions.session_row import is_there, session_of
from gateway.storage.turns.rows import open_turn_of

MAX_PAGE, PAGE_SIZE = 16, 131_072
"""Messages of one page of a history, and characters from which on the next page has fewer."""


class Transcripts(Store):
    """The messages of sessions, and the model's view of them. `archived` reads what was moved to archives."""

    branch = reads(branch_of)
    _is_there = reads(is_there, snapshot=False)

    def __init__(self, database: Database, archived: ReadArchived) -> None:
        super().__init__(database)
        self._archived = archived

    async def messages(
        self, session_id: str, *, after: int = 0, until: int | None = None, branch: Branch | None = None
    ) -> Sequence[StoredMessage]:
        """All messages in order, those with position > `after` (and <= `until`), archived ones too; of a
        `branch` its own. Nothing ever changes or removes one while the session is there;
        none of a session that is gone.

        Raises:
            errors.ArchiveDamaged: an archive that holds some of them is missing or not what was written.
        """
        if branch is not None:
            ranges = branch.within(after, LAST if until is None else until)
            parts = [await self.messages(session_id, after=first, until=last) for first, last in ranges]
            return [stored for part in parts for stored in part]
        found = await self.database.read(
            lambda connection: range_of(connection, session_id, after, until), snapshot=False
        )
        try:
            return await found.read(self._archived)
        except ArchiveDamaged:
            if not await self._is_there(session_id):
                return []
            raise

    async def history(self, session_id: str, *, whole: bool = False) -> History:
        """What the model's view of the session is made of; with `whole`, as if nothing were compressed.
        It is empty when there is no such session. Raises errors.ArchiveDamaged."""
        view = await self.database.read(
            lambda connection: view_of(connection, session_id, whole=whole), snapshot=False
        )
        try:
            return await view.read(self._archived)
        except ArchiveDamaged:
            if not await self._is_there(session_id):
                return History([])
            raise

    async def outline(
        self, session_id: str, owner: str, *, whole: bool = False, branch: int | None = None
    ) -> Outline:
        """The session, its running turn and what its history is made of, in that branch or (None) the active
        one, all as of one moment. Raises errors.NotFound (session_not_found, branch_not_found)."""

        def work(connection: Connection) -> Outline:
            session = session_of(connection, session_id, owner)
            if branch is not None and branch != session.active_branch:
                return outline_in(connection, session, branch, whole=whole)
            return outline_of(connection, session, open_turn_of(connection, session_id), whole=whole)

        return await self.database.read(work)

    async def pages(self, outline: Outline) -> AsyncGenerator[Sequence[StoredMessage]]:
        """The messages of its history, in order, a few at a time: however long it is, a page is about as
        large as the largest message.

        Raises:
            errors.NotFound: the session was deleted meanwhile.
            errors.ArchiveDamaged.
        """
        count, session_id = 1, outline.session.id
        for after, until in outline.ranges:
            at = after
            while at < until:
                to = min(at + count, until)
                page = await self.messages(session_id, after=at, until=to)
                if len(page) < to - at and not await self._is_there(session_id):
                    raise no_session(session_id)
                yield page
                at, size = to, sum(size_of(item.message.content) for item in page)
                count = min(count * 2, MAX_PAGE) if size <= PAGE_SIZE else max(count // 2, 1)


def size_of(value: object) -> int:
    """The characters of all texts in a content, about."""
    match value:
        case str():
            return len(value)
        case list():
            return sum(map(size_of, cast("list[object]", value)))
        case dict():
            return sum(map(size_of, cast("dict[str, object]", value).values()))
        case _:
            return 1
