"""SQLite's errors in our words."""

import sqlite3

from sqlalchemy.exc import DBAPIError

from gateway.errors import StorageError

# The disk is full (SQLITE_FULL is ENOSPC), or a quota or file size limit is reached (a write error).
FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
# Failures of the database, not of the statement: whatever else the transaction holds is in doubt too.
BROKEN = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_READONLY,
}


def code_of(error: BaseException) -> int:
    """SQLite's extended result code, 0 when the error is none of SQLite's."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlite_errorcode", 0)


def is_broken(error: BaseException) -> bool:
    """Whether the database failed, rather than the statement being wrong."""
    return code_of(error) & 0xFF in BROKEN  # the low byte is the primary code


def storage_error(error: BaseException) -> StorageError:
    """A new StorageError that tells what `error` told."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if code_of(error) in FULL:
        return StorageError(f"The disk of the database is full ({cause}).", code="storage_full")
    return StorageError(f"The database failed ({cause}).")
