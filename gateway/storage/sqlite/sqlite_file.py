"""A SQLite file: one writing connection on a thread of its own, one for searches, a few that only read."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from secrets import randbelow
from time import monotonic, perf_counter
from types import TracebackType
from typing import Self, TypeVar

from sqlalchemy import Connection, StaticPool, create_engine

from gateway.errors import SearchTooLong, StorageError
from gateway.files.disk import is_full
from gateway.ids import new_replica_id
from gateway.storage.database import SEARCH_TIME, ConnectionPools, Lock, PoolUse, Transaction
from gateway.storage.log.group_commit import Flushed, GroupCommit
from gateway.storage.replica_signals import Signals
from gateway.storage.sqlite.commits import Durability, SqliteCommits
from gateway.storage.sqlite_files.failures import code_of, for_caller, storage_error
from gateway.storage.sqlite_files.file_watch import (
    FIRST_ID,
    LAST_ID,
    FileWatch,
    Header,
    HeldFile,
    KnownHeader,
    write_identity,
)

T = TypeVar("T")
LOOK_AT_CLOCK = 10_000
"""Steps of SQLite's machine, a millisecond at most, after which a search looks at the clock."""
MERGED_PAGES = 500
"""Pages of a search index that one transaction merges: what waits for the writer waits no longer."""
UNCHANGED = 2
"""Rows that a merge which had nothing to do has changed, fewer than which say that it is over."""
LOCK_WAIT = 5.0
"""Seconds that a connection waits for others of the same file."""


class SqliteFile:
    """What is the same for every file: the `Database` protocol on its connections. The first one writes, the
    second one searches."""

    about = "sessions"
    """Begins the name of its pool."""

    def __init__(
        self,
        watch: FileWatch,
        connections: Sequence[Connection],
        flushed: Flushed | None = None,
        durability: Durability = "synced",
    ) -> None:
        writer, searching, *readers = connections
        self.path = watch.path
        self.watch = watch
        self.replica = new_replica_id()
        self.signals = Signals()
        self._connections = connections
        commits = SqliteCommits(raw_of(writer), writer, durability, watch)
        self._writer = GroupCommit(commits, self.signals, flushed)
        self._free: SimpleQueue[Connection] = SimpleQueue()
        for reader in readers:
            self._free.put(reader)
        self._pool = ThreadPoolExecutor(len(readers), thread_name_prefix="storage-reader")
        self._searching = searching
        self._is_searching = False
        self._searcher = ThreadPoolExecutor(1, thread_name_prefix="storage-search")
        self._pools = ConnectionPools()
        self._loop = asyncio.get_running_loop()
        self._open = True

    async def close(self) -> None:
        """Commits what is pending and lets the file go. Later calls do nothing."""
        if self._open:
            self._open = False
            await self._writer.close()
            await asyncio.to_thread(self._release)

    async def write(
        self,
        work: Callable[[Connection], T],
        *,
        over: Lock | None = None,  # a transaction has the whole file to itself
        committed: Callable[[], None] | None = None,
    ) -> T:
        """Runs `work` in the writer's next transaction; returns once it is durable."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._writer.write(Transaction(work, future, committed))
        return await future

    async def read(self, work: Callable[[Connection], T], *, snapshot: bool = True) -> T:
        """Runs `work` on a read connection, in a thread."""
        if not self._open:
            raise StorageError("The database is closed.", retryable=False)
        return await self._loop.run_in_executor(self._pool, self._read, work, snapshot, perf_counter())

    async def search(self, work: Callable[[Connection], T], *, snapshot: bool = True) -> T:
        """Runs `work` on the connection for searches, one at a time, in a thread."""
        if not self._open:
            raise StorageError("The database is closed.", retryable=False)
        return await self._loop.run_in_executor(self._searcher, self._search, work, snapshot, perf_counter())

    async def merge(self, index: str) -> None:
        """Merges a search index to its end, MERGED_PAGES in a transaction, so that no part of it has removed
        words any more. Raises errors.StorageError."""
        more = await self.write(lambda connection: merge_some(connection, index, begins=True))
        while more:
            more = await self.write(lambda connection: merge_some(connection, index))

    def measured_by(self, pools: ConnectionPools) -> None:
        """Adds the pool of read connections, and the one for searches."""
        readers = self._free.qsize()

        def use() -> PoolUse:
            idle = self._free.qsize()
            waiting = self._pool._work_queue.qsize()  # pyright: ignore[reportPrivateUsage] - it is public nowhere
            return PoolUse(readers - idle, idle, waiting)

        def searching() -> PoolUse:
            used = int(self._is_searching)
            return PoolUse(used, 1 - used, self._searcher._work_queue.qsize())  # pyright: ignore[reportPrivateUsage] - as above

        pools.add(f"{self.about} read", use)
        pools.add(f"{self.about} search", searching)
        self._pools = pools

    def _read(self, work: Callable[[Connection], T], snapshot: bool, asked: float) -> T:
        self._pools.waited(f"{self.about} read", perf_counter() - asked)
        connection = self._free.get()
        try:
            return self._looked(connection, work, snapshot)
        finally:
            self._free.put(connection)

    def _search(self, work: Callable[[Connection], T], snapshot: bool, asked: float) -> T:
        self._pools.waited(f"{self.about} search", perf_counter() - asked)
        ends, raw = monotonic() + SEARCH_TIME, raw_of(self._searching)
        raw.set_progress_handler(lambda: monotonic() > ends, LOOK_AT_CLOCK)
        self._is_searching = True
        try:
            return self._looked(self._searching, work, snapshot)
        except StorageError as error:
            if code_of(error.__cause__ or error) == sqlite3.SQLITE_INTERRUPT:
                raise SearchTooLong(SEARCH_TIME) from error
            raise
        finally:
            self._is_searching = False
            raw.set_progress_handler(None, 0)

    def _looked(self, connection: Connection, work: Callable[[Connection], T], snapshot: bool) -> T:
        raw = raw_of(connection)
        try:
            if raw.in_transaction:  # its rollback failed
                raw.execute("ROLLBACK")
            if snapshot:
                raw.execute("BEGIN")
            try:
                return work(connection)
            finally:
                if raw.in_transaction:
                    raw.execute("ROLLBACK")
        except BaseException as error:
            raise for_caller(error, self.watch) from error

    def _release(self) -> None:
        self._pool.shutdown()
        self._searcher.shutdown()
        # The writer goes last: closing the last connection empties the write-ahead log into the file.
        for connection in reversed(self._connections):
            connection.detach()
            connection.close()
        self.watch.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def raw_of(connection: Connection) -> sqlite3.Connection:
    """The driver's connection beneath."""
    raw = connection.connection.dbapi_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def merge_some(connection: Connection, index: str, *, begins: bool = False) -> bool:
    """Merges at most MERGED_PAGES of a search index; with `begins` a merge of all its parts begins. Returns
    whether there was something to merge."""
    raw = raw_of(connection)
    before = raw.total_changes
    pages = -MERGED_PAGES if begins else MERGED_PAGES
    raw.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)", (pages,))  # noqa: S608 - a name of ours
    return raw.total_changes - before >= UNCHANGED


