"""How an older database becomes one of today: Alembic, run from inside the program. There are two databases,
each with a chain of revisions of its own."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from gateway.errors import StorageError
from gateway.storage.folder import FolderLock, opening


class Chain(NamedTuple):
    """The revisions of one database: the folder they are in, beside this file, and the newest of them."""

    folder: str
    head: str
    baseline: str = ""
    """The revision of the tables that a new PostgreSQL database begins with, in baseline/FOLDER.sql."""
    table: str = "alembic_version"
    """Where a PostgreSQL database, which has the tables of both chains, keeps the revision."""


HEAD = "0011"
"""The newest revision of the sessions, in versions/."""
SESSIONS = Chain("versions", HEAD, "0009")

MOVING = "moving"
"""In place of a revision: the database is being filled from another one (storage/moving/)."""

MEMORY_HEAD = "0005"
"""The newest revision of the memories, in memory/."""
MEMORIES = Chain("memory", MEMORY_HEAD, "0005", "memory_version")


def migrate(path: Path) -> tuple[str | None, str]:
    """Brings the SQLite file `path` of the sessions, made if it is missing, to the newest revision. Returns
    the revision it had (None: it was new) and the one it has.

    Raises:
        StorageError: the folder is in use (data_locked), the file was written by a newer version
            (database_too_new), or it cannot be read.
    """
    with FolderLock(path.parent):
        return upgrade(path)


def migrate_memories(path: Path) -> tuple[str | None, str]:
    """The same for the file of the memories, which other processes may have open. Raises as well StorageError
    when another process takes too long to migrate it."""
    with opening(path):
        return upgrade(path, MEMORIES)


def upgrade(path: Path, chain: Chain = SESSIONS) -> tuple[str | None, str]:
    """`migrate` for whoever keeps other processes away from the file already."""
    before = current_revision(path)
    if before != chain.head:
        from gateway.storage.migrations.run import run  # noqa: PLC0415 - Alembic takes half a second to import

        run(path, before, chain)
    return before, chain.head


def too_new(name: str, revision: str) -> StorageError:
    """The refusal of a database with a revision that this version does not know."""
    if revision == MOVING:
        return StorageError(
            f"A move into {name} is not finished: call `gateway move` again as before.",
            code="move_unfinished",
            retryable=False,
        )
    return StorageError(
        f"The database {name} was written by a newer version of the gateway (revision {revision}): "
        "install that version, or restore a backup made before the upgrade.",
        code="database_too_new",
        retryable=False,
    )


def current_revision(path: Path) -> str | None:
    """The revision of the file; None when it is new.

    Raises:
        StorageError: it is not a database, or cannot be opened.
    """
    if not path.exists():
        path.touch(mode=0o600)
    try:
        with closing(sqlite3.connect(path)) as connection:
            known = connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'"
            ).fetchone()
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone() if known else None
    except sqlite3.Error as error:
        raise StorageError(f"The database {path} cannot be read: {error}.", retryable=False) from error
    return str(row[0]) if row else None
