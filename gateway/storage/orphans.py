"""Blobs that may be orphans: the artifact, the archive or the version of a session that names them was not
added yet, or is gone. Whoever writes a blob makes it a candidate before; whoever adds the row that names it
ends that in the same transaction. So a crash leaves at most a candidate, which a sweep removes."""

from collections.abc import Collection, Sequence
from typing import Protocol

from sqlalchemy import Connection, bindparam, delete, insert, select, union_all

from gateway.storage.database import Prepared, Store, reads, writes
from gateway.storage.schema import artifacts, compressions, doubtful_blobs, session_archives


class Orphans(Protocol):
    """The blobs that may be orphans. All methods raise `errors.StorageError` when the database cannot do its
    work, and nothing half-done is left behind."""

    async def suspect(self, paths: Collection[str], at: int) -> None:
        """These are candidates from `at` on, also those that were before: they are about to be written, or
        could not be removed."""
        ...

    async def candidates(self, before: int, limit: int) -> Sequence[str]:
        """Those since before that time, the oldest first."""
        ...

    async def is_needed(self, path: str) -> bool:
        """Whether an artifact, an archive or a version names it, one that is just being added too."""
        ...

    async def resolve(self, path: str) -> bool:
        """It is no candidate any more: something names it, or it was removed. Whether it was one."""
        ...


_PATH = bindparam("path")
ARCHIVED = (session_archives.c.events_path, session_archives.c.messages_path, compressions.c.archive_path)
"""Where archives and versions name their blobs."""

ADD = Prepared(insert(doubtful_blobs).values(path=_PATH, since=bindparam("at")))
REMOVE = Prepared(delete(doubtful_blobs).where(doubtful_blobs.c.path == _PATH))
CANDIDATES = Prepared(
    select(doubtful_blobs.c.path)
    .where(doubtful_blobs.c.since < bindparam("before"))
    .order_by(doubtful_blobs.c.since, doubtful_blobs.c.path)
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


def is_needed(connection: Connection, path: str) -> bool:
    return NAMED.one(connection, path=path) is not None


def resolve(connection: Connection, path: str) -> bool:
    return REMOVE.run(connection, path=path).rowcount == 1


class SqlOrphans(Store):
    """The `Orphans` protocol."""

    suspect = writes(suspect)
    candidates = reads(candidates, snapshot=False)
    is_needed = writes(is_needed)  # by the writer: what is on its way there is there first
    resolve = writes(resolve)
