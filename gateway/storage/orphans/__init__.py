"""Blobs that may be orphans: the artifact, the archive or the version of a session that names them was not
added yet, or is gone.

    suspect -> write the blob -> add its row, in whose transaction it is claimed
       └───── an hour later, or the row went ─────> condemn -> remove the blob -> resolve

A condemned blob cannot be claimed, and each blob has a path of its own: so no writer writes to a blob that is
being removed, and a crash leaves at most a candidate, which a sweep removes.
"""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from sqlalchemy import Connection, bindparam, delete, func, insert, literal_column, select, union_all, update

from gateway.storage.blobs import Blobs
from gateway.storage.database import Database, Prepared, Store, query, transaction
from gateway.storage.orphans.removal_hold import removing
from gateway.storage.schema import artifacts, compressions, doubtful_blobs, session_archives

_PATH = bindparam("path")
_OF_PATH = doubtful_blobs.c.path == _PATH
_SINCE = func.abs(doubtful_blobs.c.since)
ARCHIVED = (session_archives.c.events_path, session_archives.c.messages_path, compressions.c.archive_path)
"""Where archives and versions name their blobs."""

MAY_REMOVE = "SELECT pg_try_advisory_xact_lock_shared(hashtextextended('gateway backup', 19))"
"""Not while a backup has the lock (`LockClass.BACKUP`); a backup waits for who has it."""

ADD = Prepared(insert(doubtful_blobs).values(path=_PATH, since=bindparam("at")))
REMOVE = Prepared(delete(doubtful_blobs).where(_OF_PATH))
CLAIM = Prepared(delete(doubtful_blobs).where(_OF_PATH, doubtful_blobs.c.since >= literal_column("0")))
LOCK = Prepared(select(doubtful_blobs.c.path).where(_OF_PATH).with_for_update())
CONDEMN = Prepared(update(doubtful_blobs).where(_OF_PATH).values(since=bindparam("since")))
CANDIDATES = Prepared(
    select(doubtful_blobs.c.path)
    .where(bindparam("before") > _SINCE)
    .order_by(_SINCE, doubtful_blobs.c.path)
    .limit(bindparam("limit"))
)
NAMED = Prepared(
    union_all(*(select(column).where(column == _PATH) for column in (artifacts.c.path, *ARCHIVED))).limit(1)
)


def suspect(connection: Connection, paths: Collection[str], at: int) -> None:
    """Part of a transaction: these are candidates from `at` (Unix milliseconds) on, also those that were
    before: they are about to be written, or have lost a row."""
    for path in paths:
        REMOVE.run(connection, path=path)
        ADD.run(connection, path=path, at=at)


def claim(connection: Connection, path: str) -> bool:
    """Part of the transaction that adds a row which names the path: False when it was no candidate, or is
    condemned."""
    return CLAIM.run(connection, path=path).rowcount == 1


class Orphans(Store):
    """The candidates; `since` is below 0 in the row of one that is condemned. `folder` is the data folder of
    a file, in which a backup is made known. On a server `condemn` asks whether one is made."""

    def __init__(self, database: Database, folder: Path | None = None) -> None:
        super().__init__(database)
        self._folder = folder

    def removing(self) -> AbstractContextManager[bool]:
        """Whether blobs may be removed within: not while a backup is made."""
        return removing(self._folder)

    @transaction
    def suspect(self, connection: Connection, paths: Collection[str], at: int) -> None:
        """Makes candidates of these, as the function of that name."""
        suspect(connection, paths, at)

    @query
    def candidates(self, connection: Connection, before: int, limit: int) -> Sequence[str]:
        """Those since before that time, the oldest first."""
        return [path for (path,) in CANDIDATES.all(connection, before=before, limit=limit)]

    @transaction
    def condemn(self, connection: Connection, path: str, at: int) -> bool:
        """Whether the candidate is to be removed, as no artifact, archive or version names it: none will from
        then on, and it is a candidate since `at`. One that something names is a candidate no more. While a
        backup is made of a database on a server it stays what it is."""
        if connection.dialect.name == "postgresql" and not connection.exec_driver_sql(MAY_REMOVE).scalar():
            return False
        # In statements of their own: a claim at the same time is committed before the second.
        if LOCK.one(connection, path=path) is None:
            return False
        if NAMED.one(connection, path=path) is not None:
            REMOVE.run(connection, path=path)
            return False
        CONDEMN.run(connection, path=path, since=-max(at, 1))
        return True

    @transaction
    def resolve(self, connection: Connection, path: str) -> None:
        """The blob was removed: it is no candidate any more."""
        REMOVE.run(connection, path=path)

    async def remove(self, blobs: Blobs, path: str, at: int) -> bool:
        """Removes the blob of a candidate unless something names it; whether it was removed. Raises
        errors.StorageError: it stays a candidate."""
        with self.removing() as may_remove:
            if not may_remove or not await self.condemn(path, at):
                return False
            await blobs.delete(path)
            await self.resolve(path)
            return True
