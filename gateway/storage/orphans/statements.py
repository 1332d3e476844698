"""Blobs that may be orphans, in SQL."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select, union_all

from gateway.storage.database import Prepared, Store, reads, writes
from gateway.storage.schema import artifacts, compressions, doubtful_blobs, session_archives

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
