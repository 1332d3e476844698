"""Which ranges of sessions were moved to blobs."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, select, union_all

from gateway.errors import Conflict
from gateway.storage import orphans
from gateway.storage.archives import ArchiveRow
from gateway.storage.archives.rows import ARCHIVES
from gateway.storage.busy_sessions import check_is_idle
from gateway.storage.database import Database, Prepared, Store, query
from gateway.storage.refusals import no_session
from gateway.storage.schema import heads, session_archives
from gateway.storage.sessions.purges import Purges

OF_SESSION = session_archives.c.session_id == bindparam("session_id")
AFTER = Prepared(
    select(*ARCHIVES.columns)
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
PATHS = Prepared(
    union_all(
        *(
            select(column).where(column.table.c.session_id == bindparam("session_id"))
            for column in orphans.ARCHIVED
        )
    )
)


def archives_after(connection: Connection, session_id: str, seq: int = -1) -> Sequence[ArchiveRow]:
    """A session's archives that hold events after `seq`, in order; all of them after -1."""
    return [ARCHIVES.read(row) for row in AFTER.all(connection, session_id=session_id, after=seq)]


def suspect_archives(connection: Connection, session_id: str, at: int) -> Sequence[str]:
    """Before the session is deleted: the blobs of its archives and versions, which may be orphans from
    then on."""
    paths = [path for (path,) in PATHS.all(connection, session_id=session_id)]
    orphans.suspect(connection, paths, at)
    return paths


def insert_archive(connection: Connection, row: ArchiveRow) -> None:
    """Adds the row alone, without a look at what the tables hold, its two blobs are no candidates any more.
    Raises errors.Conflict when there is none: they may have been removed."""
    ARCHIVES.add(connection, row)
    for path in (row.events_path, row.messages_path):
        if not orphans.claim(connection, path):
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
    # No row is missing before these: its writer has checked that. So every row that goes was read.
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


class Archives(Store):
    """Which ranges of sessions were moved to blobs. `purges` removes the rows of what is archived."""

    def __init__(self, database: Database, purges: Purges) -> None:
        super().__init__(database)
        self._purges = purges

    @query
    def list(self, connection: Connection, session_id: str) -> Sequence[ArchiveRow]:
        """All of a session's, in order."""
        return archives_after(connection, session_id)

    async def add(self, row: ArchiveRow) -> None:
        """Adds the range: from then on it is read from its archive, and its rows are removed (see `Purges`).

        Raises:
            errors.TurnInProgress: a turn is running or waiting.
            errors.Conflict: (code archive_conflict) the range is not exactly what the tables hold now, or
                its blobs are no candidates any more (see `Orphans`): writing them took so long that they were
                swept.
            errors.NotFound: the session is gone.
        """

        def work(connection: Connection) -> None:
            check_is_next(connection, row)
            insert_archive(connection, row)
            self._purges.begin(connection, row.session_id)

        await self.database.write(work, committed=self._purges.begun)
