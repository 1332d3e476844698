"""The commit of a flush on SQLite."""

import logging
import sqlite3
from collections.abc import Callable
from typing import Literal

from sqlalchemy import Connection

from gateway.errors import StorageError
from gateway.storage.database import Transaction, sent
from gateway.storage.log.group_commit import Flush
from gateway.storage.sqlite.append import apply
from gateway.storage.sqlite.event_rows import Packing
from gateway.storage.sqlite_files.failures import for_caller, is_broken, note_damage, storage_error
from gateway.storage.sqlite_files.file_watch import FileWatch
from gateway.storage.webhooks.enqueue import enqueue_turn

log = logging.getLogger(__name__)

Durability = Literal["synced", "relaxed"]
"""Whether every flush reaches the disk before it is shown, or not those of pieces of text alone: a process
that is killed loses nothing then, but a power cut what was shown last."""


class SqliteCommits:
    """The `Commits` protocol: appends, then writes, each of these in a savepoint of its own."""

    def __init__(
        self, raw: sqlite3.Connection, connection: Connection, durability: Durability, watch: FileWatch
    ) -> None:
        self._raw = raw
        self._connection = connection
        self._durability = durability
        self._watch = watch
        self._synchronous: bool | None = None
        self._packing: Packing | None = None

    def commit(self, flush: Flush) -> None:
        """Writes the flush in one transaction, synced if it or the setting asks for that.

        Raises:
            StorageError: the file is not the one any more that was opened, and what is committed may be lost.
        """
        self._watch.require()
        self._synchronise(flush.sync or self._durability == "synced")
        self._raw.execute("BEGIN IMMEDIATE")
        if flush.appends:
            self._packing = self._packing or Packing(self._raw)
            flush.refusals = apply(self._raw, self._packing, flush.appends)
            for pending, refusal in zip(flush.appends, flush.refusals, strict=True):
                if refusal is None and (closing := pending.batch.closing) is not None:
                    enqueue_turn(self._connection, pending.batch.turn_id, closing.at)
        for write in flush.writes:
            if not write.is_outside:
                self._run(write)
        self._raw.execute("COMMIT")
        self._watch.require()
        for write in flush.writes:
            if write.is_outside:
                self._run_outside(write)

    def undo(self, error: BaseException) -> Callable[[], StorageError]:
        """After a failed commit: rolls back, and returns what makes an error for each caller."""
        self._packing = None  # what it counted may be undone
        try:
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")
        except sqlite3.Error:
            log.exception("a failed transaction could not be rolled back")
        if isinstance(error, StorageError):  # the file's
            return lambda: StorageError(error.message, code=error.code, retryable=error.retryable)
        note_damage(error, self._watch)
        return lambda: storage_error(error, self._watch)

    def _run(self, write: Transaction) -> None:
        self._raw.execute("SAVEPOINT work")
        try:
            write.value = write.work(self._connection)
            write.sent = sent(self._connection)
        except BaseException as error:
            sent(self._connection)
            if is_broken(error) or not self._raw.in_transaction:
                raise
            # An exception of a caller's work is the caller's alone: the others' transaction goes on.
            self._raw.execute("ROLLBACK TO work")
            write.error = for_caller(error, self._watch)
        self._raw.execute("RELEASE work")

    def _run_outside(self, write: Transaction) -> None:
        """The flush is committed, whatever becomes of this."""
        try:
            write.value = write.work(self._connection)
        except BaseException as error:  # noqa: BLE001 - its caller gets it
            write.error = for_caller(error, self._watch)

    def _synchronise(self, sync: bool) -> None:
        if sync is not self._synchronous:
            # A pragma may act while it is compiled (sqlite.org/pragma.html): a script is compiled every time.
            self._raw.executescript(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
            self._synchronous = sync
