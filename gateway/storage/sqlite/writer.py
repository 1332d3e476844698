"""Group commit: one thread owns the writing connection and commits all that gathered while it was busy.

event loop      append, write -> gathered ----.                      .--> settle ...
                                               \\ hand over           / call_soon_threadsafe
writer thread                                   BEGIN ... COMMIT ----
"""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from queue import SimpleQueue
from time import perf_counter
from typing import Any, Literal

from sqlalchemy import Connection

from gateway.errors import StorageError
from gateway.storage.database import Transaction, call, sent
from gateway.storage.signals import Signals
from gateway.storage.sqlite.append import Pending, apply
from gateway.storage.sqlite.event_rows import Packing
from gateway.storage.sqlite.failures import for_caller, is_broken, storage_error

log = logging.getLogger(__name__)

PACE = 0.01
"""Seconds between the starts of two flushes that hold nothing but pieces of text. A lone stream never waits;
with a hundred at 20 tokens a second it saves a quarter of the CPU and costs some 5 ms (`make bench`). And
seconds that an append waits for company that can."""

Durability = Literal["synced", "relaxed"]
"""Whether every flush reaches the disk before it is shown, or not those of pieces of text alone: a process
that is killed loses nothing then, but a power cut what was shown last."""

Flushed = Callable[[int, float, bool], None]
"""Is called on the event loop after each transaction: its events, its seconds, whether it failed."""

Deliver = Callable[[Sequence[Pending], Sequence[StorageError | None]], None]


@dataclass(slots=True)
class Flush:
    """What goes into one transaction: appends first, then writes, each in the order they came."""

    appends: list[Pending] = field(default_factory=list[Pending])
    writes: list[Transaction] = field(default_factory=list[Transaction])
    events: int = 0
    sync: bool = False
    """Whether it holds more than pieces of text: those may wait for company."""
    due: float = inf
    """When it is to be handed over, on the loop's clock."""
    refusals: Sequence[StorageError | None] = ()
    seconds: float = 0
    failed: bool = False
    failure: StorageError | None = None

    def fail(self, error: BaseException) -> None:
        self.failed = True
        self.failure = storage_error(error)
        self.refusals = [storage_error(error) for _ in self.appends]
        for write in self.writes:
            write.error = storage_error(error)


class Writer:
    """The writing side of a database file. All methods but the thread's own belong to the event loop."""

    def __init__(
        self,
        raw: sqlite3.Connection,
        connection: Connection,
        signals: Signals,
        flushed: Flushed | None = None,
        durability: Durability = "synced",
    ) -> None:
        self.deliver: Deliver | None = None
        """Called on the event loop with the appends of each flush and, for each, None or why it failed."""
        self.failure: StorageError | None = None
        """Why the last transaction failed as a whole; None when it was committed."""
        self._signals = signals
        self._flushed = flushed
        self._raw = raw
        self._connection = connection
        self._durability = durability
        self._synchronous: bool | None = None
        self._packing: Packing | None = None
        self._loop = asyncio.get_running_loop()
        self._gathered = Flush()
        self._pending = False
        self._timer: asyncio.TimerHandle | None = None
        self._paced_until = 0.0
        self._closed: asyncio.Future[None] | None = None
        self._handed: SimpleQueue[Flush | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="storage-writer", daemon=True)
        self._thread.start()

    def append(self, pending: Pending) -> None:
        """Adds to the next transaction.

        Raises:
            StorageError: the database is closed.
        """
        batch = pending.batch
        if not batch.sync:
            flush = self._gather(self._paced_until)
        else:
            flush = self._gather(self._loop.time() + PACE if batch.can_wait else 0)
            flush.sync = True
        flush.appends.append(pending)
        flush.events += len(batch.events)

    def write(self, write: Transaction) -> None:
        """Adds to the next transaction.

        Raises:
            StorageError: the database is closed.
        """
        flush = self._gather(0)
        flush.sync = True
        flush.writes.append(write)

    async def close(self) -> None:
        """Commits what has gathered, then ends the thread."""
        if self._closed is None:
            self._closed = self._loop.create_future()
            if not self._pending:
                self._handed.put(None)
            elif self._timer is not None:
                self._schedule(0)
        await asyncio.shield(self._closed)
        self._thread.join()

    def _gather(self, due: float) -> Flush:
        if self._closed is not None:
            raise StorageError("The database is closed.", retryable=False)
        flush = self._gathered
        if due < flush.due:
            flush.due = due
            if not self._pending or self._timer is not None:
                self._pending = True
                self._schedule(due)
        return flush

    def _schedule(self, due: float) -> None:
        """Hands over when it is due, but not before the end of this tick of the loop: what is submitted in it
        shares a transaction."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due <= self._loop.time():
            self._loop.call_soon(self._hand_over)
        else:
            self._timer = self._loop.call_at(due, self._hand_over)

    def _hand_over(self) -> None:
        self._timer = None
        flush, self._gathered = self._gathered, Flush()
        self._paced_until = 0 if flush.sync else self._loop.time() + PACE
        self._handed.put(flush)

    def _settle(self, flush: Flush) -> None:
        self.failure = flush.failure
        if flush.appends and self.deliver is not None:
            call(self.deliver, flush.appends, flush.refusals)
        if self._flushed is not None:
            call(self._flushed, flush.events, flush.seconds, flush.failed)
        for write in flush.writes:
            call(write.settle, self._signals)
        if self._gathered.appends or self._gathered.writes:
            self._schedule(0 if self._closed is not None else self._gathered.due)
            return
        self._pending = False
        if self._closed is not None:
            self._handed.put(None)

    # What follows runs on the thread.

    def _work(self) -> None:
        while (flush := self._handed.get()) is not None:
            started = perf_counter()
            try:
                self._commit(flush)
            except BaseException as error:  # noqa: BLE001 - whatever it was, those who wait are told and the thread lives
                flush.fail(error)
                self._packing = None  # what it counted may be undone
                self._roll_back()
            flush.seconds = perf_counter() - started
            if not self._call(self._settle, flush):
                return
        self._call(self._end)

    def _commit(self, flush: Flush) -> None:
        self._synchronise(flush.sync or self._durability == "synced")
        self._raw.execute("BEGIN IMMEDIATE")
        if flush.appends:
            self._packing = self._packing or Packing(self._raw)
            flush.refusals = apply(self._raw, self._packing, flush.appends)
        for write in flush.writes:
            self._run(write)
        self._raw.execute("COMMIT")

    def _run(self, write: Transaction) -> None:
        self._raw.execute("SAVEPOINT work")
        try:
            write.value = write.work(self._connection)
            write.sent = sent(self._connection)
        except BaseException as error:
            sent(self._connection)
            if is_broken(error) or not self._raw.in_transaction:
                raise
            # Whatever a caller's work raises is the caller's alone: the others' transaction goes on.
            self._raw.execute("ROLLBACK TO work")
            write.error = for_caller(error)
        self._raw.execute("RELEASE work")

    def _synchronise(self, sync: bool) -> None:
        if sync is not self._synchronous:
            # A pragma may act while it is compiled (sqlite.org/pragma.html): a script is compiled every time.
            self._raw.executescript(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
            self._synchronous = sync

    def _roll_back(self) -> None:
        try:
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")
        except sqlite3.Error:
            log.exception("a failed transaction could not be rolled back")

    def _call(self, callback: Callable[..., None], *arguments: Any) -> bool:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:  # the loop was closed without closing the database: nobody is left to tell
            return False
        return True

    def _end(self) -> None:
        assert self._closed is not None
        self._closed.set_result(None)