def log_is_emptied(connection: Connection) -> bool:
    """Whether the write-ahead log could be emptied: nobody reads an older state."""
    ((busy, _, _),) = raw_of(connection).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return not busy


def connected(
    path: Path, writer: str, reader: str, readers: int, *, renew: bool = False
) -> tuple[FileWatch, list[Connection]]:
    """A connection that writes, with its pragmas, then `readers` that do not, with theirs; and the watch over
    their file, which gets a new id if `renew`.

    Raises:
        StorageError: it cannot be opened, or cannot keep a write-ahead log.
    """
    try:
        connections = [_connect(path, writer)]
        raw = raw_of(connections[0])
        mode = raw.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise StorageError(f"The database {path} cannot keep a write-ahead log: use a local disk.")
        watch = _watched(path, raw, renew=renew)
        return watch, connections + [_connect(path, reader) for _ in range(readers)]
    except sqlite3.Error as error:
        raise storage_error(error) from error
    except OSError as error:
        raise StorageError(
            f"The database {path} cannot be opened: {error.strerror}.",
            code="storage_full" if is_full(error) else None,
        ) from error


def _watched(path: Path, raw: sqlite3.Connection, *, renew: bool) -> FileWatch:
    """The watch over a file, before the first commit of the connection: has the file an id of its own, and
    notes whose the log beside it is."""
    real = path.resolve()
    held = HeldFile(real)
    try:
        os.fsync(held.descriptor)  # a power cut must not take back what is noted of it
        header = held.header() or Header()
        (stored,) = raw.execute("PRAGMA schema_version").fetchone()
        new = FIRST_ID + randbelow(LAST_ID - FIRST_ID) if renew or stored < FIRST_ID else stored
        known = KnownHeader(sorted({header.schema, stored, new}), header.changes)
        write_identity(real, held.inode, known)
        if new != stored:
            raw.execute(f"PRAGMA schema_version = {new}")
        raw.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the log is there from now on
        if renew:
            raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        if (header := held.header() or Header()).schema == new and len(known.ids) > 1:
            known = KnownHeader([new], header.changes)
            write_identity(real, held.inode, known)
    except BaseException:
        held.close()
        raise
    return FileWatch(path, held, known)


def _connect(path: Path, pragmas: str) -> Connection:
    """A Core connection in autocommit mode: BEGIN, SAVEPOINT and COMMIT are given by hand."""
    raw = sqlite3.connect(path, timeout=LOCK_WAIT, isolation_level=None, check_same_thread=False)
    raw.executescript(pragmas)
    engine = create_engine(
        "sqlite://",
        creator=lambda: raw,
        poolclass=StaticPool,
        skip_autocommit_rollback=True,
        hide_parameters=True,  # they are content, and errors get into the log
    )
    return engine.connect()
