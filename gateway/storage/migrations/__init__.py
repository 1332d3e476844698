"""How an older database becomes one of today: Alembic, run from inside the program."""

import sqlite3
from contextlib import closing
from pathlib import Path

from gateway.errors import StorageError
from gateway.storage.folder import FolderLock

HEAD = "0003"
"""The newest revision in versions/."""


def migrate(path: Path) -> tuple[str | None, str]:
    """Brings the SQLite file `path`, made if it is missing, to the newest revision. Returns the revision it
    had (None: it was new) and the one it has.

    Raises:
        StorageError: the folder is in use (data_locked), the file was written by a newer version
            (database_too_new), or it cannot be read.
    """
    with FolderLock(path.parent):
        return upgrade(path)


def upgrade(path: Path) -> tuple[str | None, str]:
    """`migrate` for whoever holds the folder already."""
    before = current_revision(path)
    if before != HEAD:
        from gateway.storage.migrations.run import run  # noqa: PLC0415 - Alembic takes half a second to import

        run(path, before)
    return before, HEAD


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
