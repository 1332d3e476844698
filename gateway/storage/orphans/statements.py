"""Blobs that may be orphans, in SQL. `since` is below 0 once they are condemned."""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from sqlalchemy import Connection, bindparam, delete, func, insert, literal_column, select, union_all, update

from gateway.storage.database import Database, Prepared, Store, reads, writes
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
    for path in paths:
        resolve(connection, path)
        ADD.run(connection, path=path, at=at)


def candidates(connection: Connection, before: int, limit: int) -> Sequence[str]:
    return [path for (path,) in CANDIDATES.all(connection, before=before, limit=limit)]


def claim(connection: Connection, path: str) -> bool:
    """Part of the transaction that adds a row which names the path: False when it was no candidate, or is
    condemned."""
    return CLAIM.run(connection, path=path).rowcount == 1


def condemn(connection: Connection, path: str, at: int) -> bool:
    if connection.dialect.name == "postgresql" and not connection.exec_driver_sql(MAY_REMOVE).scalar():
        return False
    # In statements of their own: a claim at the same time is committed before the second.
    if LOCK.one(connection, path=path) is None:
        return False
    if NAMED.one(connection, path=path) is not None:
        resolve(connection, path)
        return False
    CONDEMN.run(connection, path=path, since=-max(at, 1))
    return True


def resolve(connection: Connection, path: str) -> None:
    REMOVE.run(connection, path=path)


class SqlOrphans(Store):
    """The `Orphans` protocol. `folder` is the data folder of a file, in which a backup is made known."""

    def __init__(self, database: Database, folder: Path | None = None) -> None:
        super().__init__(database)
        self._folder = folder

    def removing(self) -> AbstractContextManager[bool]:
        """On a server `condemn` asks."""
        return removing(self._folder)

    suspect = writes(suspect)
    candidates = reads(candidates, snapshot=False)
    condemn = writes(condemn)
    resolve = writes(resolve)
