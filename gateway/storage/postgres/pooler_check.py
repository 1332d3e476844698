"""Does a pooler answer where the server itself should?

One such as PgBouncer in transaction mode hands a connection of the server's on after each transaction. What a
gateway needs for longer is lost with it, and nobody is told: notifications never come, locks are another
client's, prepared statements are not there. So it is asked before anything relies on that.
"""

import threading
from contextlib import closing

import psycopg

from gateway.errors import StorageError
from gateway.storage.postgres.connections import Raw, ServerAddress
from gateway.storage.postgres.failures import storage_error

POOLED = "database_pooled"
"""The code of what is raised."""
PATIENCE = 3.0
"""Seconds after which one connection counts as kept waiting by another one's transaction."""
LOOKS = 3
"""How often it is asked: another client may come between."""
POOLERS_WORDS = ("unsupported startup parameter", "statement pooling mode")
"""How PgBouncer refuses options of the server's ("ignore_startup_parameters" of its documentation), and BEGIN
where it hands connections on after each statement."""


def refuse_pooler(direct: ServerAddress) -> None:
    """Returns where the server itself answers, or a pooler that leaves each client a connection of its own.

    Raises:
        StorageError: connections are handed on after each transaction (code database_pooled), or it cannot be
            reached.
    """
    try:
        with closing(direct.connect()) as raw:
            # The server tells its clients its process, by which they cancel; a pooler makes up a number, as
            # it must find the client by it (protocol-flow.html, "Canceling Requests in Progress").
            if raw.info.backend_pid != process_of(raw) and is_handed_on(direct, raw):
                raise pooled()
    except psycopg.Error as error:
        raise (pooled() if is_poolers(str(error)) else storage_error(error)) from error
    except StorageError as error:
        raise (pooled() if is_poolers(error.cause or "") else error) from error


def is_poolers(words: str) -> bool:
    """Whether an error is one that only a pooler has."""
    return any(each in words for each in POOLERS_WORDS)


def pooled() -> StorageError:
    """The refusal, with what is to be done."""
    return StorageError(
        "A pooler that hands its connections on after each transaction answers where the PostgreSQL server "
        "itself is needed: set GATEWAY_DATABASE_DIRECT_URL to the address of the server.",
        code=POOLED,
        retryable=False,
    )


def process_of(raw: Raw) -> int:
    """The process of the server that works for the connection at the moment."""
    row = raw.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    return int(row[0])


def is_handed_on(direct: ServerAddress, one: Raw) -> bool:
    """Whether the connection `one` gets another process when a second one is in a transaction, which takes
    what is free; or has to wait for the end of that, where a pooler has one connection for all."""
    for _ in range(LOOKS):
        before = process_of(one)
        with closing(direct.connect()) as other:
            waited = threading.Event()

            def end(other: Raw = other, waited: threading.Event = waited) -> None:
                waited.set()
                other.close()

            timer = threading.Timer(PATIENCE, end)
            timer.start()
            try:
                other.execute("BEGIN")
                process_of(other)
                if process_of(one) != before or waited.is_set():
                    return True
            except psycopg.Error:
                if not waited.is_set():
                    raise
                return False  # the second one got none at all: those of its own are all in use
            finally:
                timer.cancel()
    return False
