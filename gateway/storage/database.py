"""Access to the tables of any engine: whole transactions, each a plain function."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, cast

from sqlalchemy import Connection
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ClauseElement

from gateway.storage.replica_signals import Signal, Signals

T = TypeVar("T")
P = ParamSpec("P")
S = TypeVar("S", bound="Store")

log = logging.getLogger(__name__)


class SessionLock(NamedTuple):
    """A transaction that reads a session and then changes it: its head is locked."""

    session_id: str


class OwnerLock(NamedTuple):
    """A transaction that compares what a user has with what they may have, and adds to it; or what each of
    several users has."""

    name: str
    others: tuple[str, ...] = ()


SEARCH_TIME = 5.0
"""Seconds of a database's work for one search."""

Lock = SessionLock | OwnerLock
"""What a transaction has to itself, where several run at once. An owner is locked before a session."""


class PoolUse(NamedTuple):
    """Connections of a pool that are in use, and that are open and wait for work; what waits for one."""

    used: int
    idle: int
    waiting: int


class ConnectionPools:
    """The pools of connections to a server, by name, for those who measure them. `waited` is called for each
    piece of work with its pool and the seconds that it waited, on any thread, one at a time."""

    def __init__(self, waited: Callable[[str, float], None] = lambda _name, _seconds: None) -> None:
        self._looks: dict[str, Callable[[], PoolUse]] = {}
        self._waited = waited
        self._lock = threading.Lock()

    def add(self, name: str, look: Callable[[], PoolUse]) -> None:
        """Adds a pool."""
        self._looks[name] = look

    def waited(self, name: str, seconds: float) -> None:
        """Notes that a piece of work got its turn."""
        with self._lock:
            self._waited(name, seconds)

    def use(self) -> Mapping[str, PoolUse]:
        """What they do now; may be called on any thread."""
        return {name: look() for name, look in self._looks.items()}


class Database(Protocol):
    """A database. There is never an await inside a transaction, so cancelling a caller cannot leave one open:
    the work is done or not, and the caller does not learn which."""

    @property
    def replica(self) -> str:
        """The id of this process among all that ever had the database open."""
        ...

    @property
    def signals(self) -> Signals:
        """The listeners of this process for what a work has sent."""
        ...

    def measured_by(self, pools: ConnectionPools) -> None:
        """Adds its pools of connections, once."""
        ...

    async def write(
        self,
        work: Callable[[Connection], T],
        *,
        over: Lock | None = None,
        committed: Callable[[], None] | None = None,
    ) -> T:
        """Runs `work` in a transaction and returns its result once that is durable. What `work` raises undoes
        its own changes only, and is raised here. `committed` is called on the event loop as soon as the
        changes are durable, also when the caller has been cancelled meanwhile.

        An engine that runs several transactions at once locks `over` in a statement of its own first: what
        `work` reads has everything then that others did under the same lock. It may run `work` again, after
        a conflict with another transaction or on another connection: nothing but its last result counts.

        Raises:
            errors.StorageError: the database could not do it; nothing was changed, unless the code is
                outcome_unknown: the connection was lost in the commit, whose outcome cannot be known.
        """
        ...

    async def read(self, work: Callable[[Connection], T], *, snapshot: bool = True) -> T:
        """Runs `work`, which only reads. With `snapshot` all its statements see the same moment; a single
        statement needs none.

        Raises:
            errors.StorageError: the database could not do it.
        """
        ...

    async def search(self, work: Callable[[Connection], T], *, snapshot: bool = True) -> T:
        """As `read`, of a work whose statements look through much: on a connection of its own, so that
        nothing else waits behind it, and for SEARCH_TIME at most.

        Raises:
            errors.SearchTooLong: a statement was interrupted.
            errors.StorageError: the database could not do it.
        """
        ...


@dataclass(slots=True, eq=False)
class Transaction:
    """The work of a caller who waits for it, and what became of it."""

    work: Callable[[Connection], Any]
    future: asyncio.Future[Any]
    committed: Callable[[], None] | None = None
    over: Lock | None = None
    is_outside: bool = False
    """Of a file: done after the transaction of its flush, in none."""
    value: Any = None
    error: BaseException | None = None
    sent: Sequence[Signal] = ()

    def settle(self, signals: Signals) -> None:
        """Delivers the outcome to the caller and the signals to their listeners, on the event loop."""
        if self.error is None:
            if self.committed is not None:
                call(self.committed)
            signals.hear(self.sent)
        if self.future.done():  # its awaiter was cancelled
            return
        if self.error is None:
            self.future.set_result(self.value)
        else:
            self.future.set_exception(self.error)


def call(callback: Callable[..., None], *arguments: Any) -> None:
    """Calls back on the event loop. What fails there is logged: others are called, and the database goes
    on."""
    try:
        callback(*arguments)
    except Exception:
        log.exception("a callback of the database failed")


