"""What was moved to blobs: which ranges of a session, and reading them."""

import asyncio
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import orjson
from sqlalchemy import Connection, bindparam, func, insert, select, union_all

from gateway.errors import ArchiveDamaged, BlobMissing, Conflict
from gateway.events.envelope import StoredEvent
from gateway.storage.archive_lines import event_of, message_of, read_lines
from gateway.storage.artifact_ends import SETTLE, doubt
from gateway.storage.base import StoredMessage
from gateway.storage.blobs import Blobs
from gateway.storage.busy import BUSY, check_is_idle
from gateway.storage.database import Database, Prepared
from gateway.storage.heads import OF_SESSION as OF_HEAD
from gateway.storage.purges import SqlPurges
from gateway.storage.records import ArchiveRow
from gateway.storage.refusals import no_session
from gateway.storage.schema import compressions, heads, session_archives, sessions
from gateway.storage.segments import damaged, members

OF_SESSION = session_archives.c.session_id == bindparam("session_id")
ARCHIVES = Prepared(
    select(*session_archives.c)
    .where(OF_SESSION, session_archives.c.to_seq > bindparam("after"))
    .order_by(session_archives.c.number)
)
LAST_ARCHIVE = Prepared(
    select(session_archives.c.number, session_archives.c.to_seq, session_archives.c.to_position)
    .where(OF_SESSION)
    .order_by(session_archives.c.number.desc())
    .limit(1)
)
ENDS = Prepared(
    select(heads.c.head, heads.c.position)
    .where(heads.c.session_id == bindparam("session_id"))
    .with_for_update()
)
_PATHS = (session_archives.c.events_path, session_archives.c.messages_path, compressions.c.archive_path)
NAMED = Prepared(
    union_all(*(select(column).where(column == bindparam("path")) for column in _PATHS)).limit(1)
)
"""Whether a blob is of an archive or of a version."""
PATHS = Prepared(
    union_all(
        *(select(column).where(column.table.c.session_id == bindparam("session_id")) for column in _PATHS)
    )
)


class ArchiveReader:
    """Reads what archives hold. Raises errors.ArchiveDamaged when one is missing or not what was written,
    errors.StorageError when the blob store cannot do its work."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def events(
        self,
        row: ArchiveRow,
        *,
        after: int,
        limit: int,
        until: int | None = None,
        types: Sequence[str] = (),
    ) -> list[StoredEvent]:
        """Events of `row` with seq > `after` (and <= `until`), in order, at most `limit`, only of `types` if
        given. Fewer come when a member of the archive ends; none only when it has no more."""
        last = row.to_seq if until is None else min(until, row.to_seq)
        path = row.events_path
        for member in members(row.events_index, row.to_seq, after + 1, last):
            data = await self._bytes(path, member.offset, member.size)
            found = await asyncio.to_thread(
                read_lines, path, member, data, event_of, first=after + 1, last=last
            )
            if types:
                found = [event for event in found if event.type in types]
            if found:
                return found[:limit]
        return []

    async def messages(
        self, row: ArchiveRow, *, after: int = 0, until: int | None = None
    ) -> list[StoredMessage]:
        """Messages of `row` with position > `after` (and <= `until`), in order."""
        last = row.to_position if until is None else min(until, row.to_position)
        path = row.messages_path
        found: list[StoredMessage] = []
        for member in members(row.messages_index, row.to_position, after + 1, last):
            data = await self._bytes(path, member.offset, member.size)
            found += await asyncio.to_thread(
                read_lines, path, member, data, message_of, first=after + 1, last=last
            )
        return found

    async def _bytes(self, path: str, start: int, length: int | None) -> bytes:
        try:
            return await self._blobs.read(path, start=start, length=length)
        except BlobMissing:
            raise damaged(path, "there is no such blob") from None


class ReadArchivedEvents(Protocol):
    """Reads events out of an archive: see `ArchiveReader.events`."""

    async def __call__(
        self, row: ArchiveRow, *, after: int, limit: int, until: int, types: Sequence[str]
    ) -> list[StoredEvent]: ...


async def no_archives(
    row: ArchiveRow, *, after: int, limit: int, until: int, types: Sequence[str]
) -> list[StoredEvent]:
    """Of a log that was opened without a blob store."""
    raise ArchiveDamaged(f"The archive {row.events_path} cannot be read without a blob store.")


class SqlArchives:
    """The `Archives` protocol, for the one process that has the database. `purges` removes the rows of what
    is archived."""

    def __init__(self, database: Database, purges: SqlPurges) -> None:
        self._database = database
        self._purges = purges
        self._moving: set[str] = set()

    @contextmanager
    def moving(self, session_id: str) -> Generator[None]:
        """See `Archives.moving`."""
        if session_id in self._moving:
            raise Conflict(f"Session {session_id} is being archived already.", code="archive_conflict")
        self._moving.add(session_id)
        try:
            yield
        finally:
            self._moving.discard(session_id)

    async def list(self, session_id: str) -> Sequence[ArchiveRow]:
        """See `Archives.list`."""
        return await self._database.read(
            lambda connection: archives_after(connection, session_id, -1), snapshot=False
        )

    async def add(self, row: ArchiveRow) -> None:
        """See `Archives.add`."""
        await self._database.write(
            lambda connection: add_archive(connection, row, self._purges), committed=self._purges.begun
        )

    async def begin(self, paths: Collection[str], at: int) -> None:
        """See `Archives.begin`."""
        await self._database.write(
            lambda connection: [doubt(connection, path, at) for path in paths] and None
        )

    async def named(self, path: str) -> bool:
        """See `Archives.named`."""
        row = await self._database.read(lambda connection: NAMED.one(connection, path=path), snapshot=False)
        return row is not None

    async def settle(self, path: str) -> None:
        """See `Archives.settle`."""
        await self._database.write(lambda connection: SETTLE.run(connection, path=path) and None)

    async def due(self, *, idle_before: int, limit: int) -> Sequence[tuple[str, str]]:
        """See `Archives.due`. The longest idle ones first."""
        archived = (
            select(func.max(session_archives.c.to_seq))
            .where(session_archives.c.session_id == sessions.c.id)
            .scalar_subquery()
        )
        statement = (
            select(sessions.c.id, sessions.c.owner)
            .join_from(sessions, heads, OF_HEAD)
            .where(sessions.c.updated_at < idle_before, heads.c.head > func.coalesce(archived, 0), ~BUSY)
            .order_by(sessions.c.updated_at, sessions.c.id)
            .limit(limit)
        )

        def page(connection: Connection) -> list[tuple[str, str]]:
            return [(session_id, owner) for session_id, owner in connection.execute(statement)]

        return await self._database.read(page, snapshot=False)


def archives_after(connection: Connection, session_id: str, seq: int) -> list[ArchiveRow]:
    """A session's archives that hold events after `seq`, in order; all of them after -1."""
    rows = ARCHIVES.run(connection, session_id=session_id, after=seq).fetchall()
    return [archive_of(*row) for row in rows]


