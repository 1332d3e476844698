"""Connections to a PostgreSQL server: made when they are needed, and anew when they were lost."""

from collections.abc import Generator
from contextlib import contextmanager
from queue import LifoQueue
from typing import Any, NamedTuple

import psycopg
from psycopg import conninfo, pq
from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from gateway.errors import StorageError
from gateway.storage.postgres.failures import storage_error

# A host that has gone is noticed: by the system before a statement waits for ever, and by the server before a
# transaction of ours holds up others. What the URL says comes first (see "Parameter Key Words" of libpq).
PARAMETERS: dict[str, Any] = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
NAME = "chat-gateway"
"""The application_name of every gateway, also where the URL gives another: a move finds gateways by it."""
LIMITS = {"lock_timeout": "5s", "statement_timeout": "30s", "idle_in_transaction_session_timeout": "10s"}
OPTIONS = " ".join(f"-c {name}={limit}" for name, limit in LIMITS.items())
AS_LONG_AS_IT_TAKES = "-c statement_timeout=0 -c idle_in_transaction_session_timeout=0"

Raw = psycopg.Connection[Any]


class ServerAddress(NamedTuple):
    """Where the database is. A `pooled` address is that of a pooler such as PgBouncer in transaction mode: it
    hands a connection on after each transaction, so that nothing can be agreed for longer. `name` is the
    application_name of its connections."""

    url: str
    pooled: bool = False
    name: str = NAME

    def connect(self, options: str = "", **parameters: Any) -> psycopg.Connection[Any]:
        """A connection in autocommit mode, unless `parameters` override that: BEGIN and COMMIT are given by
        hand. `options` are the server's, appended to those of the URL, whose other options, such as
        search_path, stay.

        Raises:
            StorageError: none is to be had.
        """
        try:
            given: dict[str, Any] = conninfo.conninfo_to_dict(self.url)
        except psycopg.Error:  # its message quotes the address
            raise StorageError(
                "The address of the database cannot be read: look at what is behind its question mark.",
                retryable=False,
            ) from None
        try:
            if not self.pooled:
                given["options"] = f"{OPTIONS} {given.get('options') or ''} {options}".strip()
            settings: dict[str, Any] = {
                "application_name": self.name,
                "autocommit": True,
                "prepare_threshold": None if self.pooled else 5,
                **parameters,
            }
            return psycopg.connect(**{**PARAMETERS, **given, **settings})
        except psycopg.Error as error:
            raise storage_error(error) from error


class PooledConnection(NamedTuple):
    """One connection, as SQLAlchemy has it and as the driver does."""

    core: Connection
    raw: psycopg.Connection[Any]

    @property
    def is_free(self) -> bool:
        """Whether it is open, and in no transaction."""
        return not self.raw.closed and self.raw.info.transaction_status == pq.TransactionStatus.IDLE


class ConnectionPool:
    """At most so many connections, each used by one thread at a time."""

    def __init__(self, server: ServerAddress, most: int) -> None:
        self._most = most
        self._free = LifoQueue[
            PooledConnection | None
        ]()  # one that is there goes before one that is to be made
        for _ in range(most):
            self._free.put(None)
        self._engine = create_engine(
            "postgresql+psycopg://",
            creator=server.connect,
            poolclass=NullPool,
            paramstyle="format",
            use_native_hstore=False,
            skip_autocommit_rollback=True,
            hide_parameters=True,  # they are content, and errors get into the log
        )

    @contextmanager
    def taken(self, *, anew: bool = False) -> Generator[PooledConnection]:
        """A connection outside of any transaction, `anew` a new one. One that is left inside is closed.

        Raises:
            StorageError: none is to be had.
        """
        link = self._free.get()
        try:
            if link is not None and anew:
                link.raw.close()
                link = None
            if link is None:
                link = self._connected()
            yield link
        finally:
            if link is not None and not link.is_free:
                link.raw.close()
                link = None
            self._free.put(link)

    @property
    def used(self) -> int:
        """How many are in use."""
        return self._most - self._free.qsize()

    @property
    def idle(self) -> int:
        """How many are open and not in use."""
        return sum(link is not None for link in list(self._free.queue))

    def close(self) -> None:
        """Waits for those in use."""
        for _ in range(self._most):
            link = self._free.get()
            if link is not None:
                link.raw.close()

    def _connected(self) -> PooledConnection:
        try:
            core = self._engine.connect()
        except (DBAPIError, psycopg.Error) as error:  # the server fell silent as soon as it was reached
            raise storage_error(error) from error
        raw = raw_of(core)
        core.detach()
        return PooledConnection(core, raw)


def raw_of(connection: Connection) -> Raw:
    """The driver's connection beneath."""
    raw = connection.connection.dbapi_connection
    assert isinstance(raw, psycopg.Connection)
    return raw
