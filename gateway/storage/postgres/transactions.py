"""How a transaction begins, ends and is tried again."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

import psycopg
from psycopg import pq, sql

from gateway.errors import StorageError
from gateway.storage.database import Lock, SessionLock
from gateway.storage.postgres.advisory_locks import LockClass
from gateway.storage.postgres.connections import ConnectionPool, Raw
from gateway.storage.postgres.failures import DEADLOCK, SERIALIZATION, UNIQUE, is_lost, state_of

T = TypeVar("T")

ATTEMPTS = {SERIALIZATION: 6, DEADLOCK: 6, UNIQUE: 3}
"""How often a transaction is tried that others were in the way of: after a unique violation it reads what
they added, and is refused for that reason, or does without."""
LOST_ATTEMPTS = 3
"""How often one is tried whose connection was lost."""
REFUSED = 1.0
"""Seconds after which no other connection is tried: a server that is away is told of soon."""
PAUSE = 0.02
"""Seconds before the second attempt at most, more before each further one."""
UNKNOWN = 15.0
"""Seconds for which is asked what became of a commit whose connection was lost."""

_BEGIN = sql.SQL("BEGIN; SELECT pg_current_xact_id()::text")
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# A head is locked as its updates lock it.
_LOCK_SESSION = sql.SQL("; SELECT FROM heads WHERE session_id = {} FOR NO KEY UPDATE")
_LOCK_OWNER = sql.SQL("; SELECT pg_advisory_xact_lock(hashtextextended({}, {}))")
_STATUS = "SELECT pg_xact_status(%s::xid8)"


def repeated(attempt: Callable[[bool], T]) -> T:
    """What `attempt` returns, at last. It is told whether the connection of the attempt before was lost."""
    began, lost, number = time.monotonic(), False, 0
    while True:
        number += 1
        try:
            return attempt(lost)
        except Exception as error:
            refused = isinstance(error, StorageError) and error.code == StorageError.code
            lost = is_lost(error) or refused
            if number >= (LOST_ATTEMPTS if lost else ATTEMPTS.get(state_of(error), 1)):
                raise
            if refused and time.monotonic() - began > REFUSED:
                raise
        time.sleep(random.uniform(0, PAUSE * number))  # noqa: S311 - no secret


def begin(raw: Raw, over: Lock | None = None) -> str:
    """Begins, locks `over` in a statement of its own, all in one round trip, and returns the transaction's
    number."""
    text = _BEGIN
    if isinstance(over, SessionLock):
        text += _LOCK_SESSION.format(over.id)
    elif over is not None:
        for name in sorted({over.name, *over.others}):
            text += _LOCK_OWNER.format(name, LockClass.OWNER.value)
    cursor = raw.execute(text, prepare=False)  # several statements
    cursor.nextset()
    row = cursor.fetchone()
    assert row is not None
    return row[0]


def begin_snapshot(raw: Raw) -> None:
    """Begins a transaction whose statements all see the same moment."""
    raw.execute(_SNAPSHOT)


def commit(raw: Raw) -> None:
    """Commits. Raises psycopg.Error when it could not be done, or the connection was lost meanwhile."""
    if raw.execute("COMMIT").statusmessage != "COMMIT":
        raise StorageError("A statement failed, and the transaction went on: it was undone.", retryable=False)


def roll_back(raw: Raw) -> None:
    """Ends a transaction that is not to be committed; the connection is closed if that is the only way."""
    try:
        if not raw.closed and raw.info.transaction_status != pq.TransactionStatus.IDLE:
            raw.execute("ROLLBACK")
    except psycopg.Error:
        raw.close()


def was_committed(links: ConnectionPool, number: str) -> bool:
    """What became of a transaction whose connection was lost in the commit: the server may be at it still.

    Raises:
        StorageError: it is not to be had for UNKNOWN seconds (code outcome_unknown).
    """
    until = time.monotonic() + UNKNOWN
    while True:
        try:
            with links.taken(anew=True) as link:
                row = link.raw.execute(_STATUS, (number,)).fetchone()
            if row != ("in progress",):
                return row == ("committed",)
        except (StorageError, psycopg.Error) as error:
            if time.monotonic() > until:
                raise StorageError(
                    "The connection to the database was lost in a commit, and it has been away since.",
                    code="outcome_unknown",
                ) from error
        time.sleep(0.1)