def archive_of(*row: Any) -> ArchiveRow:
    """From the columns of the table, in their order."""
    fields = dict(zip((column.name for column in session_archives.c), row, strict=True))
    for index in ("events_index", "messages_index"):
        fields[index] = [(key, offset) for key, offset in orjson.loads(fields[index])]
    return ArchiveRow(**fields)


def add_archive(connection: Connection, row: ArchiveRow, purges: SqlPurges) -> None:
    check_is_next(connection, row)
    insert_archive(connection, row)
    purges.begin(connection, row.session_id)


def doubt_archives(connection: Connection, session_id: str, at: int) -> Sequence[str]:
    """Before the session is deleted: the blobs of its archives and versions, which are in doubt from then
    on."""
    paths = [path for (path,) in PATHS.run(connection, session_id=session_id).fetchall()]
    for path in paths:
        doubt(connection, path, at)
    return paths


def insert_archive(connection: Connection, row: ArchiveRow) -> None:
    """Adds the row alone, without a look at what the tables hold, and ends the doubt about its two blobs.
    Raises errors.Conflict when there is none: they may have been removed."""
    columns = {column.name: getattr(row, column.name) for column in session_archives.c}
    for index in ("events_index", "messages_index"):
        columns[index] = orjson.dumps(columns[index]).decode()
    connection.execute(insert(session_archives).values(columns))
    for path in (row.events_path, row.messages_path):
        if SETTLE.run(connection, path=path).rowcount == 0:
            raise _conflict(row, "its blobs took too long to be written")


def check_is_next(connection: Connection, row: ArchiveRow) -> None:
    """Raises what `Archives.add` raises unless `row` continues the session's archives up to its head."""
    ends = ENDS.one(connection, session_id=row.session_id)
    if ends is None:
        raise no_session(row.session_id)
    check_is_idle(connection, row.session_id, ends[0], "archive it later")
    number, seq, position = LAST_ARCHIVE.one(connection, session_id=row.session_id) or (0, 0, 0)
    if (row.number, row.from_seq, row.from_position) != (number + 1, seq + 1, position + 1):
        raise _conflict(row, "another archive was added meanwhile")
    # There is no gap before these: whoever wrote the archive saw to that. So no row goes that was not read.
    if ends != (row.to_seq, row.to_position):
        raise _conflict(
            row,
            f"its last event and message are {ends}, moved were those up to {row.to_seq}, {row.to_position}",
        )


def _conflict(row: ArchiveRow, why: str) -> Conflict:
    return Conflict(
        f"Session {row.session_id} changed while it was archived: {why}. Nothing was moved.",
        code="archive_conflict",
    )
