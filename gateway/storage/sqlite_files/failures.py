"""SQLite's errors in our words."""

import logging
import sqlite3

from sqlalchemy.exc import DBAPIError

from gateway.errors import StorageError
from gateway.storage.database import raised_by_work
from gateway.storage.sqlite_files.file_watch import FileWatch

# The disk is full (SQLITE_FULL is ENOSPC), or a quota or file size limit is reached (a write error).
FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
# Failures of one statement: it changed nothing, and the transaction that it is part of goes on. After any
# other failure all other changes of the transaction are in doubt too. 0: text that is no UTF-8.
STATEMENT = {0, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG}

log = logging.getLogger(__name__)


def code_of(error: BaseException) -> int:
    """SQLite's extended result code, 0 when the error is none of SQLite's."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlite_errorcode", 0)


def is_failure(error: BaseException) -> bool:
    """Whether it is SQLite that failed, rather than its caller: what breaks a constraint, or uses the driver
    wrongly, is the caller's."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    ours = sqlite3.IntegrityError | sqlite3.ProgrammingError
    return isinstance(cause, sqlite3.DatabaseError) and not isinstance(cause, ours)


def is_broken(error: BaseException) -> bool:
    """Whether the database failed, rather than one statement."""
    return is_failure(error) and code_of(error) & 0xFF not in STATEMENT  # the low byte is the primary code


def for_caller(error: BaseException, watch: FileWatch) -> BaseException:
    """The exception for the caller of a transaction's work that raised: a failure of SQLite in our words,
    anything else as `raised_by_work` has it. `watch` hears of damage."""
    if not is_failure(error):
        return raised_by_work(error)
    note_damage(error, watch)
    if not is_broken(error):
        log.error("a statement failed", exc_info=error)  # a mistake of ours in all likelihood
    failure = storage_error(error, watch)
    failure.__cause__ = error
    return failure


def note_damage(error: BaseException, watch: FileWatch) -> None:
    """Has the watch over the file know that it is damaged, if that is what failed."""
    if is_damage(error):
        watch.met_damage(str(error.orig if isinstance(error, DBAPIError) else error))


def is_damage(error: BaseException) -> bool:
    """Whether pages of the file are not what SQLite wrote, or it is no database at all."""
    return is_failure(error) and code_of(error) & 0xFF in DAMAGED


def storage_error(error: BaseException, watch: FileWatch | None = None) -> StorageError:
    """A new StorageError with the message of `error`. With the `watch` over its file a disk that has become
    read-only is told from a full one, for which SQLite has the same code."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = code_of(error)
    if code & 0xFF == sqlite3.SQLITE_READONLY or (code in FULL and watch is not None and watch.is_read_only):
        return StorageError(f"The disk of the database is read-only ({cause}).", code="storage_read_only")
    if code in FULL:
        return StorageError(f"The disk of the database is full ({cause}).", code="storage_full")
    if is_damage(error):
        return StorageError(f"The database is damaged ({cause}).", code="storage_damaged", retryable=False)
    return StorageError(f"The database failed ({cause}).")
