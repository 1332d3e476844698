"""Names that one task at a time holds, of all processes of a database: advisory locks on one connection,
which has them for as long as it lives.

    hold ──▶ the name, in this process ──▶ its lock ──▶ held ──▶ unlocked
                                            ▲             └─ the connection is lost: cancelled, hold_lost
       asked again every second at least ───┘

A connection that gives no sign of life for too long, as its process is stopped or cut off, is ended by the
process that wants what it holds.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import LiteralString, Self, TypeVar

import psycopg

from gateway.cancellation_shield import finish
from gateway.errors import GatewayError, StorageError
from gateway.storage.exclusive import LocalExclusive
from gateway.storage.postgres.advisory_locks import LockClass
from gateway.storage.postgres.connections import Raw, ServerAddress
from gateway.storage.postgres.failures import storage_error

PING = 2.0
"""Seconds between two signs of life while something is held."""
LOCK_TIMEOUT = 3.0
"""Seconds for a sign of life to be answered: after that the holder stops."""
STALE = 10.0
"""Seconds without a sign of life after which a connection is ended, more than PING and LOCK_TIMEOUT."""
FIRST_PAUSE, LAST_PAUSE = 0.05, 1.0
"""Seconds until a held name is asked for again: doubled each time, up to the last."""

_KEY: LiteralString = "hashtextextended(%(name)s, %(class)s)"
_TRY: LiteralString = f"SELECT pg_try_advisory_lock({_KEY})"
_UNLOCK: LiteralString = f"SELECT pg_advisory_unlock({_KEY})"
_END_STALE: LiteralString = f"""
SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND a.datname = current_database()
  AND l.database = a.datid AND (l.classid::bigint << 32 | l.objid::bigint) = {_KEY}
  AND a.state_change < clock_timestamp() - make_interval(secs => %(stale)s)
