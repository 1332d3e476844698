"""PostgreSQL's errors in our words."""

import logging

import psycopg
from sqlalchemy.exc import DBAPIError

from gateway.errors import StorageError, TextRefused
from gateway.storage.database import raised_by_work

SERIALIZATION, DEADLOCK, UNIQUE = "40001", "40P01", "23505"
# postgresql.org/docs/current/errcodes-appendix.html; two characters are a class.
FULL = "53100"
READ_ONLY = "25006"
TOO_LONG = "57014"
BUSY = ("53300", "55P03", TOO_LONG)
"""Too many connections, a lock that was not to be had in time, a statement that took too long."""
NO_TEXT = ("22021", "22P05")
"""Characters that no text has there, NUL above all. The driver itself refuses it too, without a state."""
QUOTING = ("22", "23")
"""Data that is refused, and constraints: these messages quote what was to be stored."""

log = logging.getLogger(__name__)


def cause_of(error: BaseException) -> BaseException:
    """What the driver raised."""
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


def state_of(error: BaseException) -> str:
    """The SQLSTATE; empty without an answer of the server, as when the connection is lost."""
    return getattr(cause_of(error), "sqlstate", None) or ""


def is_failure(error: BaseException) -> bool:
    """Whether it is the database that failed: what breaks a constraint is the caller's."""
    cause = cause_of(error)
    return isinstance(cause, psycopg.Error) and not isinstance(cause, psycopg.IntegrityError)


def is_lost(error: BaseException) -> bool:
    """Whether there is no connection any more, or none could be made."""
    cause = cause_of(error)
    state = state_of(error)
    gone = isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError) and not state
    return gone or state[:2] == "08" or state[:4] == "57P0"


def for_caller(error: BaseException) -> BaseException:
    """The exception for the caller of a transaction's work that raised: a failure of the database in our
    words, anything else as `raised_by_work` has it."""
    if not is_failure(error):
        return raised_by_work(error)
    failure = storage_error(error)
    if not (is_lost(error) or state_of(error) in (*BUSY, FULL, READ_ONLY, SERIALIZATION, DEADLOCK, *NO_TEXT)):
        # A mistake of ours in all likelihood, so where it was; `error` itself may quote rows.
        log.error("a statement failed", exc_info=failure.with_traceback(error.__traceback__))
    failure.__cause__ = error
    return failure


def storage_error(error: BaseException) -> StorageError:
    """A new StorageError with the server's error as its cause."""
    if isinstance(error, StorageError):
        kind = TextRefused if isinstance(error, TextRefused) else StorageError
        return kind(error.message, code=error.code, retryable=error.retryable, cause=error.cause)
    state, cause = state_of(error), words_of(error)
    if state in NO_TEXT or (isinstance(cause_of(error), psycopg.DataError) and not state):
        return TextRefused("A text has NUL characters, which are kept nowhere.", cause=cause)
    if state == FULL:
        return StorageError("The disk of the database is full.", code="storage_full", cause=cause)
    if state == READ_ONLY:
        return StorageError("The database takes no writes now.", code="storage_read_only", cause=cause)
    return StorageError("The database failed.", cause=cause)


def words_of(error: BaseException) -> str:
    """The server's message without the values that were to be stored: the first line of its message (DETAIL
    and CONTEXT come after it), or where that may quote it too, the kind of failure."""
    cause, state = cause_of(error), state_of(error)
    if state[:2] not in QUOTING:
        return str(cause).strip().partition("\n")[0]
    constraint = cause.diag.constraint_name if isinstance(cause, psycopg.Error) else None
    return " ".join(filter(None, (state, type(cause).__name__, constraint)))
