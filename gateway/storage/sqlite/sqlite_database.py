"""The SQLite file of the sessions, which one process alone may have open."""

import asyncio
import errno
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Self

from sqlalchemy import Connection

from gateway.errors import StorageError
from gateway.files.disk import is_full
from gateway.storage.data_folder_lock import RESTORING, FolderLock
from gateway.storage.database import Transaction
from gateway.storage.log import Page
from gateway.storage.log.group_commit import Deliver, Flushed
from gateway.storage.migrations import SESSIONS, upgrade
from gateway.storage.sqlite.commits import Durability
from gateway.storage.sqlite.event_rows import read_page
from gateway.storage.sqlite.sqlite_file import SqliteFile, connected, log_is_emptied, raw_of
from gateway.storage.sqlite_files.file_watch import FileWatch, missing

MIN_FREE = 1_048_576
"""Bytes that must be free on the disk, after a commit failed, for another attempt to be worth it."""

# No mmap: a page that changes under a reader's map is how a damaged log becomes a damaged database. Foreign
# keys are not enforced: a cascade would remove all rows of a session in one statement (sessions/purges.py).
# The tables that a statement sets up for itself are in memory: one that could go to a file costs more than
# what it holds. What is deleted is overwritten: an erasure leaves no byte of it.
WRITER_PRAGMAS = """
    PRAGMA foreign_keys = OFF;
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA wal_autocheckpoint = 1000;
"""
READER_PRAGMAS = """
    PRAGMA query_only = ON;
    PRAGMA wal_autocheckpoint = 0;
"""
EMPTY_LOG_PAUSES = (0, 0.1, 1)
"""Seconds before each attempt to empty the write-ahead log: a reader of an older state keeps it from that."""


class SqliteDatabase(SqliteFile):
    """One file, which this process alone may have open: the `EventDatabase` protocol. Made by `open`."""

    page_snapshot = True

    def __init__(
        self,
        lock: FolderLock,
        watch: FileWatch,
        connections: Sequence[Connection],
        flushed: Flushed | None,
        durability: Durability,
    ) -> None:
        super().__init__(watch, connections, flushed, durability)
        self.newer_schema: Mapping[str, str] = {}
        self._lock = lock
        self.append = self._writer.append
        """Adds an append to the next transaction; `on_delivery` gets its outcome. Raises StorageError
        when the database is closed."""

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        readers: int = 2,
        flushed: Flushed | None = None,
        durability: Durability = "synced",
        copy_first: bool = True,
    ) -> Self:
        """Opens the file, made and migrated as needed, for this process alone; with `copy_first` it is copied
        before it is migrated. Use it as an async context manager, or `close` it. `flushed` is called after
        each transaction.

        Raises:
            StorageError: another process has the folder (code data_locked), this version may not use the
                file of a newer one (database_too_new), or it cannot be opened.
        """
        lock, watch, connections, revision = await asyncio.to_thread(_open, path, readers, copy=copy_first)
        database = cls(lock, watch, connections, flushed, durability)
        if revision != SESSIONS.head:
            database.newer_schema = {SESSIONS.holds: revision}
        return database

    async def check(self) -> None:
        """Raises errors.StorageError: the file was replaced (database_replaced) or is damaged
        (storage_damaged), until the process ends; nothing can be read; or the last commit failed, and there
        is no room yet, or another commit fails, which changes nothing but has to be written."""
        self.watch.look()
        await self.read(lambda connection: connection.exec_driver_sql("SELECT 1 FROM sqlite_master").first())
        if self._writer.failure is not None:
            await asyncio.to_thread(_reserve, self.path.parent)
            await self.write(lambda connection: connection.exec_driver_sql("PRAGMA user_version = 0").close())

    async def sizes(self) -> Mapping[str, int]:
        """Bytes of its file, of its write-ahead log, and of the memories' file beside it."""
        wal, memories = self.path.with_name(f"{self.path.name}-wal"), self.path.with_name("memory.db")
        return await asyncio.to_thread(_sizes, {"database": self.path, "wal": wal, "memory": memories})

    async def scrub(self) -> None:
        """Leaves no byte of what was removed in the file or its write-ahead log: merges the search indexes,
        some pages in a transaction, and empties the log. Raises errors.StorageError: readers were in the
        way."""
        for index in ("search_index", "search_former"):
            await self.merge(index)
        for pause in EMPTY_LOG_PAUSES:
            await asyncio.sleep(pause)
            future: asyncio.Future[bool] = self._loop.create_future()
            # By the connection that writes: see sqlite_memory_database.py.
            self._writer.write(Transaction(log_is_emptied, future, is_outside=True))
            if await future:
                return
        raise StorageError("The write-ahead log is in use: what was erased is still in it.")

    def read_page(
        self,
        connection: Connection,
        session_id: str,
        *,
        after: int,
        limit: int,
        until: int,
        types: Sequence[str] = (),
    ) -> Page | None:
        """A page of events after a seq, or None where an archive goes on."""
        raw = raw_of(connection)
        return read_page(raw, session_id, after=after, limit=limit, until=until, types=types)

    def on_delivery(self, deliver: Deliver) -> None:
        """`deliver` is called on the event loop with the appends of each transaction, and None or an error
        for each."""
        self._writer.deliver = deliver

    def _release(self) -> None:
        super()._release()
        self._lock.release()


def _reserve(folder: Path) -> None:
    """Takes MIN_FREE and gives it back. A small commit alone proves nothing: a larger one that failed has
    left room for it, at the end of the write-ahead log."""
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(MIN_FREE))
    except OSError as error:
        if is_full(error):
            said, code = "is full", "storage_full"
        elif error.errno == errno.EROFS:
            said, code = "is read-only", "storage_read_only"
        else:
            said, code = "cannot be written", "storage_unavailable"
        raise StorageError(f"The disk of the database {said} ({error.strerror}).", code=code) from error


def _open(path: Path, readers: int, *, copy: bool) -> tuple[FolderLock, FileWatch, Sequence[Connection], str]:
    lock = FolderLock.of_file(path)
    try:
        if path.resolve().with_name(RESTORING).exists():
            raise StorageError(
                f"A restore into {path.parent} was interrupted: call `gateway restore` again with --replace.",
                code="restore_unfinished",
                retryable=False,
            )
        if not path.exists() and any(path.resolve().parent.glob("blobs/*/*")):
            raise missing(path, "archives and artifacts lie in the folder blobs beside it")
        _, revision = upgrade(path, copy=copy)
        watch, connections = connected(path, WRITER_PRAGMAS, READER_PRAGMAS, readers + 1, renew=True)
        return lock, watch, connections, revision
    except StorageError:
        lock.release()
        raise


def _sizes(files: Mapping[str, Path]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for part, path in files.items():
        with suppress(OSError):  # it is not there
            found[part] = path.stat().st_size
    return found