"""  # noqa: S608 - no value in it

T = TypeVar("T")


class _Hold:
    """Of one task, by the connection that has the lock. The task is cancelled when that is lost."""

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self._is_lost = False
        self.by: Raw | None = None

    def lose(self) -> None:
        self._is_lost = True
        self._task.cancel()

    def is_lost(self) -> bool:
        """Whether the cancellation that has reached the task was for that alone; it is undone then."""
        return self._is_lost and self._task.uncancel() <= self._cancelling


class PostgresExclusive:
    """The `Exclusive` protocol among all processes of a database. `server` must be reached without a pooler.
    Close it when nothing is held any more."""

    def __init__(self, server: ServerAddress, *, ping: float = PING, stale: float = STALE) -> None:
        self._server = server
        self._ping, self._stale = ping, stale
        self._here = LocalExclusive()  # an advisory lock is given to its connection as often as it asks
        self._held: dict[str, _Hold] = {}
        self._lost: Raw | None = None
        self._watching: asyncio.Task[None] | None = None
        self._sign_is_due = asyncio.Event()
        self._asked, self._listened_to = 0, -1
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="storage-holder")
        self._raw: Raw | None = None  # the thread's

    @asynccontextmanager
    async def hold(self, name: str, *, refusal: GatewayError | None = None) -> AsyncGenerator[None]:
        """Holds the name by an advisory lock while the context is open; waits for it, or raises `refusal`.
        The task in the context is cancelled when the connection that has the lock is lost."""
        async with self._here.hold(name, refusal=refusal):
            hold = _Hold()
            try:
                try:
                    await self._take(name, hold, refusal)
                    yield
                finally:
                    await finish(self._give_back(name))
            except asyncio.CancelledError:
                if hold.is_lost():
                    raise StorageError(
                        "The connection to the database was lost, so another process may do the same now.",
                        code="hold_lost",
                    ) from None
                raise

    async def close(self) -> None:
        """Lets the connection go."""
        if self._watching is not None:
            self._watching.cancel()
        self._asked += 1
        self._listen()
        self._thread.submit(self._close)
        await asyncio.to_thread(self._thread.shutdown)

    async def _take(self, name: str, hold: _Hold, refusal: GatewayError | None) -> None:
        pause = FIRST_PAUSE
        while not await finish(self._took(name, hold)):
            if refusal is not None:
                raise refusal
            await asyncio.sleep(pause)
            pause = min(2 * pause, LAST_PAUSE)

    async def _took(self, name: str, hold: _Hold) -> bool:
        by = await self._on_thread(lambda: self._try(name))
        if by is None:
            return False
        hold.by, self._held[name] = by, hold
        if by is self._lost:  # meanwhile
            hold.lose()
        self._listen()
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch(), name="signs of life")
        return True

    async def _give_back(self, name: str) -> None:
        hold = self._held.pop(name, None)
        if hold is not None:
            with suppress(StorageError):  # the connection is lost, and the lock with it
                await self._on_thread(lambda: self._unlock(name, hold.by))

    async def _watch(self) -> None:
        while self._held:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._sign_is_due.wait(), self._ping)
            self._sign_is_due.clear()
            raw = next((hold.by for hold in self._held.values()), None)
            with suppress(StorageError):  # those who held something know
                try:
                    await asyncio.wait_for(self._on_thread(self._give_sign), LOCK_TIMEOUT)
                except TimeoutError:
                    self._lose(raw)
                    self._thread.submit(self._close_lost)

    async def _on_thread(self, work: Callable[[], T]) -> T:
        """Raises errors.StorageError: the connection is lost, or none is to be had."""
        self._asked += 1
        self._listen()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except _Lost as lost:
            self._lose(lost.raw)
            raise storage_error(lost.error) from lost.error
        finally:
            self._asked -= 1
            self._listen()

    def _listen(self) -> None:
        """While nothing is asked, the only message from the server is that the connection ends."""
        loop = asyncio.get_running_loop()
        if self._listened_to >= 0:
            loop.remove_reader(self._listened_to)
        holding = next((hold.by for hold in self._held.values() if hold.by is not self._lost), None)
        if self._asked or holding is None or holding.closed:
            self._listened_to = -1
        else:
            self._listened_to = holding.fileno()
            loop.add_reader(self._listened_to, self._on_sign)

    def _on_sign(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listened_to)
        self._listened_to = -1
        self._sign_is_due.set()

    def _lose(self, raw: Raw | None) -> None:
        self._lost = raw
        for hold in self._held.values():
            if hold.by is raw:
                hold.lose()

    # What follows runs on the thread.

    def _try(self, name: str) -> Raw | None:
        """The connection that has the lock of the name from now on; None: another connection has it."""
        self._close_lost()
        if self._raw is None:
            self._raw = self._server.connect()
        if self._ask(self._raw, _TRY, name):
            return self._raw
        self._ask(self._raw, _END_STALE, name)
        return None

    def _unlock(self, name: str, by: Raw | None) -> None:
        if by is not None and by is self._raw:
            self._ask(by, _UNLOCK, name)

    def _give_sign(self) -> None:
        if self._raw is not None:
            self._ask(self._raw, "SELECT true")

    def _ask(self, raw: Raw, statement: LiteralString, name: str = "") -> bool:
        values = {"name": name, "class": LockClass.EXCLUSIVE.value, "stale": self._stale}
        try:
            row = raw.execute(statement, values).fetchone()
        except psycopg.Error as error:  # after any error the locks of the connection are free
            self._close()
            raise _Lost(raw, error) from error
        return row is not None and row[0]

    def _close_lost(self) -> None:
        if self._raw is self._lost:
            self._close()

    def _close(self) -> None:
        if self._raw is not None:
            self._raw.close()
            self._raw = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class _Lost(Exception):
    """A connection failed, and was closed."""

    def __init__(self, raw: Raw, error: psycopg.Error) -> None:
        super().__init__()
        self.raw, self.error = raw, error
