"""How a transaction begins, ends and is tried again."""

import random
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import psycopg
from psycopg import pq, sql

from gateway.errors import StorageError
from gateway.storage.database import Lock, SessionLock
from gateway.storage.postgres.advisory_locks import LockClass
from gateway.storage.postgres.connections import LIMITS, ConnectionPool, Raw
from gateway.storage.postgres.failures import DEADLOCK, SERIALIZATION, UNIQUE, is_lost, state_of

T = TypeVar("T")

ATTEMPTS = {SERIALIZATION: 6, DEADLOCK: 6, UNIQUE: 3}
"""How often a transaction is tried that others were in the way of: after a unique violation it reads what
they added, and is refused for that reason, or does without."""
LOST_ATTEMPTS = 3
"""How often one is tried whose connection was lost."""
REFUSED = 1.0
"""Seconds after which no other connection is tried: a server that is away is reported soon."""
PAUSE = 0.02
"""Seconds before the second attempt at most, more before each further one."""
UNKNOWN = 15.0
"""Seconds for which is asked what became of a commit whose connection was lost."""

_TIMELINE = "left(pg_walfile_name(pg_current_wal_lsn()), 8)"
_BEGIN = sql.SQL(f"BEGIN; SELECT pg_current_xact_id()::text, now()::text, {_TIMELINE}")
_SNAPSHOT = sql.SQL("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
# A pooler's connection belongs to one transaction, and so do its limits.
_LIMITED = sql.SQL("").join(
    sql.SQL("; SET LOCAL {} = {}").format(sql.Identifier(name), limit) for name, limit in LIMITS.items()
)
# A head is locked as its updates lock it.
_LOCK_SESSION = sql.SQL("; SELECT FROM heads WHERE session_id = {} FOR NO KEY UPDATE")
_LOCK_OWNER = sql.SQL("; SELECT pg_advisory_xact_lock(hashtextextended({}, {}))")
# After a crash, or when another server takes the place of one, numbers of what is gone are given once more.
# The only trace of a crash is in the server's statistics, which begin anew.
_STATUS = f"""
    WITH asked AS MATERIALIZED (SELECT %s::xid8 AS number, {_TIMELINE} = %s AND %s::timestamptz > greatest(
        pg_postmaster_start_time(), (SELECT stats_reset FROM pg_stat_bgwriter)) AS is_same)
    SELECT is_same, CASE WHEN is_same OR number < pg_snapshot_xmax(pg_current_snapshot())
        THEN pg_xact_status(number) END FROM asked
"""  # noqa: S608 - no value in it


class ServerTransaction(NamedTuple):
    """A transaction: its number, and when and on which timeline of the server it began."""

    number: str
    at: str
    timeline: str


def repeated(attempt: Callable[[bool], T]) -> T:
    """What `attempt` returns at last. Its argument is whether the connection of the attempt before was
    lost."""
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


def begin(raw: Raw, over: Lock | None = None, *, pooled: bool = False) -> ServerTransaction:
    """Begins, and locks `over` in a statement of its own, all in one round trip."""
    text = _BEGIN + _LIMITED if pooled else _BEGIN
    if isinstance(over, SessionLock):
        text += _LOCK_SESSION.format(over.session_id)
    elif over is not None:
        for name in sorted({over.name, *over.others}):
            text += _LOCK_OWNER.format(name, LockClass.OWNER.value)
    cursor = raw.execute(text, prepare=False)  # several statements
    cursor.nextset()
    row = cursor.fetchone()
    assert row is not None
    return ServerTransaction(*row)


def begin_snapshot(raw: Raw, *, pooled: bool = False, seconds: float | None = None) -> None:
    """Begins a transaction whose statements all see the same moment, and take so many `seconds` at most."""
    text = _SNAPSHOT + _LIMITED if pooled else _SNAPSHOT
    if seconds is not None:
        text += sql.SQL("; SET LOCAL statement_timeout = {}").format(round(seconds * 1000))
    raw.execute(text, prepare=None if seconds is None else False)  # several statements


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


def was_committed(links: ConnectionPool, begun: ServerTransaction) -> bool:
    """What became of a transaction whose connection was lost in the commit: the server may be at it still.

    Raises:
        StorageError: it cannot be known, or not within UNKNOWN seconds (code outcome_unknown).
    """
    until, cause = time.monotonic() + UNKNOWN, None
    while time.monotonic() < until:
        try:
            with links.taken(anew=True) as link:
                row = link.raw.execute(_STATUS, (begun.number, begun.timeline, begun.at)).fetchone()
        except (StorageError, psycopg.Error) as error:
            cause = error
        else:
            match row:
                case (True, "in progress"):
                    pass
                case (True, "committed" | "aborted" as status):
                    return status == "committed"
                case (False, "aborted" | "in progress" | None):
                    return False  # a commit that had been kept would be known
                case _:
                    break
        time.sleep(0.1)
    raise StorageError(
        "The connection to the database was lost in a commit, and nobody knows what became of it.",
        code="outcome_unknown",
    ) from cause
