"""Migrations of older databases: Alembic, run from inside the program. There are two databases,
each with a chain of revisions of its own.

Versions of the gateway work side by side while one takes the place of another. So a revision declares which
versions may still work on what it leaves (`compatible_from` in its file), and the database keeps that beside
the revision:

    revision of the schema < that of the code    `gateway migrate` brings it there
    compatible_from <= that of the code < it     this version works, and logs that there is a newer one
    that of the code < compatible_from           refused
"""

import logging
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Self

from gateway import __version__
from gateway.errors import StorageError
from gateway.storage.data_folder_lock import FolderLock, opening
from gateway.storage.sqlite_files.file_watch import check_before_opening


class Chain(NamedTuple):
    """The revisions of one database: the folder they are in, beside this file, and the newest of them."""

    folder: str
    head: str
    baseline: str = ""
    """The revision of the tables that a new PostgreSQL database begins with, in baseline/FOLDER.sql."""
    table: str = "alembic_version"
    """Where a PostgreSQL database, which has the tables of both chains, keeps the revision."""
    holds: str = "sessions"
    file: str = "gateway.db"
    """Its SQLite file in a data folder and in a backup."""


HEAD = "0042"
"""The newest revision of the sessions, in versions/."""
SESSIONS = Chain("versions", HEAD, "0009")

MOVING = "moving"
"""In place of a revision: the database is being filled from another one (storage/moving/)."""

MEMORY_HEAD = "0009"
"""The newest revision of the memories, in memory/."""
MEMORIES = Chain("memory", MEMORY_HEAD, "0005", "memory_version", "memories", "memory.db")

CHAINS = {each.file: each for each in (SESSIONS, MEMORIES)}

log = logging.getLogger(__name__)


class Schema(NamedTuple):
    """What a database has of a chain: its `revision` (None: no tables yet), the oldest revision whose
    versions may work on it, and the version of the gateway that brought it there. Before there was this rule
    only the first is known."""

    revision: str | None
    compatible_from: str | None = None
    written_by: str | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """From the row of the version table, with the columns that it has."""
        return cls(row["version_num"], row.get("compatible_from"), row.get("written_by"))

    def is_newer(self, chain: Chain, name: str) -> bool:
        """Whether it is newer than this version, which may work on it. Raises StorageError: it is newer, and
        this version may not (code database_too_new), or a move into the database `name` is not finished."""
        if self.revision is None or self.revision <= chain.head:
            return False
        if self.revision == MOVING or self.compatible_from is None or self.compatible_from > chain.head:
            raise too_new(name, self, chain)
        return True


def migrate(path: Path, *, copy: bool = True) -> tuple[str | None, str]:
    """Brings the SQLite file `path` of the sessions, made if it is missing, to the newest revision; with
    `copy` it is copied before. Returns the revision it had (None: it was new) and the one it has.

    Raises:
        StorageError: the folder is in use (data_locked), the file was written by a newer version
            (database_too_new), or it cannot be read.
    """
    with FolderLock.of_file(path):
        return upgrade(path, copy=copy)


def migrate_memories(path: Path, *, copy: bool = True) -> tuple[str | None, str]:
    """The same for the file of the memories, which other processes may have open. Raises as well StorageError
    when another process takes too long to migrate it."""
    with opening(path):
        return upgrade(path, MEMORIES, copy=copy)


def upgrade(path: Path, chain: Chain = SESSIONS, *, copy: bool = True) -> tuple[str | None, str]:
    """`migrate` for callers that keep other processes away from the file already."""
    found = schema_of(path)
    if found.revision is not None and found.is_newer(chain, str(path)):
        log_newer(str(path), {chain.holds: found.revision})
        return found.revision, found.revision
    if found.revision is not None and found.revision != chain.head:
        _announce(path, found.revision, chain, copy=copy)
    if found.revision != chain.head:
        from gateway.storage.migrations.run import run  # noqa: PLC0415 - Alembic takes half a second to import

        run(path, chain)
    if found.revision is not None and found.revision != chain.head:
        since = schema_of(path).compatible_from or chain.head
        log.warning(
            "migrated %s %s -> %s; versions before %s refuse it from now on",
            *(path, found.revision, chain.head, since),
        )
    return found.revision, chain.head


def _announce(path: Path, revision: str, chain: Chain, *, copy: bool) -> None:
    """Before a migration: the log has it, and a copy is made."""
    megabytes = path.stat().st_size // 1_000_000
    log.warning(
        "migrating %s %s -> %s (%d MB): nothing is served meanwhile, and there is no way back",
        *(path, revision, chain.head, megabytes),
    )
    if copy:
        from gateway.storage.migrations.copy_first import copy_first  # noqa: PLC0415 - as run below

        copy_first(path, revision, chain.head)


def log_newer(name: str, newer: Mapping[str, str]) -> None:
    """A line in the log, of what is newer in a database than in this version: revisions by what they hold."""
    held = ", ".join(f"{holds} {revision}" for holds, revision in newer.items())
    log.warning(
        "%s has the schema of a newer version (%s): this one works on it until it is replaced", name, held
    )


def too_new(name: str, found: Schema, chain: Chain) -> StorageError:
    """The refusal of a database on which this version must not work."""
    if found.revision == MOVING:
        return StorageError(
            f"A move into {name} is not finished: call `gateway move` again as before.",
            code="move_unfinished",
            retryable=False,
        )
    by = f"version {found.written_by}" if found.written_by else "a newer version"
    needed = found.compatible_from or found.revision
    return StorageError(
        f"The database {name} was written by {by} of the gateway (revision {found.revision} of "
        f"{chain.holds}). This one, version {__version__} (revision {chain.head}), cannot use it: install "
        f"that version, or any other with revision {needed} or newer, or restore a backup that was made "
        "before the upgrade.",
        code="database_too_new",
        retryable=False,
    )


def schema_of(path: Path, *, immutable: bool = False) -> Schema:
    """What the file has; one that is missing is made. One that nobody uses may be read as `immutable`, with
    nothing beside it.

    Raises:
        StorageError: it is not a database, or cannot be opened; the log beside it is another file's (code
            database_replaced), or it is gone and its log is there (database_missing).
    """
    if not immutable:
        check_before_opening(path)
    if not path.exists():
        path.touch(mode=0o600)
    try:
        uri = f"{path.resolve().as_uri()}{'?immutable=1' if immutable else ''}"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            known = connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'"
            ).fetchone()
            row = connection.execute("SELECT * FROM alembic_version").fetchone() if known else None
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        is_damaged = code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
        raise StorageError(
            f"The database {path} cannot be read: {error}.",
            code="storage_damaged" if is_damaged else None,
            retryable=False,
        ) from error
    return Schema.of(dict(row)) if row else Schema(None)
