"""Group commit: one thread owns a writing connection and commits all that gathered while it was busy. An
engine defines what a commit is.

event loop      append, write -> gathered ----.                      .--> settle ...
                                               \\ hand over           / call_soon_threadsafe
writer thread                                      commit -----------
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from queue import SimpleQueue
from time import perf_counter
from typing import Any, Protocol

from gateway.errors import StorageError
from gateway.storage.database import Transaction, call
from gateway.storage.log.appending import Pending
from gateway.storage.replica_signals import Signals

log = logging.getLogger(__name__)

PACE = 0.01
"""Seconds between the starts of two flushes that hold nothing but pieces of text. A lone stream never waits;
with a hundred at 20 tokens a second it saves a quarter of the CPU and costs some 5 ms (`make bench`). And
seconds that an append waits for company that can."""

Flushed = Callable[[int, float, bool], None]
"""Is called on the event loop after each transaction: its events, its seconds, whether it failed."""

Deliver = Callable[[Sequence[Pending], Sequence[StorageError | None]], None]


@dataclass(slots=True)
class Flush:
    """The work of one transaction: appends first, then writes, each in the order they came."""

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

    def fail(self, failure: Callable[[], StorageError]) -> None:
        self.failed = True
        self.failure = failure()
        self.refusals = [failure() for _ in self.appends]
        for write in self.writes:
            write.error = failure()


class Commits(Protocol):
    """The part of an engine in a flush, on its thread."""

    def commit(self, flush: Flush) -> None:
        """Writes it durably, as a whole: sets its `refusals`, and value or error of each of its `writes`. If
        it raises, nothing of the flush is written."""
        ...

    def undo(self, error: BaseException) -> Callable[[], StorageError]:
        """After `commit` raised: the next one finds nothing of it. Returns a function that makes an error for
        each caller."""
        ...


class GroupCommit:
    """The writing side of a database. All methods but the thread's own belong to the event loop."""

    def __init__(self, commits: Commits, signals: Signals, flushed: Flushed | None = None) -> None:
        self.deliver: Deliver | None = None
        """Called on the event loop with the appends of each flush and, for each, None or why it failed."""
        self.failure: StorageError | None = None
        """Why the last transaction failed as a whole; None when it was committed."""
        self._signals = signals
        self._flushed = flushed
        self._commits = commits
        self._loop = asyncio.get_running_loop()
        self._gathered = Flush()
        self._pending = False
        self._timer: asyncio.TimerHandle | None = None
        self._paced_until = 0.0
        self._closed: asyncio.Future[None] | None = None
        self._handed: SimpleQueue[Flush | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="storage-writer", daemon=True)
        """Started with the first transaction: the memory's database, where it is a server, has none."""

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
            if self._thread.ident is None and not self._pending:
                self._closed.set_result(None)
                return
            if not self._pending:
                self._handed.put(None)
            elif self._timer is not None:
                self._schedule(0)
        await asyncio.shield(self._closed)
        if self._thread.ident is not None:
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
        if self._thread.ident is None:
            self._thread.start()
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
                self._commits.commit(flush)
            except BaseException as error:  # noqa: BLE001 - every caller gets it and the thread lives on
                flush.fail(self._commits.undo(error))
            flush.seconds = perf_counter() - started
            if not self._call(self._settle, flush):
                return
        self._call(self._end)

    def _call(self, callback: Callable[..., None], *arguments: Any) -> bool:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:  # the loop was closed without closing the database: no caller is left
            return False
        return True

    def _end(self) -> None:
        assert self._closed is not None
        self._closed.set_result(None)