def raised_by_work(error: BaseException) -> BaseException:
    """What the caller of a work that raised gets where the database did not fail: the same, but no future can
    hold a StopIteration, nor pass on what would stop the event loop."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    failure = RuntimeError(f"The work of a transaction raised {type(error).__name__}.")
    failure.__cause__ = error
    return failure


class Store:
    """Something that is kept in a database. Its methods are transactions: each is written as what happens in
    one, with the connection after `self`, and is decorated with `query`, `snapshot` or `transaction`. Callers
    leave the connection out. A method with a lock, or with something before or after, asks `database` itself.
    What is a part of other transactions, too, is a function over a connection beside the class.

    Every method raises errors.StorageError when the database cannot do its work; then nothing has changed."""

    def __init__(self, database: Database) -> None:
        self.database = database


def query(work: Callable[Concatenate[S, Connection, P], T]):
    """A method that reads with one statement, or with several that need not see the same moment."""

    async def method(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.database.read(
            lambda connection: work(self, connection, *args, **kwargs), snapshot=False
        )

    update_wrapper(method, work)
    return method


def snapshot(work: Callable[Concatenate[S, Connection, P], T]):
    """A method that reads with several statements, which all see the same moment."""

    async def method(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.database.read(lambda connection: work(self, connection, *args, **kwargs))

    update_wrapper(method, work)
    return method


def transaction(work: Callable[Concatenate[S, Connection, P], T]):
    """A method that writes, as `Database.write` does without a lock."""

    async def method(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.database.write(lambda connection: work(self, connection, *args, **kwargs))

    update_wrapper(method, work)
    return method


def reads(work: Callable[Concatenate[Connection, P], T], *, snapshot: bool = True):
    """A method of a `Store` that runs `work` as `Database.read` does."""

    async def method(self: Store, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.database.read(
            lambda connection: work(connection, *args, **kwargs), snapshot=snapshot
        )

    return method


def searches(work: Callable[Concatenate[Connection, P], T]):
    """A method of a `Store` that runs `work` as `Database.search` does."""

    async def method(self: Store, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.database.search(lambda connection: work(connection, *args, **kwargs))

    return method


def writes(work: Callable[Concatenate[Connection, P], T], *, over: Callable[P, Lock] | None = None):
    """A method of a `Store` that runs `work` as `Database.write` does, over what `over` makes of its
    arguments."""

    async def method(self: Store, *args: P.args, **kwargs: P.kwargs) -> T:
        lock = over(*args, **kwargs) if over is not None else None
        return await self.database.write(lambda connection: work(connection, *args, **kwargs), over=lock)

    return method


def claims(work: Callable[Concatenate[Connection, str, P], T], *, over: Callable[P, Lock] | None = None):
    """As `writes`, for a `work` that makes this process the owner of turns: it is given its id (`replica`)
    after the connection."""

    async def method(self: Store, *args: P.args, **kwargs: P.kwargs) -> T:
        lock, replica = over(*args, **kwargs) if over is not None else None, self.database.replica
        return await self.database.write(
            lambda connection: work(connection, replica, *args, **kwargs), over=lock
        )

    return method


def send(connection: Connection, signal: Signal) -> None:
    """Part of a transaction: the signal is delivered when that is committed, and dropped when it is not."""
    connection.info.setdefault(Signals, []).append(signal)


def sent(connection: Connection) -> list[Signal]:
    """For engines: takes what the work that has just ended has sent. Asked also when it failed."""
    return connection.info.pop(Signals, [])


class Prepared:
    """A Core statement that becomes SQL once and then runs on the driver itself: binding and result objects
    cost more than the statements of a short turn."""

    def __init__(self, statement: ClauseElement) -> None:
        self.statement = statement
        self._compiled: dict[str, tuple[str, list[str], dict[str, Any]]] = {}

    def run(self, connection: Connection, **values: Any) -> Any:
        """Executes with a value for each `bindparam`; returns the driver's cursor."""
        sql, order, constants = self._prepared(connection)
        parameters = [values[name] if name in values else constants[name] for name in order]
        cursor = connection.connection.cursor()
        cursor.execute(sql, parameters)
        return cursor

    def many(self, connection: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
        """Executes once for each of `rows`, which are taken one by one."""
        sql, order, constants = self._prepared(connection)
        parameters: Any = ([row[name] if name in row else constants[name] for name in order] for row in rows)
        connection.connection.cursor().executemany(sql, parameters)

    def one(self, connection: Connection, **values: Any) -> tuple[Any, ...] | None:
        """The first row, None when there is none."""
        return self.run(connection, **values).fetchone()

    def value(self, connection: Connection, **values: Any) -> Any:
        """The first value of the first row, None when there is none."""
        row = self.one(connection, **values)
        return row[0] if row is not None else None

    def all(self, connection: Connection, **values: Any) -> list[tuple[Any, ...]]:
        """All rows."""
        return self.run(connection, **values).fetchall()

    def _prepared(self, connection: Connection) -> tuple[str, list[str], dict[str, Any]]:
        dialect = connection.dialect.name
        if dialect not in self._compiled:
            self._compiled[dialect] = self._compile(connection)
        return self._compiled[dialect]

    def _compile(self, connection: Connection) -> tuple[str, list[str], dict[str, Any]]:
        compiled = cast("SQLCompiler", self.statement.compile(dialect=connection.dialect))
        names = compiled.bind_names.items()
        return (
            str(compiled),
            list(compiled.positiontup or ()),
            {name: bind.value for bind, name in names if not bind.required},
        )
