"""The only writer of a turn's events: number, encode, hand to the log. Writing ends here."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import orjson

from gateway.errors import StorageError
from gateway.events.envelope import EventData, StoredEvent, encode, encode_data, encode_frame, encode_scope
from gateway.ids import now_ms
from gateway.messages import Message, Usage
from gateway.storage.log import (
    Append,
    Closing,
    EventAppender,
    OutboxEntry,
)
from gateway.storage.turns import TurnRow
from gateway.turn.observer import Tracing
from gateway.turn.progress import TurnProgress

MAX_PENDING = 64 * 1024
"""Bytes of one turn that may wait for the log before its producer waits too."""


@dataclass(slots=True)
class _Batch:
    """What one append will carry."""

    events: list[StoredEvent] = field(default_factory=list[StoredEvent])
    size: int = 1
    sync: bool = False
    can_wait: bool = True
    message: Message | None = None
    usage: Usage | None = None
    closing: Closing | None = None
    entry: OutboxEntry | None = None


class Emitter:
    """Numbers the events of one turn from the session head it knows and hands them to the log at once.

    Nothing is visible to anyone before the log has committed it. When the log refuses (another lease holder)
    or fails (full disk), every later call raises that error: a turn that cannot be recorded does not go on.
    """

    def __init__(
        self,
        log: EventAppender,
        turn: TurnRow,
        head: int,
        progress: TurnProgress,
        *,
        tracing: Tracing | None = None,
        queued_ms: int | None = None,
    ) -> None:
        self.turn = turn
        self.progress = progress
        self.tracing = tracing or Tracing()
        self.queued_ms = queued_ms
        self.iteration: int | None = progress.iteration or None
        self.head = head
        """The seq of the last event emitted; before the first, the session's head."""
        self._log = log
        self._scope = encode_scope(turn.session_id, turn.id)
        self._pending = 0
        self._failure: Exception | None = None
        self._moved: asyncio.Event | None = None
        self._batch: _Batch | None = None
        self._delivered: set[int] = set()
        self._held: list[OutboxEntry] = []
        self._open_delta: tuple[str, int | None] | None = None
        self._frame = b""

    def emit(
        self,
        data: EventData,
        *,
        tool_call_id: str | None = None,
        message: Message | None = None,
        usage: Usage | None = None,
        closing: Closing | None = None,
        can_wait: bool = False,
    ) -> None:
        """Emits one event; `message` joins the history and `closing` ends the turn in the same transaction.
        An event that `can_wait` is committed with the next one, or some milliseconds later.

        Raises:
            StorageError: an earlier append of this turn was refused or failed.
        """
        with self.atomic() as batch:
            seq, kind, ts = self.head + 1, data.event_type, now_ms()
            body = encode(seq, kind, ts, self._scope, encode_data(data), self.iteration, tool_call_id)
            self._add(batch, StoredEvent(seq, kind, self.turn.id, body))
            batch.sync, batch.can_wait = True, batch.can_wait and can_wait
            batch.message, batch.usage = message or batch.message, usage or batch.usage
            batch.closing = closing
        self.progress.apply(data, self.progress.clock.of(ts), self.iteration, tool_call_id)
        if self._held and self._batch is None:
            self._deliver_held()

    def deliver(self, entry: OutboxEntry) -> None:
        """Emits the events of an outbox entry, once, between the turn's start and end. Raises StorageError as
        `emit` does: the entry stays in the outbox then."""
        self._held.append(entry)
        self._deliver_held()

    def record(self, message: Message) -> None:
        """Adds a message to the history without an event. Raises StorageError as `emit` does."""
        with self.atomic() as batch:
            batch.message, batch.sync, batch.can_wait = message, True, False

    def delta(self, kind: Literal["text", "thinking"], text: str) -> None:
        """Emits a streamed delta. The path of every token: no models, one encoding, no wait for the disk."""
        self._check()
        ts, head, turn = now_ms(), self.head, self.turn
        if self._open_delta != (kind, self.iteration):
            self._open_delta = kind, self.iteration
            self._frame = encode_frame(kind, self._scope, self.iteration)
        body = self._frame % (head + 1, ts, b'{"text":%b}' % orjson.dumps(text))
        events = [StoredEvent(head + 1, kind, turn.id, body)]
        size = len(body)
        settled = self._settling(size)
        self._log.append(Append(turn.session_id, turn.id, turn.epoch, head, events, settled, sync=False))
        self.head = head + 1
        self._pending += size
        if kind == "text":
            self.progress.text += text.encode()
            if self.progress.first_text_at is None:
                self.progress.first_text_at = self.progress.clock.of(ts)

    @contextmanager
    def atomic(self) -> Generator[_Batch]:
        """What is emitted inside becomes durable in one step or not at all."""
        self._check()
        outer, head = self._batch, self.head
        batch = outer or _Batch()
        self._batch = batch
        try:
            yield batch
            if outer is None:
                self._append(batch)
        except BaseException:
            self.head = head  # nothing of it will be stored
            raise
        finally:
            self._batch = outer

    @property
    def has_capacity(self) -> bool:
        """Whether no more than MAX_PENDING bytes wait to be appended."""
        return self._pending <= MAX_PENDING

    async def wait_for_capacity(self) -> None:
        """Back-pressure: a slow disk holds back the read of the model's stream here."""
        while not self.has_capacity and self._failure is None:
            await self._wait()
        self._check()

    async def flush(self) -> None:
        """Returns when everything emitted so far is durable.

        Raises:
            StorageError: it is not and will not be.
        """
        while self._pending and self._failure is None:
            await self._wait()
        self._check()

    def abandon(self, reason: StorageError) -> None:
        """From now on every call raises `reason`: a task that does not heed its cancellation stays silent."""
        self._failure = self._failure or reason

    def _deliver_held(self) -> None:
        if self.progress.started_at is None or self.progress.done:
            return
        held, self._held = self._held, []
        for entry in held:
            if entry.number not in self._delivered:
                self._deliver(entry)

    def _deliver(self, entry: OutboxEntry) -> None:
        turn_id = entry.turn_in(self.turn.id)
        scope, ts = encode_scope(self.turn.session_id, turn_id), now_ms()
        with self.atomic() as batch:
            for event_type, data in entry.events:
                body = encode(self.head + 1, event_type, ts, scope, data)
                self._add(batch, StoredEvent(self.head + 1, event_type, turn_id, body))
            batch.entry, batch.sync, batch.can_wait = entry, True, False
        self._delivered.add(entry.number)

    def _add(self, batch: _Batch, event: StoredEvent) -> None:
        self.head = event.seq
        batch.events.append(event)
        batch.size += len(event.body)

    def _append(self, batch: _Batch) -> None:
        self._check()
        self._log.append(
            Append(
                self.turn.session_id,
                self.turn.id,
                self.turn.epoch,
                self.head - len(batch.events),
                batch.events,
                self._settling(batch.size),
                message=batch.message,
                usage=batch.usage,
                closing=batch.closing,
                entry=batch.entry,
                sync=batch.sync,
                can_wait=batch.can_wait,
            )
        )
        self._pending += batch.size

    def _settling(self, size: int) -> Callable[[Exception | None], None]:
        """The callback for the outcome of an append of `size` bytes, which are pending until then."""

        def settled(error: Exception | None) -> None:
            self._pending -= size
            if error is not None and self._failure is None:
                self._failure = error
            if self._moved is not None:
                self._moved.set()

        return settled

    async def _wait(self) -> None:
        if self._moved is None:
            self._moved = asyncio.Event()
        self._moved.clear()
        await self._moved.wait()

    def _check(self) -> None:
        if self._failure is not None:
            if isinstance(self._failure, StorageError):
                raise self._failure
            raise StorageError("The event log failed.", cause=type(self._failure).__name__) from self._failure
