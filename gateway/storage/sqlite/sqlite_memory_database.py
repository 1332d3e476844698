"""A SQLite file that several processes have open at once.

SQLite before 3.51.3 can damage a file when one connection commits while another one empties the write-ahead
log (sqlite.org/wal.html, "The WAL-Reset Bug"). Here nothing but `scrub` empties it, in the mode that keeps
everybody else from writing meanwhile.
"""

import asyncio
import itertools
import logging
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, TypeVar

from sqlalchemy import Connection

from gateway.errors import StorageError
from gateway.storage.data_folder_lock import opening
from gateway.storage.database import Lock
from gateway.storage.migrations import MEMORIES, upgrade
from gateway.storage.sqlite.memory_words import Fts5Words
from gateway.storage.sqlite.sqlite_file import SqliteFile, connected, log_is_emptied, raw_of
from gateway.storage.sqlite_files.file_watch import FileWatch

T = TypeVar("T")

LOG_BYTES = 4_000_000
"""The write-ahead log is emptied when it is larger."""

PAUSES = (0, 0.05, 0.5)
"""Seconds before each attempt to empty it of what was erased."""

# What is deleted is overwritten, also where it would be kept for a while outside of the file. Foreign keys
# are not enforced, as in the sessions' file: `remove` of memories/rows.py takes out what hangs on a memory.
PRAGMAS = """
    PRAGMA foreign_keys = OFF;
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA wal_autocheckpoint = 0;
"""
READER_PRAGMAS = f"{PRAGMAS} PRAGMA query_only = ON;"

log = logging.getLogger(__name__)


class SqliteMemoryDatabase(SqliteFile):
    """The `MemoryDatabase` protocol. A transaction waits LOCK_WAIT for those of other processes, then it is
    refused and can be tried again. Made by `open`."""

    about = "memory"

    def __init__(self, watch: FileWatch, connections: Sequence[Connection]) -> None:
        *used, self._watching = connections
        super().__init__(watch, used)
        self._watcher = raw_of(self._watching)
        self._watcher.execute("PRAGMA busy_timeout = 0")
        self._unknown = itertools.count(-1, -1)
        self._log = self.path.with_name(f"{self.path.name}-wal")
        self.words = Fts5Words()

    @classmethod
    async def open(cls, path: Path, *, readers: int = 2, copy_first: bool = True) -> Self:
        """Opens the file, made and migrated as needed; with `copy_first` it is copied before it is migrated.
        Use it as an async context manager, or `close` it.

        Raises:
            StorageError: the file was written by a newer version (code database_too_new), another process
                takes too long to make it, or it cannot be opened.
        """
        return cls(*await asyncio.to_thread(_open, path, readers + 2, copy=copy_first))

    async def write(
        self,
        work: Callable[[Connection], T],
        *,
        over: Lock | None = None,
        committed: Callable[[], None] | None = None,
    ) -> T:
        """Runs `work` in a transaction; afterwards empties a write-ahead log that has grown large."""
        value = await super().write(work, over=over, committed=committed)
        if self._open and self._log_size() > LOG_BYTES:
            await self._empty_log()
        return value

    async def scrub(self) -> None:
        """Merges the index of words, and empties the write-ahead log, so that no overwritten page stays in
        it. Where others are in the way for too long it is done after the next erasure, and when the log is
        emptied next, by any process."""
        try:
            await self.merge("memory_words")
        except StorageError as error:  # what was to be erased is erased
            log.warning(
                "the words of what was erased are still in the index of %s: %s", self.path.name, error
            )
        for pause in PAUSES:
            await asyncio.sleep(pause)
            if await self._empty_log():
                return
        log.warning("the write-ahead log of %s is in use: what was erased is still in it", self.path.name)

    async def _empty_log(self) -> bool:
        """False when a lock was in the way, as that of another process that empties it."""
        try:
            self.watch.require()  # else the log would go into another file
            return await self.read(log_is_emptied, snapshot=False)
        except StorageError as error:  # what was to be written is written
            log.warning("the write-ahead log of %s could not be emptied: %s", self.path.name, error)
            return False

    async def state(self) -> int:
        """SQLite's data_version, as this connection sees it. Some microseconds."""
        try:
            # To the end: a statement that is not would hold on to what it saw.
            ((version,),) = self._watcher.execute("PRAGMA data_version").fetchall()
        except sqlite3.Error:  # the file is being opened or closed elsewhere, or it is closed
            return next(self._unknown)
        return version

    def _log_size(self) -> int:
        try:
            return self._log.stat().st_size
        except OSError:
            return 0

    def _release(self) -> None:
        self._watching.detach()
        self._watching.close()
        super()._release()


def _open(path: Path, readers: int, *, copy: bool) -> tuple[FileWatch, Sequence[Connection]]:
    with opening(path):
        upgrade(path, MEMORIES, copy=copy)
        return connected(path, PRAGMAS, READER_PRAGMAS, readers)
