"""A PostgreSQL database: transactions on a few threads, each with a connection of its own."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from types import TracebackType
from typing import Any, Self, TypeVar

import psycopg
from sqlalchemy import Connection

from gateway.errors import SearchTooLong, StorageError
from gateway.ids import new_replica_id
from gateway.storage.database import SEARCH_TIME, ConnectionPools, Lock, PoolUse, Transaction, sent
from gateway.storage.log.group_commit import Deliver, Flushed, GroupCommit
from gateway.storage.migrations import log_newer
from gateway.storage.postgres.commits import PostgresCommits
from gateway.storage.postgres.connections import ConnectionPool, ServerAddress, raw_of
from gateway.storage.postgres.event_rows import read_page
from gateway.storage.postgres.failures import TOO_LONG, for_caller, is_lost, state_of
from gateway.storage.postgres.migrating import check_revisions, newer_schemas
from gateway.storage.postgres.notify_channels import announce
from gateway.storage.postgres.pooler_check import refuse_pooler
from gateway.storage.postgres.transactions import (
    begin,
    begin_snapshot,
    commit,
    repeated,
    roll_back,
    was_committed,
)
from gateway.storage.replica_signals import Signals

T = TypeVar("T")
SEARCHERS = 2
"""Connections for searches, beside those of `connections`."""


class PostgresDatabase:
    """A server that other processes use too: the `EventDatabase` protocol. Made by `open`."""

    page_snapshot = False
    about = "sessions"
    """Begins the names of its pools."""

    def __init__(
        self,
        server: ServerAddress,
        direct: ServerAddress,
        connections: int,
        replica: str,
        *,
        lease: float,
        flushed: Flushed | None = None,
    ) -> None:
        self.replica = replica
        self.server, self.direct = server, direct
        self.newer_schema: Mapping[str, str] = {}
        """In what the schema is newer than this version, as of the last check."""
        self.signals = Signals()
        readers = max(1, connections // 2)
        writers = max(1, connections - readers)
        self._read_links = ConnectionPool(server, readers)
        self._write_links = ConnectionPool(server, writers)
        self._search_links = ConnectionPool(server, SEARCHERS)
        self._searchers = ThreadPoolExecutor(SEARCHERS, thread_name_prefix="storage-search")
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="storage-reader")
        self._writers = ThreadPoolExecutor(writers, thread_name_prefix="storage-writer")
        self._pools = ConnectionPools()
        self._loop = asyncio.get_running_loop()
        self._commits = PostgresCommits(server, lease)
        self._appends = GroupCommit(self._commits, self.signals, flushed)
        self.append = self._appends.append
        """Adds an append to the next commit; `on_delivery` gets its outcome. Raises StorageError when the
        database is closed."""
        self.read_page = read_page
        self._open = True

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        direct_url: str | None = None,
        connections: int = 8,
        replica: str | None = None,
        lease: float = 10,
        flushed: Flushed | None = None,
    ) -> Self:
        """Opens the database at `url`, which is that of a pooler when there is a `direct_url` too. Use it as
        an async context manager, or `close` it. `replica` names this process, at random by default, which
        counts on its turns for `lease` seconds; `flushed` is called after each commit of events.

        Raises:
            StorageError: the server cannot be reached, a pooler answers in its place (code database_pooled),
                the schema is older than this version (database_outdated) or newer (database_too_new).
        """
        direct = ServerAddress(direct_url or url)
        server = ServerAddress(url, pooled=direct_url is not None)
        await asyncio.to_thread(refuse_pooler, direct)
        newer = await asyncio.to_thread(check_revisions, direct)
        name = replica or new_replica_id()
        database = cls(server, direct, connections, name, lease=lease, flushed=flushed)
        if newer:
            log_newer("the database", newer)
            database.newer_schema = newer
        return database

    async def close(self) -> None:
        """Waits for what is under way and lets the connections go. Later calls do nothing."""
        if self._open:
            self._open = False
            await self._appends.close()
            await asyncio.to_thread(self._release)

    async def check(self) -> None:
        """Raises errors.StorageError: nothing can be read, or nothing written now, or the schema has become
        one that this version may not use."""
        self.newer_schema, is_read_only = await self.read(_checked, snapshot=False)
        if is_read_only:
            raise StorageError("The database takes no writes now.", code="storage_read_only")

    async def write(
        self,
        work: Callable[[Connection], T],
        *,
        over: Lock | None = None,
        committed: Callable[[], None] | None = None,
    ) -> T:
        """Runs `work` in a transaction of the writers' pool, over the lock; returns once it is durable."""
        self._check_is_open()
        transaction = Transaction(work, self._loop.create_future(), committed, over)
        self._writers.submit(self._write, transaction, perf_counter())
        return await transaction.future

    async def read(self, work: Callable[[Connection], T], *, snapshot: bool = True) -> T:
        """Runs `work` in the readers' pool."""
        self._check_is_open()
        return await self._loop.run_in_executor(self._readers, self._read, work, snapshot, perf_counter())

    async def search(self, work: Callable[[Connection], T], *, snapshot: bool = True) -> T:
        """Runs `work` in the pool for searches, always in a transaction."""
        self._check_is_open()
        return await self._loop.run_in_executor(self._searchers, self._search, work, perf_counter())

    async def sizes(self) -> Mapping[str, int]:
        """Bytes of the whole database on the server."""
        return {"database": await self.read(_size, snapshot=False)}

    async def scrub(self) -> None:
        """Does nothing: the server's VACUUM frees the bytes of what was removed."""

    def on_delivery(self, deliver: Deliver) -> None:
        """Sets what is called with each commit's appends and their errors."""
        self._appends.deliver = deliver

    def measured_by(self, pools: ConnectionPools) -> None:
        """Adds the pools of readers, of searches and of writers."""
        pools.add(f"{self.about} read", lambda: _use(self._read_links, self._readers))
        pools.add(f"{self.about} search", lambda: _use(self._search_links, self._searchers))
        pools.add(f"{self.about} write", lambda: _use(self._write_links, self._writers))
        self._pools = pools

    def _check_is_open(self) -> None:
        if not self._open:
            raise StorageError("The database is closed.", retryable=False)

    # What follows runs on the threads.

    def _write(self, transaction: Transaction, asked: float) -> None:
        self._pools.waited(f"{self.about} write", perf_counter() - asked)
        try:
            transaction.value = repeated(lambda lost: self._attempt(transaction, anew=lost))
            transaction.sent = [each for each in transaction.sent if each.to in (None, self.replica)]
        except BaseException as error:  # noqa: BLE001 - the caller gets every kind of error
            transaction.error = for_caller(error)
        try:
            self._loop.call_soon_threadsafe(transaction.settle, self.signals)
        except RuntimeError:  # the loop was closed without closing the database: no caller is left
            return

    def _attempt(self, transaction: Transaction, *, anew: bool) -> Any:
        with self._write_links.taken(anew=anew) as link:
            begun = begin(link.raw, transaction.over, pooled=self.server.pooled)
            try:
                value = transaction.work(link.core)
            except BaseException:
                roll_back(link.raw)
                raise
            finally:
                transaction.sent = sent(link.core)
            announce(link.raw, self.replica, transaction.sent)
            try:
                commit(link.raw)
            except psycopg.Error as error:
                if not is_lost(error):
                    raise
                lost = error
            else:
                return value
        if was_committed(self._write_links, begun):
            return value
        raise lost

    def _read(self, work: Callable[[Connection], T], snapshot: bool, asked: float) -> T:
        self._pools.waited(f"{self.about} read", perf_counter() - asked)
        try:
            return repeated(lambda lost: self._look(work, snapshot, anew=lost))
        except BaseException as error:
            raise for_caller(error) from error

    def _search(self, work: Callable[[Connection], T], asked: float) -> T:
        self._pools.waited(f"{self.about} search", perf_counter() - asked)

        def look(lost: bool) -> T:
            with self._search_links.taken(anew=lost) as link:
                begin_snapshot(link.raw, pooled=self.server.pooled, seconds=SEARCH_TIME)
                try:
                    return work(link.core)
                finally:
                    roll_back(link.raw)

        try:
            return repeated(look)
        except BaseException as error:
            if state_of(error) == TOO_LONG:
                raise SearchTooLong(SEARCH_TIME) from error
            raise for_caller(error) from error

    def _look(self, work: Callable[[Connection], T], snapshot: bool, *, anew: bool) -> T:
        with self._read_links.taken(anew=anew) as link:
            if snapshot:
                begin_snapshot(link.raw, pooled=self.server.pooled)
            try:
                return work(link.core)
            finally:
                roll_back(link.raw)

    def _release(self) -> None:
        self._writers.shutdown()
        self._readers.shutdown()
        self._searchers.shutdown()
        self._commits.close()
        self._write_links.close()
        self._read_links.close()
        self._search_links.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _checked(connection: Connection) -> tuple[Mapping[str, str], bool]:
    """The schemas that are newer than this version's, and whether the server takes no writes."""
    newer = newer_schemas(raw_of(connection))
    return newer, connection.exec_driver_sql("SHOW transaction_read_only").scalar() != "off"


def _use(links: ConnectionPool, threads: ThreadPoolExecutor) -> PoolUse:
    """There are as many threads as connections, so that work waits for a thread."""
    waiting = threads._work_queue.qsize()  # pyright: ignore[reportPrivateUsage] - it is public nowhere
    return PoolUse(links.used, links.idle, waiting)


def _size(connection: Connection) -> int:
    return connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one()
